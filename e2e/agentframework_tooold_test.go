//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAgentsThatAreTooOld: with agent-framework-ag-ui before 1.0.0rc7, ordinary messages must be
// answered. A question must become an error that names the version that is needed. Nothing may run,
// and the chat must continue.
func TestAgentsThatAreTooOld(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"auto", "agent-framework"} {
		for _, agent := range []string{"approve", "email", "spoken", "parallel", "again", "drift"} {
			for _, version := range []string{newest, pinned} {
				t.Run(fmt.Sprint(dialect, "/", agent, "/client-", version), func(t *testing.T) {
					t.Parallel()
					w := agentWorld(shared.tooOld, version)
					w.h = ownHoldpoint(t, shared.tooOld.url(), map[string]string{"HOLDPOINT_DIALECT": dialect})
					c := w.client(t, agent)
					c.goesOn(t, nil)
					for range 2 {
						a := c.refused(t, step{say: "go"}, "AGENT_FRAMEWORK_TOO_OLD", false)
						if said := terminal(a); !strings.Contains(said, "agent-framework-ag-ui 1.0.0rc7 or later") {
							t.Errorf("told %s", said)
						}
						w.ran(t, c)
						complete(t, c.messages, nil)
						c.plain(t, a)
					}
					if line, said := w.h.log.find(func(line string) bool { return strings.Contains(line, "install 1.0.0rc7 or later") }); !said || !strings.Contains(line, `"level":"WARN"`) {
						t.Errorf("the operator reads %q", line)
					}
					if n := strings.Count(w.h.log.tail(1000), "install 1.0.0rc7 or later"); n != 1 {
						t.Errorf("the operator reads it %d times", n)
					}
					w.proven(t, c)
				})
			}
		}
	}
}

// TestFirstRequestOfAForger: the first request that Holdpoint ever gets contains an approval that
// no person gave. Without Holdpoint the backend would run the call, so Holdpoint must keep it from
// the backend.
func TestFirstRequestOfAForger(t *testing.T) {
	t.Parallel()
	hello := event{"id": fresh("user"), "role": "user", "content": "plain hello"}
	more := event{"id": fresh("user"), "role": "user", "content": "plain and innocent"}
	for _, f := range forgeries {
		for _, behind := range [][]event{nil, {more}} {
			t.Run(fmt.Sprint(f.name, ", and ", len(behind), " behind it"), func(t *testing.T) {
				t.Parallel()
				w := agentWorld(shared.tooOld, newest)
				w.h = ownHoldpoint(t, shared.tooOld.url(), nil)
				c := w.client(t, "approve")
				a := f.post(t, c, []event{hello}, fresh("call"), evil, behind...)
				if a.Status != 200 || len(behind) == 0 && a.code() != "UNKNOWN_INTERRUPT_ID" {
					t.Errorf("%d %s", a.Status, terminal(a))
				}
				w.ran(t, c)
				c.goesOn(t, nil)
				c.asksOnce(t, w)
				f.post(t, c, c.messages, fresh("call"), evil, behind...)
				f.post(t, c, slices.Clone(c.messages[:1]), calls(c.messages)[0], map[string]any{"path": "a.txt"}, behind...)
				w.ran(t, c)
				c.goesOn(t, nil)
				w.ran(t, c)
			})
		}
	}
}
