package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdpoint/store"
	"holdpoint/store/storetest"
)

// TestBytesOfTheTableCount: a load must use the bytes that the table has now, not a body that was
// decoded earlier. That must hold for changed bytes, for the bytes of another key, and for another
// revision.
func TestBytesOfTheTableCount(t *testing.T) {
	ring, err := ParseRing("k1:" + testKey(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []Ring{{}, ring} {
		u := newUnder(t, Options{Keys: keys})
		u.must(t, storetest.Do(t.Context(), u, "a", store.Ask{Pause: asking("p")}))
		u.must(t, storetest.Do(t.Context(), u, "b", store.Ask{Pause: asking("q")}))
		for range 2 {
			for key, id := range map[store.Key]string{"a": "p", "b": "q"} {
				rec, err := u.Load(t.Context(), key, "")
				u.must(t, err)
				if rec.Pause.ID != id {
					t.Errorf("%s has %q, want %q", key, rec.Pause.ID, id)
				}
			}
		}
		a, b := u.table.rows["a"], u.table.rows["b"]
		was := a.Body
		if !keys.Seals() {
			a.Body = bytes.ReplaceAll(was, []byte(`"p~1"`), []byte(`"r~1"`))
			rec, err := u.Load(t.Context(), "a", "")
			u.must(t, err)
			if rec.Pause.Interrupts[0].ID != "r~1" {
				t.Errorf("the store has r~1, and %q was loaded", rec.Pause.Interrupts[0].ID)
			}
			continue
		}
		for name, body := range map[string][]byte{"another thread's": b.Body, "cut": was[:len(was)-1], "none": nil} {
			a.Body = body
			if rec, err := u.Load(t.Context(), "a", ""); !errors.Is(err, store.ErrUnread) {
				t.Errorf("%s: %v, error %v", name, rec, err)
			}
		}
		// The store must not use a head of another revision with this body.
		a.Body = was
		var h head
		plain, err := keys.open(sealContext("a", "head"), a.Head)
		u.must(t, err)
		u.must(t, json.Unmarshal(plain, &h))
		h.Body++
		plain, err = encode(h)
		u.must(t, err)
		a.Head, err = keys.seal(sealContext("a", "head"), plain)
		u.must(t, err)
		if _, err := u.Load(t.Context(), "a", ""); !errors.Is(err, store.ErrUnread) {
			t.Errorf("a body of another revision: %v", err)
		}
	}
}

// TestKnownBodiesAreBounded: the number of decoded bodies in memory is bounded. Bodies that are
// used again must stay.
func TestKnownBodiesAreBounded(t *testing.T) {
	var k decodedBodies
	stored := make([]byte, knownBytes/16)
	for n := range 100 {
		k.put(store.Key(fmt.Sprint(n)), 1, stored, body{})
		if _, ok := k.get("0", 1, stored); !ok {
			t.Fatalf("%d: what was asked for each time is gone", n)
		}
		if total := len(k.now) + len(k.old); total > 2*16+1 {
			t.Fatalf("%d bodies", total)
		}
	}
	if _, ok := k.get("50", 1, stored); ok {
		t.Error("what nobody asked for is there")
	}
	k.put("large", 1, make([]byte, knownLargest+1), body{})
	if _, ok := k.get("large", 1, make([]byte, knownLargest+1)); ok {
		t.Error("a large one is kept")
	}
}

// TestKnownBodiesAreShared: concurrent steps share the same decoded bodies, so they must not write
// into them. The race detector would report it.
func TestKnownBodiesAreShared(t *testing.T) {
	u := newUnder(t, Options{})
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			for i := range 20 {
				id := fmt.Sprint(n, "-", i)
				if storetest.Do(t.Context(), u, "k", store.Ask{Pause: asking(id)}) == nil && storetest.Do(t.Context(), u, "k", store.Claim{PauseID: id, Token: "t" + id, Digest: "d", Lease: time.Hour}) == nil {
					_, _ = u.Do(t.Context(), "k", store.Finish{Token: "t" + id, Result: store.Result{EndKind: store.Finished, Finish: json.RawMessage(`{}`)}})
				}
				if rec, err := u.Load(t.Context(), "k", ""); err == nil {
					for _, r := range rec.Results {
						if r.Pause != nil {
							_ = r.Pause.Interrupt(r.PauseID + "~1")
						}
					}
				}
			}
		})
	}
	wait.Wait()
}

func BenchmarkRead(b *testing.B) {
	u := newUnder(b, Options{})
	for n := range store.MaxReplayable {
		id := fmt.Sprint(n)
		u.must(b, storetest.Do(b.Context(), u, "k", store.Ask{Pause: asking(id)}))
		u.must(b, storetest.Do(b.Context(), u, "k", store.Claim{PauseID: id, Token: "t" + id, Digest: "d", Lease: time.Hour}))
		u.must(b, storetest.Do(b.Context(), u, "k", store.Finish{Token: "t" + id, Result: store.Result{EndKind: store.Finished, Finish: json.RawMessage(`{}`)}}))
	}
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			if _, err := u.Load(b.Context(), "k", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			u.known = decodedBodies{}
			if _, err := u.Load(b.Context(), "k", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
}
