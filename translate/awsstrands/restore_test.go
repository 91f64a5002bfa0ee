package awsstrands

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// said returns one message for each element of list. `id` becomes a user message, `id:call,call` an
// assistant message with these calls.
func said(list ...string) []agui.Message {
	var messages []agui.Message
	for _, one := range list {
		id, calls, assistant := strings.Cut(one, ":")
		m := map[string]any{"id": id, "role": "user", "content": "x"}
		if assistant {
			var all []any
			for call := range strings.SplitSeq(calls, ",") {
				all = append(all, map[string]any{"id": call, "type": "function", "function": map[string]any{"name": "f", "arguments": "{}"}})
			}
			m = map[string]any{"id": id, "role": "assistant", "content": "x", "toolCalls": all}
		}
		messages = append(messages, agui.ParseMessage(agui.MustMarshal(m)))
	}
	return messages
}

// TestCuts checks which parts of the messages were not sent. A missing part is described by its
// message, its calls, and the messages before it.
func TestCuts(t *testing.T) {
	for name, c := range map[string]struct{ all, sent, want string }{
		"nothing":           {"u1 a1:A u2", "u1 a1:A u2", ""},
		"one":               {"u1 a1:A u2", "u1 u2", "a1[A] whole behind u1"},
		"the first":         {"a1:A u2", "u2", "a1[A] whole behind "},
		"two in two places": {"u1 a1:A u2 a2:B", "u1 u2", "a1[A] whole behind u1; a2[B] whole behind u1,a1,u2"},
		"some calls of one": {"u1 a1:A,B u2", "u1 a1:A u2", "a1[B] behind u1"},
	} {
		list := func(s string) []agui.Message { return said(strings.Split(s, " ")...) }
		var got []string
		for _, w := range missingFrom(list(c.all), list(c.sent)) {
			one := w.Message.ID + "[" + strings.Join(w.Calls, ",") + "]" + map[bool]string{true: " whole"}[w.Whole]
			got = append(got, one+" behind "+strings.Join(w.Before, ","))
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s: %s, want %s", name, all, c.want)
		}
	}
}

// TestCutsAreBounded: the memory for withheld messages must grow linearly with the history, because
// a client may send very many small messages.
func TestCutsAreBounded(t *testing.T) {
	var all, sent []agui.Message
	for n := range 8000 {
		m := agui.Message{ID: fmt.Sprint(n), Role: "user", JSON: []byte("{}")}
		if all = append(all, m); n%2 == 0 {
			sent = append(sent, m)
		}
	}
	if missingFrom(all, all) != nil {
		t.Error("something of what was sent whole")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list := missingFrom(all, sent)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; len(list) != 4000 || bytes > 16<<20 {
		t.Errorf("%d cuts, %d bytes", len(list), bytes)
	}
}
