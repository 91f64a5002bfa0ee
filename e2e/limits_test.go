//go:build e2e

package e2e

import (
	"testing"
	"time"
)

// A question past its expiry takes "cancelled" only, and new input counts as that.
func TestAnExpiredQuestion(t *testing.T) {
	optioned(t, map[string]string{"HOLDPOINT_INTERRUPT_TTL": "1s"}, func(t *testing.T, w world) {
		t.Parallel()
		c := w.paused(t, "approve", 1)
		approval := c.answer(c.answers(accept), yes)
		approval.empty = true       // a client from 0.0.54 on would not even send it
		time.Sleep(7 * time.Second) // the expiry and the 5 seconds of grace: what is tested is that they pass
		c.refused(t, approval, "INTERRUPT_EXPIRED", true)
		w.did(t, c, 1, nil)
		// A client up to 0.0.59 locks a thread whose interrupt has expired, in itself; a fresh one does not know of it.
		if w.version == newest {
			c.goesOn(t, no)
		} else {
			c.another(t).goesOn(t, no)
		}
		w.effects(t, c, nil)
	})
}

// A question that there is no room for is not shown, and none that was shown gives way. When there is room it comes back.
func TestNoRoomForAQuestion(t *testing.T) {
	for _, b := range shared.backends[:2] {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			for _, version := range []string{newest, pinned, oldest} {
				t.Run("client-"+version, func(t *testing.T) {
					both(t, func(t *testing.T, next func(*client) *client) {
						w := world{b: b, h: ownHoldpoint(t, b.url(), map[string]string{"HOLDPOINT_STORE_ENTRIES": "1"}), version: version}
						first, second := w.paused(t, "approve", 1), w.client(t, "approve")
						second.refused(t, step{say: "go"}, "STORE_FULL", false)
						first.finish(t, first.answer(first.answers(accept), yes))
						w.effects(t, first, map[string]int{"delete": 1})
						next(second).recovers(t, no)
						w.effects(t, second, nil)
					})
				})
			}
		})
	}
}
