//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// In these tests the model makes two calls in one turn: a tool of the client, and a tool that needs
// an approval. The client sends the result of its own call in the same run as the answer to the
// question, as AG-UI requires.

// A mixedTurn is a family of backends that can ask a question in such a turn.
type mixedTurn struct {
	name  string
	each  func(t *testing.T, test func(t *testing.T, w world)) // runs test for each of its backends
	start func(t *testing.T, w world) *client                  // nil: say names the agent, whose turn is always the same
	tool  string                                               // the client's tool
	// say has two orders. After the first order, the client's call comes last in the turn. After
	// the second order, the client's call comes first.
	say [2]string
	// asks reports whether the backend asks its question in such a turn.
	asks func(w world, clientFirst bool) bool
	did  func(t *testing.T, w world, c *client, approved bool)
	// If late is true, the model gets the client's result only in the next turn. The function never
	// reports whether the model never gets the result. All this is the same without Holdpoint.
	late  bool
	never func(w world, clientFirst bool) bool
	// If apart is true, the client's call and the question need not be open at the same time: the
	// backend may send one of them only after it got the answer to the other one.
	apart bool
	// If hides is true, the backend does not send some results to any client. If hidesCancelled is
	// true, it does not send the result of a cancelled call.
	hides, hidesCancelled bool
	// yes and no, if they are set, are used in place of accept and reject.
	yes, no answer
}

// brought returns tool messages with the given content. There is one for each call of the tool in
// the client's messages that has no result yet.
func (c *client) brought(tool, content string) []event {
	has, list := map[string]bool{}, []event{}
	for _, m := range c.messages {
		has[m.str("toolCallId")] = true
	}
	for _, m := range c.messages {
		made, _ := m["toolCalls"].([]any)
		for _, one := range made {
			call := event(one.(map[string]any))
			if function := event(call["function"].(map[string]any)); function.str("name") == tool && !has[call.str("id")] {
				list = append(list, event{"id": fresh("result"), "role": "tool", "toolCallId": call.str("id"), "content": content})
			}
		}
	}
	return list
}

// declares returns a patch for a step: the request declares the tool as one of the client.
func declares(tool string) map[string]any {
	parameters := map[string]any{"type": "object", "properties": map[string]any{"label": map[string]any{"type": "string"}}}
	return map[string]any{"tools": []any{map[string]any{"name": tool, "description": "Picks a colour", "parameters": parameters}}}
}

func always(world, bool) bool { return true }

var mixedTurns = []mixedTurn{
	{
		name: "Agent Framework",
		each: func(t *testing.T, test func(t *testing.T, w world)) {
			cells(t, func(w world) bool { return w.b.mode == "default" }, test)
		},
		tool: "pick_color", say: [2]string{"client-last", "client-first"},
		// Up to 1.0.0rc8 the turn ends without a question if the client's call comes first.
		asks: func(w world, clientFirst bool) bool { return !clientFirst || w.since("1.7.0") },
		did:  didRun,
	},
	{
		name: "Strands, Python",
		each: func(t *testing.T, test func(t *testing.T, w world)) {
			for _, agent := range []string{"kept-gate", "kept-hook"} {
				eachAdapter(t, agent, test)
			}
		},
		start: func(t *testing.T, w world) *client { return w.adapted(t, strings.TrimPrefix(w.b.mode, "agui/")) },
		tool:  "pick_color", say: [2]string{"client-last a.txt", "client-first a.txt"}, asks: always,
		did: didDelete,
	},
	{
		name: "Strands, TypeScript",
		each: func(t *testing.T, test func(t *testing.T, w world)) {
			eachStrands(t, []string{"agui/sequential", "agui/kept"}, test)
		},
		start: func(t *testing.T, w world) *client { return w.person(t) },
		tool:  "pick_color", say: [2]string{"delete a.txt and pick x", "pick x and delete a.txt"},
		asks: func(_ world, clientFirst bool) bool { return !clientFirst },
		did: func(t *testing.T, w world, c *client, approved bool) {
			t.Helper()
			if approved {
				w.deleted(t, c, "a.txt")
			} else {
				w.deleted(t, c)
			}
		},
		late: true, never: func(w world, _ bool) bool { return w.b.mode == "agui/kept" },
	},
	{
		name: "pydantic-ai",
		each: func(t *testing.T, test func(t *testing.T, w world)) {
			eachPydanticAI(t, []string{"stateless", "store"}, test)
		},
		start: agentOf, tool: "pick_colour", say: [2]string{"delete a.txt, pick x", "pick x, delete a.txt"}, asks: always, did: didRun,
	},
	{
		name: "LangGraph",
		each: func(t *testing.T, test func(t *testing.T, w world)) {
			for n, b := range shared.backends {
				version := []string{newest, pinned}[n%2]
				t.Run(b.name+"/client-"+version, func(t *testing.T) {
					test(t, world{b: b, h: shared.proxies[b.name], version: version})
				})
			}
		},
		tool: "pick_colour", say: [2]string{"clientlast", "clientfirst"}, asks: always,
		did: func(t *testing.T, w world, c *client, approved bool) {
			t.Helper()
			want := map[string]int{}
			if approved {
				want["delete"] = 1
			}
			w.effects(t, c, want)
		},
	},
	{
		name:  "agno",
		each:  func(t *testing.T, test func(t *testing.T, w world)) { eachAgno(t, nil, test) },
		start: func(t *testing.T, w world) *client { return w.client(t, "agui") },
		tool:  "show_dialog", say: [2]string{"delete a.txt,show x", "show x,delete a.txt"}, asks: always, did: didRun,
		yes: agnoSays[true], no: agnoSays[false],
	},
	{
		name: "Google ADK",
		each: func(t *testing.T, test func(t *testing.T, w world)) {
			for _, mode := range []string{"outcome", "default", "resumable"} {
				t.Run(mode, func(t *testing.T) { eachADK(t, mode, nil, test) })
			}
		},
		start: agentOf, tool: "show_dialog", say: [2]string{"delete a.txt,show x", "show x,delete a.txt"}, asks: always, did: didRun,
		apart: true, hides: true, never: func(w world, _ bool) bool { return w.b.mode == "resumable" },
	},
	{
		name:  "AG2",
		each:  func(t *testing.T, test func(t *testing.T, w world)) { eachAG2(t, "held", test) },
		start: agentOf, tool: "show_dialog", say: [2]string{"delete a.txt, show x", "show x, delete a.txt"}, asks: always, did: didRun,
		// AG2 1.2.1 runs the calls of a turn concurrently. It sends the client's call before the
		// question, or only after the answer. The model gets the client's result only in the second
		// case.
		apart: true, never: always, hides: true,
		yes: gives(true), no: gives(false),
	},
	{
		name: "Mastra",
		each: func(t *testing.T, test func(t *testing.T, w world)) {
			for _, mode := range []string{"outcome", "quiet"} {
				t.Run(mode, func(t *testing.T) { eachMastra(t, mode, test) })
			}
		},
		start: func(t *testing.T, w world) *client { return w.client(t, "free") },
		tool:  "pick_colour", say: [2]string{"delete a.txt, pick x", "pick x, delete a.txt"}, asks: always, did: didRun,
		// If the client's call comes after a tool that suspends, Mastra (@mastra/core 1.71.0) drops
		// the client's call. It is never sent, and the model never gets a result.
		apart: true, never: func(_ world, clientFirst bool) bool { return !clientFirst }, hidesCancelled: true,
		yes: yesToMastra, no: noToMastra,
	},
}

// agentOf returns a client of the backend's agent "agent".
func agentOf(t *testing.T, w world) *client { return w.client(t, "agent") }

// didRun checks the tools that ran. If approved is true, a.txt must have been deleted once.
// Otherwise nothing may have run.
func didRun(t *testing.T, w world, c *client, approved bool) {
	t.Helper()
	if approved {
		w.ran(t, c, deleteA)
	} else {
		w.ran(t, c)
	}
}

// didDelete checks the files of Strands' tools. If approved is true, a.txt must be deleted.
// Otherwise no file may be deleted.
func didDelete(t *testing.T, w world, c *client, approved bool) {
	t.Helper()
	if approved {
		w.gone(t, c, "a.txt")
	} else {
		w.gone(t, c)
	}
}

// TestClientsCallBesideAnApproval: an approved call must run once, and no other call may run. The
// model must get the results of both calls, and answer the next message.
func TestClientsCallBesideAnApproval(t *testing.T) {
	t.Parallel()
	for _, family := range mixedTurns {
		for at, order := range []string{"the client's call last", "the client's call first"} {
			for said, answer := range map[string]answer{"approved": accept, "denied": reject, "cancelled": cancelled} {
				t.Run(family.name+"/"+order+"/"+said, func(t *testing.T) {
					family.each(t, func(t *testing.T, w world) {
						if !family.asks(w, at == 1) {
							family.unasked(t, w, at)
							return
						}
						c := family.client(t, w, at)
						if family.yes != nil && said == "approved" {
							answer = family.yes
						} else if family.no != nil && said == "denied" {
							answer = family.no
						}
						family.converse(t, w, c, at, answer)
						never := family.never != nil && family.never(w, at == 1)
						if !family.late && !never {
							family.shown(t, w, c)
						}
						family.did(t, w, c, said == "approved")
						if !family.hides && (said != "cancelled" || !family.hidesCancelled) {
							c.hasEachResult(t)
						}
						c.goesOn(t, nil)
						family.did(t, w, c, said == "approved")
						if !never {
							family.shown(t, w, c)
						}
						w.shown(t, c)
					})
				})
			}
		}
	}
}

func (family mixedTurn) client(t *testing.T, w world, at int) *client {
	t.Helper()
	if family.start == nil {
		return w.client(t, family.say[at])
	}
	return family.start(t, w)
}

// order returns the person's message. For Strands the message also names the thread, because its
// tools find their folder by the thread.
func (family mixedTurn) order(c *client, at int) string {
	if strings.HasPrefix(family.name, "Strands") {
		return c.wants(family.say[at]).say
	}
	return family.say[at]
}

// TestWorkflowAsAnAgentIsAnsweredWithoutMessages: a workflow that serves as an agent accepts
// nothing but the answer while it waits. If the client's request has no messages, Holdpoint must
// add none.
func TestWorkflowAsAnAgentIsAnsweredWithoutMessages(t *testing.T) {
	t.Parallel()
	n := 0
	for said, answer := range map[string]answer{"approved": accept, "denied": reject, "cancelled": cancelled} {
		for _, version := range []string{newest, pinned} {
			agent := fmt.Sprintf("as-agent-%d", n)
			n++
			t.Run(said+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				for _, b := range shared.agents {
					if b.name != "1.7.0" {
						continue
					}
					w := agentWorld(b, version)
					c := w.client(t, agent)
					c.asksAbout(t, step{say: "go"}, 1)
					s := c.each(t, answer)
					s.patch = map[string]any{"messages": []any{}}
					if a := c.run(t, s).answer(t); a.code() != "" || a.outcome() != nil {
						t.Fatalf("answered with %s", terminal(a))
					}
					didRun(t, w, c, said == "approved")
					c.goesOn(t, nil)
					didRun(t, w, c, said == "approved")
				}
			})
		}
	}
}

// TestAgentIsAnsweredWithoutMessages: the client sends the answer in a request without messages.
// The model of a plain agent must not get a result without its call, because a provider would
// refuse that. Holdpoint must send the conversation with a later request.
func TestAgentIsAnsweredWithoutMessages(t *testing.T) {
	t.Parallel()
	for said, answer := range map[string]answer{"approved": accept, "denied": reject, "cancelled": cancelled} {
		t.Run(said, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) {
				c := w.client(t, "strict")
				c.asksAbout(t, step{say: "go"}, 1)
				s := c.each(t, answer)
				s.patch = map[string]any{"messages": []any{}}
				c.finish(t, s)
				didRun(t, w, c, said == "approved")
				c.hasEachResult(t)
				c.goesOn(t, nil)
				didRun(t, w, c, said == "approved")
			})
		})
	}
}

// converse sends the order, and then results and answers until nothing is open. If a client's call
// and a question are open at the same time, one run has both the result and the answer.
func (family mixedTurn) converse(t *testing.T, w world, c *client, at int, answer answer) {
	t.Helper()
	next, asked, together := step{say: family.order(c, at)}, 0, false
	for range 5 {
		next.patch = declares(family.tool)
		if a := c.run(t, next).answer(t); a.code() != "" {
			t.Fatalf("%s", terminal(a))
		}
		next = step{brings: c.brought(family.tool, "red")}
		if c.asked {
			family.did(t, w, c, false)
			asked += len(c.pending)
			next.resume = c.answers(answer)
		}
		if len(next.brings) == 0 && !c.asked {
			break
		}
		together = together || len(next.brings) > 0 && c.asked
	}
	if asked != 1 || !together && !family.apart {
		t.Fatalf("asked %d times, at once with the client's call: %v", asked, together)
	}
}

// hasEachResult checks that each call in the client's messages has exactly one result.
func (c *client) hasEachResult(t *testing.T) {
	t.Helper()
	results := map[string]int{}
	for _, m := range c.messages {
		if m.str("role") == "tool" {
			results[m.str("toolCallId")]++
		}
	}
	for _, id := range calls(c.messages) {
		if results[id] != 1 {
			t.Errorf("call %s has %d results: %s", id, results[id], indented(c.messages))
		}
	}
}

// shown checks that the model got the results of both calls in one request.
func (family mixedTurn) shown(t *testing.T, w world, c *client) {
	t.Helper()
	for _, m := range c.messages {
		if said := m.str("content"); m.str("role") == "assistant" && strings.HasPrefix(said, "results: ") && strings.Contains(said, "red") {
			return // this agent repeats the results it gets
		}
	}
	var all [][]string
	for _, seen := range w.b.ledger(t, c.thread).Seen {
		if all = append(all, seen.Results); len(seen.Results) >= 2 && slices.ContainsFunc(seen.Results, func(r string) bool { return strings.Contains(r, "red") && !strings.Contains(r, "deleted") }) {
			return
		}
	}
	t.Errorf("the model was shown the results %q", all)
}

// unasked plays a turn in which the backend asks no question, neither with nor without Holdpoint.
// Nothing may run, and the chat must continue.
func (family mixedTurn) unasked(t *testing.T, w world, at int) {
	t.Helper()
	c := family.client(t, w, at)
	tools := declares(family.tool)
	c.run(t, step{say: family.order(c, at), patch: tools, loose: true})
	c.run(t, step{brings: c.brought(family.tool, "red"), patch: tools, loose: true})
	c.goesOn(t, nil)
	family.did(t, w, c, false)
}
