//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// Tests of pydantic-ai behind its AG-UI adapter. Holdpoint runs without any setting for it.
// pydantic-ai sends the interrupt outcome and accepts resume. Without a conversation store it keeps
// no threads, and runs the calls that are in the client's history.

// eachPydanticAI runs test for both versions of pydantic-ai in the given modes, each with one
// client version that reads the outcome.
func eachPydanticAI(t *testing.T, modes []string, test func(t *testing.T, w world)) {
	t.Helper()
	for n, version := range []string{"2.0.0", "2.68.0"} {
		s := need(t, "pydanticai", version)
		h := ownHoldpoint(t, s.base(), nil)
		for _, mode := range modes {
			if slices.Contains(s.modes, mode) {
				at := *h
				at.address += "/" + mode
				client := []string{pinned, newest}[n]
				t.Run(version+"/"+mode+"/client-"+client, func(t *testing.T) {
					test(t, world{b: &backend{name: version + " " + mode, mode: mode, server: s}, h: &at, version: client})
				})
			}
		}
	}
}

// asksAbout plays the step s, and expects that its run ends with this number of questions.
func (c *client) asksAbout(t *testing.T, s step, calls int) {
	t.Helper()
	a := c.run(t, s).answer(t)
	if got := len(a.outcome()); got != calls || a.code() != "" {
		t.Fatalf("asked about %d calls (code %q), want %d: %v\n%s", got, a.code(), calls, a.kinds(), terminal(a))
	}
}

// TestPydanticAIApprovals: an approved call runs once, with the arguments that were shown to the
// person. No other call runs.
func TestPydanticAIApprovals(t *testing.T) {
	t.Parallel()
	round := func(answers ...answer) []answer { return answers }
	edited := func(id string) entry {
		return resolved(id, map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}})
	}
	for _, test := range []struct {
		name, order string
		rounds      [][]answer // the answers to each pause, in order
		want        []string
	}{
		{"approved", "delete a.txt", [][]answer{round(accept)}, []string{deleteA}},
		{"denied", "delete a.txt", [][]answer{round(reject)}, nil},
		{"cancelled", "delete a.txt", [][]answer{round(cancelled)}, nil},
		{"edited", "delete a.txt", [][]answer{round(edited)}, []string{deleteC}},
		{"both", "delete a.txt, delete b.txt", [][]answer{round(accept, accept)}, []string{deleteA, deleteB}},
		{"the first of two", "delete a.txt, delete b.txt", [][]answer{round(accept, reject)}, []string{deleteA}},
		{"the second of two", "delete a.txt, delete b.txt", [][]answer{round(cancelled, accept)}, []string{deleteB}},
		{"beside a free call", "delete a.txt, search x", [][]answer{round(reject)}, []string{search}},
		{"again", "delete a.txt; delete b.txt", [][]answer{round(accept), round(reject)}, []string{deleteA}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachPydanticAI(t, []string{"stateless", "store"}, func(t *testing.T, w world) {
				c := w.client(t, "agent")
				s := step{say: test.order}
				for _, answers := range test.rounds {
					c.asksAbout(t, s, len(answers))
					s = c.each(t, answers...)
				}
				c.finish(t, s)
				w.ran(t, c, test.want...)
				c.goesOn(t, nil)
				w.ran(t, c, test.want...)
			})
		})
	}
}

// TestPydanticAIsEarlyProtocolPasses: before pydantic-ai had interrupts, a call that needs an
// approval was just a call without a result. Nobody could approve it: the backend takes a tool
// message as the tool's result, and the tool never runs. Holdpoint must pass on the events of such
// a run, and must not log a warning. It must refuse a resume, because no question is open.
func TestPydanticAIsEarlyProtocolPasses(t *testing.T) {
	t.Parallel()
	for version, mode := range map[string]string{"1.107.10": "stateless", "2.68.0": "early"} {
		s := need(t, "pydanticai", version)
		h := ownHoldpoint(t, s.base()+"/"+mode, nil)
		for _, client := range []string{newest, pinned} {
			t.Run(version+"/"+mode+"/client-"+client, func(t *testing.T) {
				w := world{b: &backend{name: version + " " + mode, mode: mode, server: s}, h: h, version: client}
				c := w.client(t, "agent")
				a := c.run(t, step{say: "delete a.txt"}).answer(t)
				if a.code() != "" || a.outcome() != nil || len(a.of("TOOL_CALL_END")) != 1 || len(a.of("TOOL_CALL_RESULT")) != 0 {
					t.Fatalf("%v\n%s", a.kinds(), terminal(a))
				}
				direct := newClient(t, shared.direct, client, s.base()+"/"+mode+"/agent", fresh("bare"), nil)
				if b := direct.run(t, step{say: "delete a.txt"}).answer(t); !slices.Equal(a.kinds(), b.kinds()) {
					t.Errorf("told %v, the backend tells %v", a.kinds(), b.kinds())
				}
				asked := calls(c.messages)
				call := asked[len(asked)-1]
				c.refused(t, step{empty: true, resume: []entry{resolved("int-"+call, map[string]any{"approved": true})}}, "UNKNOWN_INTERRUPT_ID", false)
				var messages []any
				for _, m := range c.messages {
					messages = append(messages, m)
				}
				answer := map[string]any{"id": fresh("m"), "role": "tool", "toolCallId": call, "content": `{"approved":true}`}
				if a := c.run(t, step{patch: map[string]any{"messages": append(messages, answer)}}).answer(t); a.code() != "" {
					t.Errorf("%s", terminal(a))
				}
				w.ran(t, c)
				w.called(t, c, 2)
				if line, said := h.log.find(func(line string) bool {
					return strings.Contains(line, `"level":"WARN"`) && strings.Contains(line, "thread_id")
				}); said {
					t.Errorf("the log says %s", line)
				}
			})
		}
	}
}

// TestPydanticAIAfterARefusal: pydantic-ai refuses an answer before anything runs. The question
// must stay open, as without Holdpoint, and a second answer must be accepted.
func TestPydanticAIAfterARefusal(t *testing.T) {
	t.Parallel()
	result := func(c *client) event {
		for _, m := range c.messages {
			list, _ := m["toolCalls"].([]any)
			for _, one := range list {
				if call := one.(map[string]any); function(call)["name"] == "ask_user" {
					return event{"id": fresh("m"), "role": "tool", "toolCallId": call["id"], "content": "the blue one"}
				}
			}
		}
		return nil
	}
	for name, c := range map[string]struct {
		mode, order, says string
		wrong, right      func(c *client) []any // the messages to send; nil: the client's own
	}{
		"no history": {
			mode: "stateless", order: "delete a.txt", says: "the message history is empty",
			wrong: func(*client) []any { return []any{} },
		},
		"a result is missing": {
			mode: "store", order: "delete a.txt, ask which", says: "need to be provided for all deferred tool calls",
			right: func(c *client) []any {
				var list []any
				for _, m := range c.messages {
					list = append(list, m)
				}
				return append(list, result(c))
			},
		},
	} {
		with := func(s step, cl *client, messages func(c *client) []any) step {
			if messages != nil {
				s.patch = map[string]any{"messages": messages(cl)}
			}
			return s
		}
		t.Run(name, func(t *testing.T) {
			eachPydanticAI(t, []string{c.mode}, func(t *testing.T, w world) {
				for answer, want := range map[string][]string{"approved": {deleteA}, "denied": nil} {
					t.Run(answer, func(t *testing.T) {
						cl := w.client(t, "agent")
						cl.asksAbout(t, step{say: c.order}, 1)
						then := accept
						if answer == "denied" {
							then = reject
						}
						for range 2 {
							a := cl.refused(t, with(cl.each(t, accept), cl, c.wrong), "(without code)", true)
							if !strings.Contains(a.Text, c.says) {
								t.Errorf("the backend says %s", terminal(a))
							}
						}
						w.ran(t, cl)
						cl.finish(t, with(cl.each(t, then), cl, c.right))
						w.ran(t, cl, want...)
						cl.goesOn(t, nil)
						w.ran(t, cl, want...)
					})
				}
				t.Run("without Holdpoint", func(t *testing.T) {
					cl := newClient(t, shared.direct, newest, w.b.url()+"/agent", fresh("bare"), nil)
					cl.run(t, step{say: c.order})
					cl.run(t, with(cl.each(t, accept), cl, c.wrong))
					world{b: w.b}.ran(t, cl)
					cl.run(t, with(cl.each(t, accept), cl, c.right))
					world{b: w.b}.ran(t, cl, deleteA)
				})
			})
		})
	}
}
