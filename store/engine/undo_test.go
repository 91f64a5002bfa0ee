package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
	"holdpoint/store/storetest"
)

// A slowTable is a mapTable for tests in which a claim fails, because the replicas do not confirm
// it. Then the store makes a change that undoes the claim. The slowTable delays this change until
// the caller has given up. The test applies the change later, or not at all.
type slowTable struct {
	*mapTable
	held func() (bool, error) // applies the delayed change; nil: there is none
}

func (s *slowTable) Write(ctx context.Context, key store.Key, c Change) (bool, error) {
	if c.Guard || !s.unguarded {
		return s.mapTable.Write(ctx, key, c)
	}
	s.held = func() (bool, error) { return s.mapTable.Write(context.Background(), key, c) }
	<-ctx.Done()
	return false, ctx.Err()
}

// TestUndoThatIsLate: a claim fails because the replicas do not confirm it. The store undoes it,
// but the change that does so is late. Meanwhile the caller makes the same claim again, and the
// replicas confirm it. The late change must not end this second claim.
func TestUndoThatIsLate(t *testing.T) {
	claim := store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}
	for name, arrives := range map[string]string{"before the same claim": "before", "between its read and its write": "between", "behind it": "behind"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := &slowTable{mapTable: newMapTable(time.Now)}
				slow.guards = true
				s := New(slow, Options{Sweep: -1})
				if err := storetest.Do(t.Context(), s, "k", store.Ask{Pause: asking("p")}); err != nil {
					t.Fatal(err)
				}
				slow.unguarded = true
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				if _, err := s.Do(ctx, "k", claim); !errors.Is(err, ErrNotGuarded) || time.Since(began) != time.Second {
					t.Fatalf("the claim got %v after %v", err, time.Since(began))
				}
				slow.unguarded = false
				late := func() {
					if _, err := slow.held(); err != nil {
						t.Error(err)
					}
				}
				switch arrives {
				case "before":
					late()
				case "between":
					slow.breaks = func() (before, behind bool) {
						slow.breaks = nil
						slow.mu.Unlock()
						defer slow.mu.Lock()
						late()
						return false, false
					}
				}
				if err := storetest.Do(t.Context(), s, "k", claim); err != nil {
					t.Fatal(err)
				}
				if arrives == "behind" {
					late()
				}
				if rec, err := s.Load(t.Context(), "k", ""); err != nil || rec.State != store.Claimed || rec.Token != "t" {
					t.Errorf("the claim that counts: %q, %v", rec.State, err)
				}
				if err := storetest.Do(t.Context(), s, "k", store.Claim{PauseID: "p", Token: "other", Digest: "d", Lease: time.Minute}); !errors.Is(err, store.ErrReplay) {
					t.Errorf("another claim got %v", err)
				}
			})
		})
	}
}
