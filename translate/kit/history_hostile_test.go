package kit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// The result of an earlier call may have the same id as that of a call under the same id.
func TestAfterKeepsAResultWhoseIDIsOld(t *testing.T) {
	call := `{"id":"a%d","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"pay","arguments":"{}"}}]}`
	old := []string{fmt.Sprintf(call, 1), `{"id":"result_c","role":"tool","toolCallId":"c","content":"paid"}`, fmt.Sprintf(call, 2)}
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + strings.Join(old, ",") + `],"tools":[],"context":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := &translate.Request{Input: in, Came: in.Messages}
	h := After(r, map[string]bool{"c": true})
	h.list = append(h.list, parsedMessage(`{"id":"result_c","role":"tool","toolCallId":"c","content":"paid again"}`))
	out := h.Behind(nil)
	if len(out) != 4 {
		t.Errorf("left %s", agui.MessageList(out))
	}
}

func TestHistoryOfManyCallsIsLinear(t *testing.T) {
	calls := map[string]bool{}
	var list, results []string
	for n := range 4096 {
		id := fmt.Sprintf("call-%08d", n)
		calls[id] = true
		list = append(list, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
	}
	last := list[len(list)-1]
	for range 100000 {
		list = append(list, last)
		results = append(results, `{"id":"x","role":"tool","toolCallId":"call-00004095","content":"r"}`)
	}
	text := `{"id":"m","role":"assistant","toolCalls":[` + strings.Join(list, ",") + `]}`
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + text + `,` + strings.Join(results, ",") + `],"tools":[],"context":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	HistoryOf(in.Messages, calls).Behind(nil)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A message with toolCallId null is on no call.
func TestANullCallIsNone(t *testing.T) {
	m := parsedMessage(`{"id":"u","role":"user","content":"x","toolCallId":null}`)
	if out := HistoryOf([]agui.Message{m}, map[string]bool{"": true}).Without(); len(out) != 1 {
		t.Error("a user's message is gone")
	}
}
