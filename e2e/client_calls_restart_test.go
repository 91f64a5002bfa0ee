//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// A turn calls a tool of the client and a tool that needs an approval, and Holdpoint is restarted
// with its store in memory before the client sends the result of its own call. AGUI.Server, the
// .NET host, treats that result alone as an approval of the other call, and an unknown path may
// lead to it. So Holdpoint removes the call from its message there. With every other backend the
// run must end as it does without Holdpoint.

// upstream returns the address of the family's agents without Holdpoint.
func (family mixedTurn) upstream(w world) string {
	switch family.name {
	case "Strands, Python":
		return w.b.server.base() + "/agui"
	case "Strands, TypeScript":
		return w.b.server.base()
	}
	return w.b.url()
}

// A broughtEnd describes how the request with the result alone ended, and whether the chat
// continued.
type broughtEnd struct {
	brought bool // the client had a call of its own to answer
	asked   bool
	code    string
	said    string
	lost    bool // Holdpoint asks about a lost question
	goesOn  bool
}

// bringsAlone makes a client send the order, and then the result of its own call without an answer.
// between runs before the second request. The client does not check whether the question is open.
func (family mixedTurn) bringsAlone(t *testing.T, w world, at int, between func(c *client)) (c *client, end broughtEnd) {
	t.Helper()
	c = family.client(t, w, at)
	tools := declares(family.tool)
	c.run(t, step{say: family.order(c, at), patch: tools, loose: true})
	brought := c.brought(family.tool, "red")
	if len(brought) == 0 {
		return c, end // the client gets the call only after it has answered the question
	}
	between(c)
	r := c.run(t, step{brings: brought, patch: tools, loose: true, empty: true})
	if len(r.Wire) != 1 {
		t.Fatalf("the client sent %d requests: %+v", len(r.Wire), r.Error)
	}
	a := r.Wire[0]
	end = broughtEnd{brought: true, asked: len(a.outcome()) > 0, code: a.code(), lost: strings.Contains(terminal(a), "holdpoint:lost_question")}
	for _, e := range a.Events {
		if e.kind() == "TEXT_MESSAGE_CONTENT" || e.kind() == "TEXT_MESSAGE_CHUNK" {
			end.said += e.str("delta")
		}
	}
	family.did(t, w, c, false)
	words := "plain and simple " + fresh("n")
	for n := 0; n < 3 && !end.goesOn; n++ {
		s := step{loose: true, patch: tools}
		if n == 0 {
			s.say = words
		}
		c.run(t, c.denying(s, false))
		end.goesOn = c.answered(words)
	}
	family.did(t, w, c, false)
	return c, end
}

// finds reports whether Holdpoint turns the backend's refusal of a run into a lost question. It can
// do so if the calls of the history name the question, which they do not for a hook's question.
func (family mixedTurn) finds(w world) bool {
	return family.name == "Agent Framework" && w.since("1.0.0rc8") || family.name == "Strands, Python" && !family.locked(w)
}

// locked reports whether the chat stays locked. This happens for a hook's question of ag_ui_strands
// that no client has named (docs/support.md).
func (family mixedTurn) locked(w world) bool { return strings.HasSuffix(w.b.mode, "kept-hook") }

// TestClientsCallAfterARestart: a request with the result alone is answered as without Holdpoint.
// Nothing runs without an approval, and the chat continues if it does so without Holdpoint.
func TestClientsCallAfterARestart(t *testing.T) {
	t.Parallel()
	for _, family := range mixedTurns {
		for at, order := range []string{"the client's call last", "the client's call first"} {
			t.Run(family.name+"/"+order, func(t *testing.T) {
				family.each(t, func(t *testing.T, w world) {
					direct, through := w, w
					direct.h = &holdpoint{address: family.upstream(w)}
					_, want := family.bringsAlone(t, direct, at, func(*client) {})
					before, after := ownHoldpoint(t, family.upstream(w), nil), ownHoldpoint(t, family.upstream(w), nil)
					through.h = before
					_, got := family.bringsAlone(t, through, at, func(c *client) { c.moved(t, before, after) })
					t.Logf("direct %+v, through %+v", want, got)
					if !got.brought || !want.brought {
						return // the backend does not always send the client's call next to the question
					}
					switch {
					case got.lost != (want.code != "" && family.finds(w)):
						t.Errorf("a lost question is asked: %v", got.lost)
					case got.lost:
					case got.code != want.code:
						t.Errorf("it ended with the code %q, and with %q without Holdpoint", got.code, want.code)
					case want.asked && !got.asked:
						t.Error("it asked without Holdpoint only")
					case got.code == "" && !got.asked && (got.said == "") != (want.said == ""):
						t.Errorf("it said %q, and %q without Holdpoint", got.said, want.said)
					}
					if want.goesOn && !got.goesOn && !family.locked(w) {
						t.Error("the chat goes on without Holdpoint only")
					}
				})
			})
		}
	}
}
