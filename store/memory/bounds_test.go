package memory

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/internal/rules"
	"holdpoint/store/storetest"
)

// TestListsAgreeWithRecords: after any sequence of calls, each record must be in exactly the right
// list, the limits must hold, and the totals must equal the sizes of the records.
func TestListsAgreeWithRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1e9, 0)
		s := New(Options{
			Entries:        rapid.IntRange(1, 3).Draw(rt, "entries"),
			ReplayBytes:    rapid.SampledFrom([]int{1000, 4000, 1 << 20}).Draw(rt, "bytes"),
			Bytes:          rapid.SampledFrom([]int{8000, 1 << 20}).Draw(rt, "all"),
			Share:          rapid.SampledFrom([]int{0, 50}).Draw(rt, "share"),
			ReplayTTL:      10 * time.Second,
			PauseRetention: 30 * time.Second,
			Now:            func() time.Time { return now },
		})
		n := 0
		thread := rapid.Custom(func(rt *rapid.T) store.Key {
			return store.Key(fmt.Sprint("k", rapid.IntRange(0, 19).Draw(rt, "thread")))
		})
		current := func(k store.Key) (pauseID, token string) {
			if e, ok := s.peek(k); ok && e.rec.Pause != nil {
				return e.rec.Pause.ID, e.rec.Token
			}
			return "none", "none"
		}
		// The test ignores the errors of these calls, because the package storetest checks them.
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) { s.check(rt) },
			"load": func(rt *rapid.T) {
				owner := rapid.SampledFrom([]string{"", "alice"}).Draw(rt, "owner")
				_, _ = s.Load(t.Context(), thread.Draw(rt, "key"), owner)
			},
			"open": func(rt *rapid.T) {
				n++
				p := agui.Pause{ID: fmt.Sprint("p", n), Interrupts: []agui.Interrupt{{ID: "i"}}}
				p.AddressHash = rapid.Uint64Range(0, 2).Draw(rt, "from")
				p.Messages = []byte(strings.Repeat("x", rapid.IntRange(0, 2000).Draw(rt, "messages")))
				p.Private = []byte(strings.Repeat("x", rapid.IntRange(0, 2000).Draw(rt, "private")))
				_, _ = s.Do(t.Context(), thread.Draw(rt, "key"), store.Ask{Owner: "alice", Pause: p})
			},
			"claim": func(rt *rapid.T) {
				k := thread.Draw(rt, "key")
				p, _ := current(k)
				_, _ = s.Do(t.Context(), k, store.Claim{PauseID: p, Token: "t " + p, Digest: "d", Lease: 5 * time.Second})
			},
			"finish": func(rt *rapid.T) {
				k := thread.Draw(rt, "key")
				_, token := current(k)
				r := store.Result{EndKind: rapid.SampledFrom([]store.EndKind{store.Finished, store.Doubtful}).Draw(rt, "how")}
				r.State = []byte(strings.Repeat("x", rapid.IntRange(0, 2000).Draw(rt, "size")))
				var next *agui.Pause
				if r.EndKind == store.Finished && rapid.Bool().Draw(rt, "pauses again") {
					n++
					next = &agui.Pause{ID: fmt.Sprint("p", n)}
				}
				_, _ = s.Do(t.Context(), k, store.Finish{Token: token, Result: r, Next: next})
			},
			"close": func(rt *rapid.T) {
				k := thread.Draw(rt, "key")
				p, _ := current(k)
				_, _ = s.Do(t.Context(), k, store.Close{PauseID: p, Result: store.Result{EndKind: store.Withdrawn}})
			},
			"time": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 5, 10, 30}).Draw(rt, "seconds")) * time.Second)
			},
		})
	})
}

func (s *Store) check(t rapid.TB) {
	entries := map[store.Key]*entry{}
	add := func(k store.Key, e *entry, want class) {
		if entries[k] != nil || e.key != k || e.class != want || classify(&e.rec) != want {
			t.Fatalf("record %s of class %d in list %d", k, classify(&e.rec), want)
		}
		entries[k] = e
	}
	for k, e := range s.waiting {
		add(k, e, waiting)
	}
	for _, e := range s.ended.Values() {
		add(e.key, e, ended)
	}
	for _, e := range s.bare.Values() {
		add(e.key, e, bare)
	}
	bytes, replayable := 0, map[resultRef]bool{}
	for k, e := range entries {
		for _, r := range e.rec.Results {
			bytes += rules.BytesOfResult(r)
			if !r.Tombstone {
				replayable[resultRef{k, r.PauseID}] = true
			}
		}
	}
	if bytes != s.bytes {
		t.Fatalf("counted %d bytes, there are %d", s.bytes, bytes)
	}
	var waits portion
	snapshots, from := 0, map[uint64]portion{}
	for _, e := range entries {
		one := portionOf(e.rec.Pause, e.rec.Doubt)
		waits = waits.plus(one)
		if one.bytes > one.questions {
			snapshots++
			if !s.snapshots.Contains(e.key) {
				t.Fatalf("the snapshots of %s are not listed", e.key)
			}
		}
		if e.rec.Pause != nil && e.rec.Pause.AddressHash != 0 && s.share > 0 {
			from[e.rec.Pause.AddressHash] = from[e.rec.Pause.AddressHash].plus(one)
		}
	}
	switch {
	case waits != s.openSpace:
		t.Fatalf("counted %v, there are %v", s.openSpace, waits)
	case snapshots != s.snapshots.Len():
		t.Fatalf("%d snapshots are listed, there are %d", s.snapshots.Len(), snapshots)
	case !maps.Equal(from, s.spaceByAddress):
		t.Fatalf("shares are %v, want %v", s.spaceByAddress, from)
	case s.bytes+s.openSpace.bytes > s.totalBytes && len(replayable)+snapshots+s.bare.Len() > 0:
		t.Fatalf("%d bytes of results and %d of pauses, bound %d", s.bytes, s.openSpace.bytes, s.totalBytes)
	}
	if s.replayable.Len() != len(replayable) {
		t.Fatalf("%d replayable results are listed, there are %d", s.replayable.Len(), len(replayable))
	}
	var last time.Time
	for _, ref := range s.replayable.Keys() {
		if !replayable[ref] {
			t.Fatalf("%v is listed and cannot be replayed", ref)
		}
		for _, r := range entries[ref.key].rec.Results {
			if r.PauseID == ref.pauseID {
				if r.At.Before(last) {
					t.Fatalf("%v is listed after a younger one", ref)
				}
				last = r.At
			}
		}
	}
	switch {
	case len(s.waiting)+s.ended.Len() > s.entries:
		t.Fatalf("%d waiting and %d ended, bound %d", len(s.waiting), s.ended.Len(), s.entries)
	case s.bare.Len() > bareFactor*s.entries:
		t.Fatalf("%d bare, bound %d", s.bare.Len(), bareFactor*s.entries)
	case s.bytes > s.replayBytes && len(replayable)+s.bare.Len() > 0:
		t.Fatalf("%d bytes, bound %d", s.bytes, s.replayBytes)
	}
}

// TestCountedBytesAreThoseOfTheHeap: for every kind of record, the bytes that the store counts must
// equal the bytes on the heap within a factor.
func TestCountedBytesAreThoseOfTheHeap(t *testing.T) {
	text := func(n, size int) string { return fmt.Sprintf("%0*d", size, n) }
	for name, fill := range map[string]func(s *Store, n int) error{
		"small pauses": func(s *Store, n int) error {
			return storetest.Do(t.Context(), s, store.Key(text(n, 64)), store.Ask{Pause: agui.Pause{ID: text(n, 32), Interrupts: []agui.Interrupt{{ID: text(n, 40), Object: []byte(text(n, 200))}}}})
		},
		"many interrupts": func(s *Store, n int) error {
			p := agui.Pause{ID: text(n, 32)}
			for i := range 50 {
				p.Interrupts = append(p.Interrupts, agui.Interrupt{ID: text(i, 40), Native: text(n, 32), Object: []byte(text(n, 60)), Calls: []agui.AskedCall{{ID: text(n, 20), Name: text(n, 4), Args: text(n, 30)}}})
			}
			return storetest.Do(t.Context(), s, store.Key(text(n, 64)), store.Ask{Pause: p})
		},
		"many seen messages": func(s *Store, n int) error {
			p := agui.Pause{ID: text(n, 32)}
			for i := range 300 {
				p.SeenMessages = append(p.SeenMessages, agui.SeenMessage{ID: text(i, 36), Digest: text(n, 24)})
			}
			return storetest.Do(t.Context(), s, store.Key(text(n, 64)), store.Ask{Pause: p})
		},
		"snapshots": func(s *Store, n int) error {
			return storetest.Do(t.Context(), s, store.Key(text(n, 64)), store.Ask{Pause: agui.Pause{ID: text(n, 32), Messages: []byte(text(n, 20<<10)), State: []byte(text(n, 3000))}})
		},
		"results": func(s *Store, n int) error {
			k := store.Key(text(n, 64))
			_, _ = s.Do(t.Context(), k, store.Ask{Pause: agui.Pause{ID: text(n, 32), Interrupts: []agui.Interrupt{{ID: text(n, 40), Object: []byte(text(n, 200))}}}})
			_, _ = s.Do(t.Context(), k, store.Claim{PauseID: text(n, 32), Token: text(n, 32), Digest: text(n, 64), Lease: time.Minute})
			return storetest.Do(t.Context(), s, k, store.Finish{Token: text(n, 32), Result: store.Result{EndKind: store.Finished, Finish: []byte(text(n, 100)), Messages: []byte(text(n, 2000))}})
		},
	} {
		s := New(Options{Entries: 1 << 20, Bytes: 1 << 30, ReplayBytes: 1 << 30})
		before := heap()
		for n := range 1000 {
			if err := fill(s, n); err != nil {
				t.Fatal(name, err)
			}
		}
		got, counted := heap()-before, s.bytes+s.openSpace.bytes
		if ratio := float64(counted) / float64(got); ratio < 0.5 || ratio > 2 {
			t.Errorf("%s: %d bytes are counted, %d are there (%.2f)", name, counted, got, ratio)
		}
		runtime.KeepAlive(s)
	}
}

func heap() int {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestSize measures how many bytes of heap a thread takes.
func TestSize(t *testing.T) {
	s := New(Options{Entries: 1 << 20, Bytes: 1 << 30, ReplayBytes: 1 << 30})
	waiting, ended := storetest.Measure(t, s, 1000, func() int64 { return int64(heap()) })
	if waiting > 12_000 || ended > 20_000 {
		t.Errorf("a thread that waits takes %d bytes, and %d after its end", waiting, ended)
	}
	runtime.KeepAlive(s)
}
