package transcript

import (
	"fmt"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/hostile"
)

// TestStayingReasoningIsNotQuadratic: snapshots without reasoning leave the earlier reasoning
// messages. The work for this must grow linearly: four times as many messages may take at most ten
// times as long.
func TestStayingReasoningIsNotQuadratic(t *testing.T) {
	costs := func(messages int) time.Duration {
		tr := New(4<<20, nil, nil)
		for n := range messages {
			tr.Add(agui.NewEvent(fmt.Appendf(nil, `{"type":"REASONING_MESSAGE_START","messageId":"r%d"}`, n)))
		}
		before := hostile.ProcessorTime(t)
		for range 2000 {
			tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[]}`)))
		}
		tr.Messages()
		return hostile.ProcessorTime(t) - before
	}
	few, lots := max(costs(2500), 20*time.Millisecond), costs(10_000)
	if lots > 10*few {
		t.Errorf("2000 empty snapshots took %v behind 2500 messages and %v behind 10000", few, lots)
	}
}

// TestReasoningStaysOnce: a message is followed by reasoning, and a snapshot has the id of this
// message twice. The reasoning must be kept only once.
func TestReasoningStaysOnce(t *testing.T) {
	tr := New(1<<20, []agui.Message{agui.ParseMessage([]byte(oldUser))}, nil)
	tr.Add(agui.NewEvent([]byte(`{"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":"Hm."}`)))
	tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,` + oldUser + `]}`)))
	if list, _ := tr.Messages(); len(list) != 3 {
		t.Errorf("messages %s", agui.MustMarshal(list))
	}
}
