//go:build e2e

package e2e

import (
	"slices"
	"testing"
)

// TestReviewThatIsAskedAgain: two calls wait for a review, and LangGraph's adapter asks again. Its
// stream does not contain the calls this time, and the client may send only its last message. The
// questions must still name the same calls, because Holdpoint has them in its record.
func TestReviewThatIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"default", "outcome"} {
		t.Run(mode, func(t *testing.T) {
			b := &backend{name: "0.0.47", mode: mode, server: need(t, "langgraph", "0.0.47")}
			w := world{b: b, h: ownHoldpoint(t, b.url(), nil), version: newest}
			c := w.paused(t, "noreject", 2)
			named := func() (list []string) {
				for _, i := range c.pending {
					list = append(list, i.str("reason")+" "+i.str("toolCallId"))
				}
				return list
			}
			before := named()
			c.run(t, step{resume: c.answers(cancelled)})
			message := map[string]any{"id": fresh("user"), "role": "user", "content": "and now?"}
			c.asksAbout(t, step{patch: map[string]any{"messages": []any{message}}, empty: true, loose: true}, 2)
			if again := named(); !slices.Equal(again, before) || before[0] != "tool_call "+c.pending[0].str("toolCallId") {
				t.Errorf("asked again about %q, before about %q", again, before)
			}
			c.run(t, step{resume: c.answers(accept), patch: map[string]any{"messages": []any{}}, loose: true})
			w.effects(t, c, map[string]int{"send_email": 1, "delete_file": 1})
		})
	}
}
