//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// TestDeskShowsWhatInterruptAsks: the desk has what a LangGraph agent gives to interrupt(), and an
// answer of the desk arrives as it was given.
func TestDeskShowsWhatInterruptAsks(t *testing.T) {
	t.Parallel()
	for _, b := range shared.backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			d := newDeskOf(t, b.url())
			w := world{b: b, h: d.h, version: newest}
			asked := func(t *testing.T, graph string) (*client, map[string]any, map[string]any) {
				t.Helper()
				c := w.paused(t, graph, 1)
				a := d.call(t, http.StatusOK, "GET", fmt.Sprint("/v1/approvals/", d.waiting(t, c.thread)["id"]), nil)
				return c, a, a["questions"].([]any)[0].(map[string]any)
			}
			ends := func(t *testing.T, a map[string]any) map[string]any {
				t.Helper()
				end := d.ended(t, a)
				if end["how"] != "finished" || end["error"] != nil {
					t.Fatalf("it ended so: %v", end)
				}
				return end
			}
			t.Run("an object", func(t *testing.T) {
				c, a, q := asked(t, "approve")
				// The message is not said twice.
				if got, want := said(q), "langgraph.raw: question=Delete 3 files?, files=, files[0]=a, files[1]=b, files[2]=c"; got != want {
					t.Errorf("the agent says %q, want %q", got, want)
				}
				d.decide(t, a, 0, "answer", yes)
				ends(t, a)
				w.effects(t, c, map[string]int{"delete": 1})
			})
			t.Run("a text", func(t *testing.T) {
				c, a, q := asked(t, "text")
				if got := said(q); got != "" || q["message"] != "What is your name?" {
					t.Errorf("the agent says %q and %v", q["message"], got)
				}
				d.decide(t, a, 0, "answer", "yes")
				ends(t, a)
				w.effects(t, c, map[string]int{"greet": 1})
				if told := text(w.b.ledger(t, c.thread).Effects); !contains(told, `"Answer":"yes"`) {
					t.Errorf("the graph was told %s", told)
				}
			})
			t.Run("the form of an Agent Inbox", func(t *testing.T) {
				c, a, q := asked(t, "inbox")
				if got, want := said(q), "langgraph send_email: to=bob@example.org"; got != want {
					t.Errorf("the agent says %q, want %q", got, want)
				}
				may := q["may"].(map[string]any)
				if may["edit"] != true || may["approve"] != true {
					t.Errorf("may: %v", may)
				}
				d.decide(t, a, 0, "answer", map[string]any{"approved": true, "editedArgs": map[string]any{"to": "ann@example.org"}})
				end := ends(t, a)
				w.effects(t, c, map[string]int{"send_email": 1})
				if told := text(w.b.ledger(t, c.thread).Effects); !contains(told, "ann@example.org") {
					t.Errorf("the graph was told %s", told)
				}
				answered := end["questions"].([]any)[0].(map[string]any)
				if answered["edited"] != true || text(answered["arguments"]) != `{"to":"ann@example.org"}` {
					t.Errorf("the desk says that it sent %v", answered)
				}
			})
		})
	}
}

// said is what the agent sent with a question, in one line.
func said(q map[string]any) string {
	statements, _ := q["statements"].([]any)
	line := ""
	for _, one := range statements {
		s := one.(map[string]any)
		line += fmt.Sprint(s["path"])
		if s["name"] != nil {
			line += fmt.Sprint(" ", s["name"])
		}
		sign := ": "
		for _, each := range s["fields"].([]any) {
			f := each.(map[string]any)
			line += fmt.Sprint(sign, f["path"], "=", f["text"])
			sign = ", "
		}
	}
	return line
}
