//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// behind returns the client of a chat that comes back after its question was decided elsewhere. The
// client has its old messages, but the id of its last assistant message has changed. The messages
// also contain the user's own answer, says, which came too late. CopilotKit leaves such an answer
// in the history.
func (c *client) behind(t *testing.T, says any) *client {
	t.Helper()
	said, err := json.Marshal(says)
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Clone(c.messages)
	answered := map[string]bool{}
	for _, m := range list {
		answered[m.str("toolCallId")] = true
	}
	for n := len(list) - 1; n >= 0; n-- {
		if list[n].str("role") != "assistant" {
			continue
		}
		list[n] = maps.Clone(list[n])
		list[n]["id"] = fresh("renamed")
		calls, _ := list[n]["toolCalls"].([]any)
		for _, one := range calls {
			if id := event(one.(map[string]any)).str("id"); !answered[id] {
				list = append(list, event{"id": fresh("said"), "role": "tool", "toolCallId": id, "content": string(said)})
			}
		}
		break
	}
	again := newClient(t, c.d, c.version, c.url, c.thread, list)
	again.customs = c.customs
	return again
}

// TestChatsThatAreBehind: the desk's decision has been carried out. Then the chat comes back twice
// with its old history and no new message, and the backend must not be called. When the chat sends
// its next message, Holdpoint must put the messages that it has recorded before it. The action must
// have run once, and the history that the backend gets must be in order.
func TestChatsThatAreBehind(t *testing.T) {
	t.Parallel()
	for _, f := range deskFamilies(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.gate = newTurnstile(t, f.upstream)
			d := newDeskOf(t, f.gate.URL, f.env)
			w := f.at(d.h)
			c, a := f.asked(t, d, f.one, 1)
			f.decides(t, d, a, 0, f.yes)
			d.finished(t, a)
			for range 2 {
				f.stays(t, w, c)
			}
			f.lives(t, w, c.behind(t, f.yes), "a.txt")
		})
	}
	for _, b := range shared.backends {
		if b.name == "0.0.43-quiet" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			g := newTurnstile(t, b.url())
			d := newDeskOf(t, g.URL)
			w := world{b: b, h: d.h, version: newest}
			c := w.paused(t, "hitl", 2)
			a := d.waiting(t, c.thread)
			d.decide(t, a, 0, "deny", nil)
			d.decide(t, a, 1, "approve", nil)
			d.finished(t, a)
			f := deskFamily{yes: yes}
			for range 2 {
				f.stays(t, w, c)
			}
			again := c.behind(t, yes)
			again.goesOn(t, nil)
			inOrder(t, g.history(c.thread))
			w.effects(t, c, map[string]int{"delete_file": 1})
		})
	}
	for _, b := range shared.agents {
		w := agentWorld(b, newest)
		if b.mode != "default" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			g := newTurnstile(t, b.url())
			d := newDeskOf(t, g.URL)
			w.h = d.h
			c := w.client(t, "approve")
			c.asks(t, step{say: "go"}, 1)
			a := d.waiting(t, c.thread)
			d.decide(t, a, 0, "answer", yes)
			d.finished(t, a)
			f := deskFamily{yes: yes}
			for range 2 {
				f.stays(t, w, c)
			}
			w.ran(t, c, deleteA)
			again := c.behind(t, yes)
			again.goesOn(t, nil)
			complete(t, g.history(c.thread), nil)
			w.ran(t, c, deleteA)
		})
	}
}

// stays lets the chat come back with its old history and no new message, and checks that the
// backend is not called.
func (f *deskFamily) stays(t *testing.T, w world, c *client) {
	t.Helper()
	before := w.b.ledger(t, c.thread)
	if again := c.behind(t, f.yes); f.strays {
		again.refused(t, step{empty: true}, "UNKNOWN_INTERRUPT_ID", false)
	} else {
		again.finish(t, step{empty: true})
	}
	if after := w.b.ledger(t, c.thread); len(after.Runs) != len(before.Runs) || len(after.Seen) != len(before.Seen) {
		t.Errorf("the reload had the backend run: %d runs and %d models, before %d and %d", len(after.Runs), len(after.Seen), len(before.Runs), len(before.Seen))
	}
}
