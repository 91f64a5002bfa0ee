//go:build e2e

package e2e

import (
	"syscall"
	"testing"
	"time"
)

// TestAnExpiredQuestion: after its expiry, a question must accept only "cancelled". A new message
// must count as a cancel.
func TestAnExpiredQuestion(t *testing.T) {
	t.Parallel()
	optioned(t, map[string]string{"HOLDPOINT_INTERRUPT_TTL": "1s"}, func(t *testing.T, w world) {
		t.Parallel()
		c := w.paused(t, "approve", 1)
		approval := c.answer(c.answers(accept), yes)
		approval.empty = true       // otherwise a client from 0.0.54 on would not send it
		time.Sleep(7 * time.Second) // the expiry and the 5 seconds of grace must pass
		c.refused(t, approval, "INTERRUPT_EXPIRED", true)
		w.did(t, c, 1, nil)
		// A client up to 0.0.59 refuses further runs of a thread whose interrupt has expired. A new
		// client of the thread does not know the interrupt.
		if w.version == newest {
			c.goesOn(t, no)
		} else {
			c.another(t).goesOn(t, no)
		}
		w.effects(t, c, nil)
	})
}

// TestNoRoomForAQuestion: if the store has no room for a question, the question must not be shown.
// Nor may the store drop a question that was already shown. When there is room again, the question
// must be asked again.
func TestNoRoomForAQuestion(t *testing.T) {
	t.Parallel()
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

// TestASilentResume: the backend sends nothing during a run with an answer, so Holdpoint ends the
// client's stream. The action continues. When the same answer is sent again, it must get the end of
// the run.
func TestASilentResume(t *testing.T) {
	t.Parallel()
	optioned(t, map[string]string{"HOLDPOINT_STREAM_IDLE_TIMEOUT": "5s"}, func(t *testing.T, w world) {
		t.Parallel()
		c := w.paused(t, "approve", 1)
		gate := fresh("gate")
		held := map[string]any{"approved": true, "hold": gate}
		s := c.answer(c.answers(func(id string) entry { return resolved(id, held) }), held)
		c.refused(t, s, "UPSTREAM_IDLE", false)
		w.b.reached(t, gate)
		w.b.open(t, gate)
		s.empty = true
		c.finish(t, s)
		w.did(t, c, 2, map[string]int{"delete": 1})
		c.goesOn(t, nil)
	})
}

// TestAShutdownInMidResume: Holdpoint is shut down during a run with an answer. The client's stream
// must get a proper end. With another Holdpoint, the thread must continue.
func TestAShutdownInMidResume(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest, oldest} {
		t.Run("client-"+version, func(t *testing.T) {
			t.Parallel()
			b := shared.backends[1]
			w := world{b: b, h: ownHoldpoint(t, b.url(), nil), version: version}
			c := w.paused(t, "approve", 1)
			gate := fresh("gate")
			held := map[string]any{"approved": true, "hold": gate}
			done := c.start(t, c.answer(c.answers(func(id string) entry { return resolved(id, held) }), held))
			w.b.reached(t, gate)
			if err := syscall.Kill(-w.h.cmd.Process.Pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if a := (<-done).answer(t); a.code() != "PROXY_DRAINING" {
				t.Errorf("told %s", terminal(a))
			}
			w.b.open(t, gate)
			after := ownHoldpoint(t, b.url(), nil)
			c.d.call(t, "new", map[string]any{"client": c.name, "version": version, "url": after.address + "/approve", "threadId": c.thread, "messages": c.messages}, &struct{}{})
			c.pending, c.asked = nil, false
			c.recovers(t, yes) // the backend may ask again; it still has the approval
		})
	}
}
