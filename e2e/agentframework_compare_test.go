//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestAgentsOrdinaryRunIsUntouched: with every version, Holdpoint must forward a run without a
// question unchanged.
func TestAgentsOrdinaryRunIsUntouched(t *testing.T) {
	t.Parallel()
	untouched := func(t *testing.T, w world) {
		near, far := bare(t, w.b, w.version, "chat"), w.client(t, "chat")
		for _, said := range []string{"plain one", "hello", "plain ünd “two”"} {
			one, two := near.run(t, step{say: said}), far.run(t, step{say: said})
			if a, b := normal(one.answer(t).Text), normal(two.answer(t).Text); a != b {
				t.Errorf("direct and through Holdpoint differ:\n%s", difference(a, b))
			}
		}
		sameClient(t, near, far)
	}
	cells(t, func(w world) bool { return w.b.mode != "stored" }, untouched)
	t.Run(tooOld.version, func(t *testing.T) { untouched(t, agentWorld(shared.tooOld, newest)) })
}

// TestOneHoldpointFindsEachDialect: a Holdpoint whose only setting is the backend's address must
// recognize two frameworks in five versions, although it gets requests for them in turn.
func TestOneHoldpointFindsEachDialect(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				for _, s := range stacks {
					if strings.HasPrefix(s.framework, "strands") || s == tooOld {
						continue // TestEveryBackendInTurn tests the adapters of Strands
					}
					effect := "delete"
					if s.framework == "agentframework" {
						effect = "delete_file"
					}
					c := newClient(t, shared.through, version, shared.auto.address+"/"+s.version+"/default/approve", fresh("thread"), nil)
					c.pause(t, 1)
					c.finish(t, step{resume: c.answers(accept)})
					for _, b := range append(shared.backends, shared.agents...) {
						if b.mode == "default" && b.server.stack == s {
							if l := b.ledger(t, c.thread); l.Counts[effect] != 1 {
								t.Errorf("%s %s: side effects %v", s.framework, s.version, l.Counts)
							}
						}
					}
				}
			}
		})
	}
}
