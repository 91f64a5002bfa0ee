//go:build e2e

package e2e

import "testing"

// optioned runs test for two backends and every client version, behind a Holdpoint with the
// variables of env.
func optioned(t *testing.T, env map[string]string, test func(t *testing.T, w world)) {
	t.Helper()
	for _, b := range shared.backends {
		if b.name == "0.0.43" || b.name == "0.0.43-quiet" {
			continue // two backends are enough: one sends the outcome, one does not
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			h := ownHoldpoint(t, b.url(), env)
			for _, version := range []string{newest, pinned, oldest} {
				t.Run("client-"+version, func(t *testing.T) { test(t, world{b: b, h: h, version: version}) })
			}
		})
	}
}

func TestHowAPauseIsTold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		client           string
		outcome, customs int
	}{
		{"outcome", 1, 0},
		{"both", 1, 1},
		{"native", 0, 1}, // native with the outcome is checked below
	} {
		t.Run(test.client, func(t *testing.T) {
			optioned(t, map[string]string{"HOLDPOINT_CLIENT": test.client}, func(t *testing.T, w world) {
				c := w.client(t, "approve")
				a := c.run(t, step{say: "go", loose: test.client == "native"}).answer(t)
				outcome := test.outcome
				if test.client == "native" && w.b.mode == "outcome" {
					outcome = 1
				}
				if len(a.outcome()) != outcome || len(a.customs()) != test.customs {
					t.Fatalf("%d in the outcome and %d CUSTOM, want %d and %d: %s", len(a.outcome()), len(a.customs()), outcome, test.customs, terminal(a))
				}
				// For each value of HOLDPOINT_CLIENT, new input is refused while the pause is open,
				// and an answer in forwardedProps.command.resume is accepted.
				early := c.run(t, step{say: "plain, but too early", empty: true, loose: true}).answer(t)
				if early.code() != "PENDING_INTERRUPTS" {
					t.Errorf("new input was met with %s", terminal(early))
				}
				w.did(t, c, 1, nil)
				end := c.run(t, step{command: yes, empty: true, loose: true}).answer(t)
				if end.code() != "" || end.outcome() != nil {
					t.Errorf("the answer was met with %s", terminal(end))
				}
				w.effects(t, c, map[string]int{"delete": 1})
			})
		})
	}
}

func TestHowARefusalIsTold(t *testing.T) {
	t.Parallel()
	optioned(t, nil, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		a := c.run(t, step{say: "plain, but too early", empty: true}).answer(t)
		if len(a.outcome()) != 1 || a.code() != "PENDING_INTERRUPTS" {
			t.Errorf("%d interrupts and code %q: %s", len(a.outcome()), a.code(), terminal(a))
		}
		w.did(t, c, 1, nil)
		c.asked = true // the client knows the question, although its request was refused
		c.goesOn(t, no)
		w.effects(t, c, nil)
	})
}
