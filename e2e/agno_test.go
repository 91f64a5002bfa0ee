//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// agno's AGUI interface pauses by a call without a result and is answered by a tool message: it
// passes, and nobody is told that it was an old ag_ui_strands.
func TestAgnoPasses(t *testing.T) {
	s := need(t, "agno", "3.1.10")
	h := ownHoldpoint(t, s.base()+"/default", nil)
	w := world{b: &backend{name: "agno", mode: "default", server: s}, h: h, version: newest}
	for content, want := range map[string][]string{`{"accepted":true}`: {deleteA}, `{"accepted":false}`: nil} {
		c := w.client(t, "agui")
		a := c.run(t, step{say: "delete a.txt"}).answer(t)
		if a.code() != "" || a.outcome() != nil || len(a.of("TOOL_CALL_END")) != 1 {
			t.Fatalf("%v\n%s", a.kinds(), terminal(a))
		}
		w.ran(t, c)
		var messages []any
		for _, m := range c.messages {
			messages = append(messages, m)
		}
		all := calls(c.messages)
		answer := map[string]any{"id": fresh("m"), "role": "tool", "toolCallId": all[len(all)-1], "content": content}
		a = c.run(t, step{patch: map[string]any{"messages": append(messages, answer)}}).answer(t)
		if a.code() != "" {
			t.Errorf("%s: %s", content, terminal(a))
		}
		w.ran(t, c, want...)
	}
	if line, said := h.log.find(func(line string) bool { return strings.Contains(line, "ag_ui_strands") }); said {
		t.Errorf("the log says %s", line)
	}
}
