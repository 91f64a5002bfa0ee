//go:build e2e

package e2e

import (
	"testing"
)

// eachElicitation runs test with agents whose tool is on an MCP server. Before the tool acts, the
// MCP server asks the person (MCP calls this an elicitation), and langchain.mcp turns this into an
// interrupt. The agents run behind the Python adapter with two versions of langchain, in
// LangGraph's own server, and behind the TypeScript adapter in front of LangGraph's own server.
func eachElicitation(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	t.Parallel()
	for n, version := range []string{"1.4.7", "1.5.2"} {
		for _, mode := range []string{"default", "outcome"} {
			t.Run("adapter "+version+" "+mode, func(t *testing.T) {
				t.Parallel()
				s := need(t, "langgraph-mcp", version)
				h := ownHoldpoint(t, s.base()+"/"+mode+"/agent", nil)
				test(t, world{b: &backend{name: "langgraph-mcp " + version, server: s}, h: h, version: []string{pinned, newest}[n]})
			})
		}
	}
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		s := need(t, "langgraph-server-py", "0.16.7")
		test(t, world{b: &backend{name: "langgraph-server-py", server: s}, h: ofServer(t, s, "pays", nil), version: newest})
	})
	t.Run("typescript adapter", func(t *testing.T) {
		t.Parallel()
		need(t, "langgraph-server", "1.5.1") // the adapter is in its packages
		s := need(t, "langgraph-server-py", "0.16.7")
		test(t, world{b: &backend{name: "langgraph-server-py", server: s}, h: ownHoldpoint(t, s.base()+"/adapter/pays", nil), version: newest})
	})
}

// TestElicitation: the interrupt of an agent has one key for each request of the MCP server. Each
// key must become a question with its own message and schema. The tool must get an accepted value
// once, a denial as "decline", and a cancel as "cancel". The chat must continue after each answer.
func TestElicitation(t *testing.T) {
	type scene struct {
		order    string
		rounds   [][]answer
		want     []string
		told     string
		messages []string
	}
	content := gives(map[string]any{"reference": "R-5"})
	more := gives(map[string]any{"reference": "R-5", "copies": 2})
	own := gives(map[string]any{"action": "accept", "content": map[string]any{"reference": "R-5"}})
	declined := gives(map[string]any{"action": "decline"})
	yes, no := yesToServer, noToServer
	const paid, which, page, sure = `pay {"reference":"R-5","rounds":1}`, "Which reference?", "Sign in at your bank\nhttps://bank.example/sign-in", "Pay now?"
	eachElicitation(t, func(t *testing.T, w world) {
		together(t, map[string]scene{
			"a form":                      {"pay form", [][]answer{{content}}, []string{paid}, "done: paid", []string{which}},
			"a form, with more":           {"pay form", [][]answer{{more}}, []string{`pay {"copies":2,"reference":"R-5","rounds":1}`}, "done: paid", nil},
			"in the server's own words":   {"pay form", [][]answer{{own}}, []string{paid}, "done: paid", nil},
			"denied":                      {"pay form", [][]answer{{no}}, nil, "done: not paid: form decline", nil},
			"declined":                    {"pay form", [][]answer{{declined}}, nil, "done: not paid: form decline", nil},
			"cancelled":                   {"pay form", [][]answer{{cancelled}}, nil, "done: not paid: form cancel", nil},
			"a page":                      {"pay page", [][]answer{{yes}}, []string{`pay {"rounds":1}`}, "done: paid", []string{page}},
			"a page, denied":              {"pay page", [][]answer{{no}}, nil, "done: not paid: page decline", nil},
			"a form without members":      {"pay sure", [][]answer{{yes}}, []string{`pay {"rounds":1}`}, "done: paid", []string{sure}},
			"three at once":               {"pay form page sure", [][]answer{{content, yes, yes}}, []string{paid}, "done: paid", []string{which, page, sure}},
			"three, one of them denied":   {"pay form page sure", [][]answer{{content, no, cancelled}}, nil, "done: not paid: form accept, page decline, sure cancel", nil},
			"two rounds":                  {"pay sure then form", [][]answer{{yes}, {content}}, []string{`pay {"reference":"R-5","rounds":2}`}, "done: paid", nil},
			"two rounds, the second a no": {"pay sure then form", [][]answer{{yes}, {no}}, nil, "done: not paid: form decline", nil},
		}, func(t *testing.T, c scene) {
			cl := newClient(t, shared.through, w.version, w.h.address+"/", uuid(), nil) // the TypeScript adapter accepts UUIDs only
			s := step{say: c.order}
			for n, answers := range c.rounds {
				cl.asksAbout(t, s, len(answers))
				for at, message := range c.messages {
					if got := cl.pending[at].str("message"); n == 0 && got != message {
						t.Errorf("question %d is %q, want %q", at, got, message)
					}
				}
				s = cl.each(t, answers...)
			}
			cl.finish(t, s)
			w.ran(t, cl, c.want...)
			if last := cl.messages[len(cl.messages)-1].str("content"); last != c.told {
				t.Errorf("the agent says %q, want %q", last, c.told)
			}
			cl.goesOn(t, nil)
			w.ran(t, cl, c.want...)
		})
	})
}

// TestElicitationRefusesWhatTheFormDoesNotTake: Holdpoint must refuse an answer that does not fit
// the form of the elicitation, and keep the question open. Otherwise the tool would get the answer,
// or LangGraph would store it with an error.
func TestElicitationRefusesWhatTheFormDoesNotTake(t *testing.T) {
	eachElicitation(t, func(t *testing.T, w world) {
		cl := newClient(t, shared.through, w.version, w.h.address+"/", uuid(), nil) // the TypeScript adapter accepts UUIDs only
		cl.asksAbout(t, step{say: "pay form"}, 1)
		for _, payload := range []any{
			map[string]any{"approved": true}, true, "yes", map[string]any{"reference": 5}, map[string]any{"copies": 2},
			map[string]any{"reference": "R-5", "copies": 0}, map[string]any{"action": "accept"}, map[string]any{"action": "accept", "content": map[string]any{"reference": 5}},
			map[string]any{"action": "accept", "content": map[string]any{"reference": "R-5", "extra": map[string]any{"deep": 1}}},
			map[string]any{"responses": map[string]any{"form": map[string]any{"action": "accept", "content": map[string]any{}}}},
		} {
			cl.refused(t, cl.each(t, gives(payload)), "INVALID_PAYLOAD", true)
		}
		w.ran(t, cl)
		cl.finish(t, cl.each(t, gives(map[string]any{"reference": "R-5"})))
		w.ran(t, cl, `pay {"reference":"R-5","rounds":1}`)
		cl.goesOn(t, nil)
	})
}
