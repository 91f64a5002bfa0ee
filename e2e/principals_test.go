//go:build e2e

package e2e

import (
	"sync"
	"testing"
)

// gated starts a Holdpoint in front of b that reads the principal (the user) from the header
// X-User. more has further environment variables.
func gated(t *testing.T, b *backend, more map[string]string) *holdpoint {
	t.Helper()
	env := map[string]string{
		"HOLDPOINT_PRINCIPAL_HEADER": "X-User", "HOLDPOINT_TRUSTED_PEERS": "127.0.0.0/8",
		"HOLDPOINT_PRINCIPAL_KEY": "0123456789abcdef0123456789abcdef",
	}
	for name, value := range more {
		env[name] = value
	}
	return ownHoldpoint(t, b.url(), env)
}

// as returns a client that sends this user in the header X-User. It uses the graph approve and the
// thread with this id.
func (w world) as(t *testing.T, user, thread string) *client {
	t.Helper()
	c := &client{d: shared.through, name: fresh("client"), version: w.version, url: w.h.address + "/approve", thread: thread, proxied: true}
	c.messages = []event{}
	c.d.call(t, "new", map[string]any{
		"client": c.name, "version": c.version, "url": c.url, "threadId": thread, "messages": c.messages,
		"headers": map[string]string{"X-User": user},
	}, &struct{}{})
	return c
}

// TestAnothersThread: Bob sends runs on Alice's paused thread, and then both send an answer.
// Alice's answer must be carried out once, and no request from Bob may reach the backend.
func TestAnothersThread(t *testing.T) {
	t.Parallel()
	for _, b := range shared.backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			h := gated(t, b, nil)
			for _, version := range []string{newest, pinned} {
				t.Run("client-"+version, func(t *testing.T) {
					w := world{b: b, h: h, version: version}
					thread := fresh("thread")
					alice, bob := w.as(t, "alice", thread), w.as(t, "bob", thread)
					alice.pause(t, 1)
					bob.refused(t, step{say: "go"}, "THREAD_FORBIDDEN", false)
					w.did(t, alice, 1, nil)
					id := alice.pending[0].str("id")
					var both sync.WaitGroup
					both.Go(func() { alice.finish(t, alice.answer(alice.answers(accept), yes)) })
					both.Go(func() {
						for _, answer := range []func(string) entry{accept, reject} {
							if a := bob.run(t, step{resume: []entry{answer(id)}, empty: true}).answer(t); a.code() != "UNKNOWN_INTERRUPT_ID" || a.outcome() != nil {
								t.Errorf("Bob's answer: %s", terminal(a))
							}
						}
					})
					both.Wait()
					bob.refused(t, step{say: "go", empty: true}, "THREAD_FORBIDDEN", false)
					w.did(t, alice, 2, map[string]int{"delete": 1})
					alice.goesOn(t, nil)
					w.effects(t, alice, map[string]int{"delete": 1})
				})
			}
		})
	}
}

// TestThreadsOfTwoPeople: with HOLDPOINT_THREAD_NAMESPACE=principal, two people use the same thread
// id. Each of them must have a separate thread.
func TestThreadsOfTwoPeople(t *testing.T) {
	t.Parallel()
	for _, b := range shared.backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := world{b: b, h: gated(t, b, map[string]string{"HOLDPOINT_THREAD_NAMESPACE": "principal"}), version: newest}
			thread := fresh("thread")
			alice, bob := w.as(t, "alice", thread), w.as(t, "bob", thread)
			alice.pause(t, 1)
			bob.pause(t, 1)
			if alice.pending[0].str("id") == bob.pending[0].str("id") {
				t.Error("both are asked one question")
			}
			bob.finish(t, bob.answer(bob.answers(reject), no))
			alice.finish(t, alice.answer(alice.answers(accept), yes))
			for _, c := range []*client{alice, bob} {
				c.goesOn(t, nil)
			}
			if l := b.ledger(t, thread); len(l.Runs) != 0 {
				t.Errorf("the backend knows the client's thread id: %+v", l.Runs)
			}
		})
	}
}
