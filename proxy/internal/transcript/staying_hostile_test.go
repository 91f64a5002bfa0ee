package transcript

import (
	"fmt"
	"testing"
	"time"

	"holdpoint/internal/agui"
)

func TestStayingReasoningIsNotQuadratic(t *testing.T) {
	tr := New(4<<20, nil, nil)
	for n := range 10000 {
		tr.Add(agui.NewEvent(fmt.Appendf(nil, `{"type":"REASONING_MESSAGE_START","messageId":"r%d"}`, n)))
	}
	began := time.Now()
	for range 2000 {
		tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[]}`)))
	}
	tr.Messages()
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("2000 empty snapshots took %v", d)
	}
}

// A snapshot may hold an id twice. The reasoning behind it stands there once all the same.
func TestReasoningStaysOnce(t *testing.T) {
	tr := New(1<<20, []agui.Message{agui.ParseMessage([]byte(oldUser))}, nil)
	tr.Add(agui.NewEvent([]byte(`{"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":"Hm."}`)))
	tr.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[` + oldUser + `,` + oldUser + `]}`)))
	if list, _ := tr.Messages(); len(list) != 3 {
		t.Errorf("messages %s", agui.MustMarshal(list))
	}
}
