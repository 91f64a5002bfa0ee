//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// TestDeskShowsWhatInterruptAsks: a LangGraph agent passes a value to interrupt(). The desk must
// show this value, and the agent must get exactly the desk's answer.
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
				// The message appears on its own, so the fields must not repeat it.
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

// TestDeskShowsWhatInterruptAsksOfAServer checks the same as TestDeskShowsWhatInterruptAsks, with
// LangGraph's own servers. For their questions Holdpoint makes the ids.
func TestDeskShowsWhatInterruptAsksOfAServer(t *testing.T) {
	t.Parallel()
	type scene struct {
		graph, answers string // graph, and the value of HOLDPOINT_ANSWERS
		message        any    // the message that the desk shows
		calls, states  string // the call that the desk shows for an approval, or the fields that the agent sent
		decision       string
		payload        any
		want           []string
	}
	edited := map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}}
	const action = "langgraph.raw: action=delete_file, args=, args.path=a.txt"
	together(t, langGraphServers, func(t *testing.T, stack stack) {
		s := need(t, stack.framework, stack.version)
		together(t, map[string]scene{
			"an object, a text":            {"free", "", "Delete a.txt?", "", "", "answer", "yes", []string{deleteA}},
			"an object, a text that is no": {"free", "", "Delete a.txt?", "", "", "answer", "no", nil},
			"an action, a value":           {"values", "", nil, "", action, "answer", map[string]any{"go": true, "args": map[string]any{"path": "a.txt"}}, []string{deleteA}},
			"an action, another value":     {"values", "", nil, "", action, "answer", map[string]any{"approved": true}, nil},
			"an action, approved":          {"values", valueRule, "The agent asks to call the tool delete_file.", deleteA, "", "approve", nil, []string{deleteA}},
			"an action, denied":            {"values", valueRule, "The agent asks to call the tool delete_file.", deleteA, "", "deny", nil, nil},
			"an action, edited":            {"values", valueRule, "The agent asks to call the tool delete_file.", deleteA, "", "answer", edited, []string{deleteC}},
			"a review, approved":           {"agent", "", "Delete a.txt?", deleteA, "", "approve", nil, []string{deleteA}},
			"a review, edited":             {"agent", "", "Delete a.txt?", deleteA, "", "answer", edited, []string{deleteC}},
		}, func(t *testing.T, c scene) {
			d := newDeskOf(t, s.base(), map[string]string{
				"HOLDPOINT_DIALECT": "langgraph-server", "HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT": c.graph, "HOLDPOINT_ANSWERS": c.answers,
			})
			w := world{b: &backend{name: stack.framework, server: s}, h: d.h, version: newest}
			cl := w.client(t, "")
			cl.asksAbout(t, step{say: "delete a.txt"}, 1)
			a := d.call(t, http.StatusOK, "GET", fmt.Sprint("/v1/approvals/", d.waiting(t, cl.thread)["id"]), nil)
			q := a["questions"].([]any)[0].(map[string]any)
			calls := ""
			if list, _ := q["calls"].([]any); len(list) == 1 {
				call := list[0].(map[string]any)
				calls = fmt.Sprint(call["name"], " ", text(call["arguments"]))
			}
			if got := said(q); got != c.states || calls != c.calls || q["message"] != c.message {
				t.Errorf("the desk says %v, %q and %q, want %v, %q and %q", q["message"], calls, got, c.message, c.calls, c.states)
			}
			d.decide(t, a, 0, c.decision, c.payload)
			if end := d.ended(t, a); end["how"] != "finished" || end["error"] != nil {
				t.Fatalf("it ended so: %v", end)
			}
			w.ran(t, cl, c.want...)
			again := cl.another(t)
			again.finish(t, step{empty: true})
			again.goesOn(t, nil)
			w.ran(t, cl, c.want...)
		})
	})
}

// said returns, in one line, what the desk shows of a question as the agent's own statements: each
// field and its value.
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
