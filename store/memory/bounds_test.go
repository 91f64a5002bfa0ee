package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// Whatever is called, the lists hold each record once, in its place, within the bounds, and count what it holds.
func TestListsAgreeWithRecords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Unix(1e9, 0)
		s := New(Options{
			Entries:        rapid.IntRange(1, 3).Draw(rt, "entries"),
			ReplayBytes:    rapid.SampledFrom([]int{1000, 4000, 1 << 20}).Draw(rt, "bytes"),
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
		// The errors are the contract's matter.
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) { s.check(rt) },
			"load": func(rt *rapid.T) {
				owner := rapid.SampledFrom([]string{"", "alice"}).Draw(rt, "owner")
				_, _ = s.Load(t.Context(), thread.Draw(rt, "key"), owner)
			},
			"open": func(rt *rapid.T) {
				n++
				p := agui.Pause{ID: fmt.Sprint("p", n), Interrupts: []agui.Interrupt{{ID: "i"}}}
				_ = s.Open(t.Context(), thread.Draw(rt, "key"), "alice", p)
			},
			"claim": func(rt *rapid.T) {
				k := thread.Draw(rt, "key")
				p, _ := current(k)
				_ = s.Claim(t.Context(), k, p, "t "+p, "d", 5*time.Second)
			},
			"finish": func(rt *rapid.T) {
				k := thread.Draw(rt, "key")
				_, token := current(k)
				r := store.Result{How: rapid.SampledFrom([]store.How{store.Finished, store.Doubtful}).Draw(rt, "how")}
				r.State = []byte(strings.Repeat("x", rapid.IntRange(0, 2000).Draw(rt, "size")))
				var next *agui.Pause
				if r.How == store.Finished && rapid.Bool().Draw(rt, "pauses again") {
					n++
					next = &agui.Pause{ID: fmt.Sprint("p", n)}
				}
				_ = s.Finish(t.Context(), k, token, r, next)
			},
			"close": func(rt *rapid.T) {
				k := thread.Draw(rt, "key")
				p, _ := current(k)
				_ = s.Close(t.Context(), k, p, store.Result{How: store.Withdrawn})
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
			bytes += size(r)
			if !r.Tombstone {
				replayable[resultRef{k, r.PauseID}] = true
			}
		}
	}
	if bytes != s.bytes {
		t.Fatalf("counted %d bytes, there are %d", s.bytes, bytes)
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
