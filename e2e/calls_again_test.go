//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// TestCallsThatBeginAgain: some models use the id of a call again. After a question about a call
// has ended, the model calls a tool of the client with the same id. If the question was answered,
// the client's result of the new call must reach the backend, and must never count as an answer to
// the old call. If the question was given up at the desk, the old call still waits in the backend.
// The client cannot tell the two calls apart then, and is asked about the old call again.
func TestCallsThatBeginAgain(t *testing.T) {
	t.Parallel()
	type again struct {
		decider
		order, tool string // the order and the tool of the second call
	}
	for name, a := range map[string]again{
		"agno 2.9.0":       {deciders()["agno 2.9.0"], "show x as call_7", "show_dialog"},
		"agno 3.1.10":      {deciders()["agno 3.1.10"], "show x as call_7", "show_dialog"},
		"tool-call, named": {deciders()["tool-call, named"], "pick x as call_7", "pick_colour"},
		"tool-call, auto":  {deciders()["tool-call, auto"], "pick x as call_7", "pick_colour"},
	} {
		for end, c := range map[string]struct {
			payload func(d decider) any // nil: the question is freed at the desk
			ran     []string
			arrives bool
		}{
			"approved":          {func(d decider) any { return d.yes }, []string{deleteA}, true},
			"denied":            {func(d decider) any { return d.no }, nil, true},
			"freed at the desk": {nil, nil, false},
		} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				st := a.begin(t)
				w := world{b: &backend{name: a.framework, mode: a.mode, server: st.server}, h: st.desk.h, version: newest}
				cl := w.client(t, a.agent)
				cl.asksAbout(t, step{say: "delete a.txt as call_7"}, 1)
				if c.payload == nil {
					st.desk.call(t, http.StatusOK, "DELETE", fmt.Sprint("/v1/approvals/", st.desk.waiting(t, cl.thread)["id"]), nil)
				} else {
					cl.finish(t, step{resume: cl.answers(gives(c.payload(a.decider)))})
				}
				tools := map[string]any{"tools": toolOf(a.tool)}
				made := cl.run(t, step{say: a.order, patch: tools, empty: true, loose: true})
				if len(made.Wire) != 1 || !slices.ContainsFunc(made.Wire[0].of("TOOL_CALL_START"), func(e event) bool { return e.str("toolCallName") == a.tool && e.str("toolCallId") == "call_7" }) {
					t.Fatalf("the model makes no second call: %v", summary(made))
				}
				says := event{"id": fresh("tool"), "role": "tool", "toolCallId": "call_7", "content": a.says[0]}
				tools["messages"] = append(slices.Clone(cl.messages), says)
				r := cl.run(t, step{patch: tools, empty: true, loose: true})
				if len(r.Wire) != 1 || c.arrives && r.Wire[0].code() == "UNKNOWN_INTERRUPT_ID" {
					t.Errorf("the client's own result is answered by %v", summary(r))
				}
				w.ran(t, cl, c.ran...)
				cl.pending = nil
				cl.another(t).goesOn(t, nil)
				w.ran(t, cl, c.ran...)
			})
		}
	}
}
