package kit

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/hostile"
	"holdpoint/translate"
)

// TestAfterKeepsAResultWhoseIDIsOld: two calls have the same call id, and their results have the
// same message id. The result of the later call must be kept too.
func TestAfterKeepsAResultWhoseIDIsOld(t *testing.T) {
	call := `{"id":"a%d","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"pay","arguments":"{}"}}]}`
	old := []string{fmt.Sprintf(call, 1), `{"id":"result_c","role":"tool","toolCallId":"c","content":"paid"}`, fmt.Sprintf(call, 2)}
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + strings.Join(old, ",") + `],"tools":[],"context":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := &translate.Request{Input: in, ClientMessages: in.Messages}
	h := HistoryAfter(r, map[string]bool{"c": true})
	h.list = append(h.list, parsedMessage(`{"id":"result_c","role":"tool","toolCallId":"c","content":"paid again"}`))
	out := h.AfterCalls(nil)
	if len(out) != 4 {
		t.Errorf("left %s", agui.MessageList(out))
	}
}

// TestHistoryOfManyCallsIsLinear: four times as many calls must take about four times as long. If
// the time were quadratic, it would be sixteen times as long.
func TestHistoryOfManyCallsIsLinear(t *testing.T) {
	cost := func(size int) time.Duration {
		calls := map[string]bool{}
		var list, results []string
		for n := range size {
			id := fmt.Sprintf("call-%08d", n)
			calls[id] = true
			list = append(list, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
		}
		last := list[len(list)-1]
		for range 24 * size {
			list = append(list, last)
			results = append(results, fmt.Sprintf(`{"id":"x","role":"tool","toolCallId":"call-%08d","content":"r"}`, size-1))
		}
		text := `{"id":"m","role":"assistant","toolCalls":[` + strings.Join(list, ",") + `]}`
		in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + text + `,` + strings.Join(results, ",") + `],"tools":[],"context":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		least := time.Duration(math.MaxInt64)
		for range 3 {
			began := hostile.ProcessorTime(t)
			HistoryOf(in.Messages, calls).AfterCalls(nil)
			least = min(least, hostile.ProcessorTime(t)-began)
		}
		return least
	}
	small, large := cost(1024), cost(4096)
	if large > 9*small {
		t.Errorf("%v, and %v for four times as much", small, large)
	}
}

// TestNullCallIsNoCall: a message whose toolCallId is null is not the result of a call. It must
// stay.
func TestNullCallIsNoCall(t *testing.T) {
	m := parsedMessage(`{"id":"u","role":"user","content":"x","toolCallId":null}`)
	if out := HistoryOf([]agui.Message{m}, map[string]bool{"": true}).WithoutCalls(); len(out) != 1 {
		t.Error("a user's message is gone")
	}
}
