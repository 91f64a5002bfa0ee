//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// In these tests the model makes two calls in one turn: a tool of the client, and a tool that needs
// an approval. Then Holdpoint is restarted with its store in memory, so it does not know the
// question. After that, the client sends the result of its own call, and no answer. AGUI.Server,
// the .NET host, would treat this result as an approval of the other call. The restarted Holdpoint
// does not know to which backend a path leads. If that may be AGUI.Server, Holdpoint removes the
// other call from its message. With every other backend the run must end as it does without
// Holdpoint.

// upstream returns the address of the backend's agents. A client that uses it bypasses Holdpoint.
func (family mixedTurn) upstream(w world) string {
	switch family.name {
	case "Strands, Python":
		return w.b.server.base() + "/agui"
	case "Strands, TypeScript":
		return w.b.server.base()
	}
	return w.b.url()
}

// A broughtEnd is about a run that had the client's result and no answer. It describes how this run
// ended, and whether the chat continued.
type broughtEnd struct {
	brought bool // whether the client got a call of its own
	asked   bool
	code    string
	said    string
	lost    bool // whether Holdpoint asked about a lost question
	goesOn  bool
}

// bringsAlone makes a client send two runs. The first run has the order. The second run has the
// result of the client's own call, and no answer to the question. The client sends it although its
// question is open. The function between is called before the second run.
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

// finds reports whether Holdpoint can turn the backend's refusal of a run into a lost question.
// This works if the calls in the history name the question. If a hook of Strands asks, they do not
// name it.
func (family mixedTurn) finds(w world) bool {
	return family.name == "Agent Framework" && w.since("1.0.0rc8") || family.name == "Strands, Python" && !family.locked(w)
}

// locked reports whether the chat stays locked after the restart. This happens if a hook of
// ag_ui_strands asks, and no client has named the question (docs/support.md).
func (family mixedTurn) locked(w world) bool { return strings.HasSuffix(w.b.mode, "kept-hook") }

// TestClientsCallAfterARestart: after the restart, a run that has the client's result and no answer
// must end as it does without Holdpoint. Nothing may run without an approval. If the chat continues
// without Holdpoint, it must also continue with Holdpoint.
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
