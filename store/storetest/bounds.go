package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

func boundCases() []testCase {
	// fill opens pauses in as many threads as the store may hold. The first four are open, claimed,
	// and twice in doubt: by a lapsed lease and by Finish.
	fill := func(x *fixture) []store.Key {
		x.Helper()
		var keys []store.Key
		for i := range x.opts.Entries {
			k := x.key(fmt.Sprint("full", i))
			x.must(x.do(k, store.Ask{Owner: "owner", Pause: pause("p")}))
			keys = append(keys, k)
		}
		x.claim(keys[1], "p", "t", "d")
		x.lapse(keys[2], "p", "t", "d")
		x.claim(keys[3], "p", "t", "d")
		x.finish(keys[3], "t", store.Result{EndKind: store.Doubtful}, nil)
		return keys
	}
	// intact checks that the pauses that fill opened are still open, with the state that fill gave
	// them.
	intact := func(x *fixture, keys []store.Key) {
		x.Helper()
		for i, k := range keys {
			want := []store.State{store.Open, store.Claimed, store.InDoubt, store.InDoubt}
			s := store.Open
			if i < len(want) {
				s = want[i]
			}
			if rec := x.state(k, s, "p"); rec.Owner != "owner" {
				x.Errorf("owner %q", rec.Owner)
			}
		}
	}
	return []testCase{
		{name: "full of pauses, a further one is refused and none is evicted", entries: 5, run: func(x *fixture) {
			keys := fill(x)
			for i := range 20 {
				x.want(store.ErrFull, x.do(x.key(fmt.Sprint("more", i)), store.Ask{Pause: pause("p")}))
			}
			intact(x, keys)
		}},
		{name: "a refused pause leaves no trace", entries: 5, run: func(x *fixture) {
			x.end(x.key("ended"), pause("p"))
			fill(x)
			before := x.load(x.key("ended"))
			x.want(store.ErrFull, x.do(x.key("ended"), store.Ask{Owner: "owner", Pause: pause("q")}))
			x.want(store.ErrFull, x.do(x.key("new"), store.Ask{Owner: "owner", Pause: pause("q")}))
			x.same("the ended thread", x.load(x.key("ended")), before)
			x.same("the new thread", x.load(x.key("new")), store.Record{})
		}},
		{name: "another's thread is said to be another's, full or not", entries: 5, run: func(x *fixture) {
			_, err := x.Load(x.Context(), x.key("a"), "alice")
			x.must(err)
			fill(x)
			x.want(store.ErrOwner, x.do(x.key("a"), store.Ask{Owner: "bob", Pause: pause("p")}))
		}},
		{name: "a pause that ends makes room", entries: 5, run: func(x *fixture) {
			keys := fill(x)
			x.finish(keys[1], "t", result("r"), nil)
			x.open(x.key("b"), pause("p"))
			x.want(store.ErrFull, x.do(x.key("c"), store.Ask{Pause: pause("p")}))
			x.close(keys[0], "p", store.Withdrawn)
			x.open(x.key("c"), pause("p"))
			x.want(store.ErrFull, x.do(x.key("d"), store.Ask{Pause: pause("p")}))
			x.close(keys[2], "p", store.Doubtful)
			x.open(x.key("d"), pause("p"))
		}},
		{name: "what takes the place of a pause needs no room", entries: 5, run: func(x *fixture) {
			keys := fill(x)
			next := pause("q")
			x.finish(keys[1], "t", result("r"), &next)
			x.must(x.do(keys[2], store.Ask{Owner: "owner", Pause: pause("q")}))
			x.must(x.do(keys[3], store.Ask{Owner: "owner", Pause: pause("q")}))
			// the same Ask again, as if its reply was lost
			x.must(x.do(keys[0], store.Ask{Owner: "owner", Pause: pause("p")}))
			x.want(store.ErrFull, x.do(x.key("more"), store.Ask{Pause: pause("p")}))
		}},
		{name: "a full store still takes the answers", entries: 5, run: func(x *fixture) {
			keys := fill(x)
			x.claim(keys[0], "p", "t0", "d")
			x.must(x.do(keys[0], store.Renew{Token: "t0", Lease: x.long}))
			x.must(x.do(keys[0], store.Release{Token: "t0"}))
			x.claim(keys[0], "p", "t1", "d")
			x.finish(keys[0], "t1", result("r"), nil)
		}},
		{name: "a full store still gives threads to owners", entries: 5, run: func(x *fixture) {
			keys := fill(x)
			for range 2 {
				rec, err := x.Load(x.Context(), x.key("new"), "alice")
				x.must(err)
				x.same("the owner", rec.Owner, "alice")
			}
			rec, err := x.Load(x.Context(), x.key("new"), "bob")
			x.must(err)
			x.same("the owner", rec.Owner, "alice")
			intact(x, keys)
		}},
		{name: "no flood of threads evicts a pause", entries: 5, run: func(x *fixture) {
			keys := fill(x)
			for i := range 100 * x.opts.Entries {
				_, err := x.Load(x.Context(), x.key(fmt.Sprint("flood", i)), "stranger")
				x.must(err)
			}
			intact(x, keys)
		}},
		{name: "a flood of threads does not evict what can be replayed", entries: 5, run: func(x *fixture) {
			x.end(x.key("a"), pause("p"))
			for i := range 100 * x.opts.Entries {
				_, err := x.Load(x.Context(), x.key(fmt.Sprint("flood", i)), "stranger")
				x.must(err)
			}
			if got := x.load(x.key("a")).Results; len(got) != 1 || got[0].Tombstone {
				x.Errorf("results %s", asJSON(got))
			}
		}},
		{name: "retention makes room in a full store, looked at or not", entries: 5, elapses: true, run: func(x *fixture) {
			keys := fill(x)
			x.want(store.ErrFull, x.do(x.key("new"), store.Ask{Pause: pause("p")}))
			x.clock.advance(x.retention + x.unit)
			x.open(x.key("new"), pause("p"))
			for i, want := range []store.EndKind{store.Retired, "", store.Doubtful, store.Doubtful, store.Retired} {
				rec := x.load(keys[i])
				switch {
				case want == "":
					if rec.State != store.Claimed {
						x.Errorf("pause %d is %q", i, rec.State)
					}
				case rec.State != store.None || rec.Results[0].EndKind != want:
					x.Errorf("pause %d is %q, results %s", i, rec.State, asJSON(rec.Results))
				}
			}
		}},
		{name: "a released pause past the retention makes room too", entries: 1, elapses: true, run: func(x *fixture) {
			x.open(x.key("a"), pause("p"))
			x.claim(x.key("a"), "p", "t", "d")
			x.clock.advance(x.retention + x.unit)
			x.want(store.ErrFull, x.do(x.key("b"), store.Ask{Pause: pause("p")}))
			x.must(x.do(x.key("a"), store.Release{Token: "t"}))
			x.open(x.key("b"), pause("p"))
		}},
		{name: "the thread used least recently loses its replay first, and keeps its owner and ids", entries: 3, run: func(x *fixture) {
			a, b, c := x.key("a"), x.key("b"), x.key("c")
			for _, k := range []store.Key{a, b, c} {
				_, err := x.Load(x.Context(), k, "owner")
				x.must(err)
				x.must(x.do(k, store.Ask{Owner: "owner", Pause: pause("p")}))
				x.close(k, "p", store.Withdrawn)
			}
			x.load(a) // now b is the thread that was not loaded for longest
			before := x.load(b).Results
			x.load(c)
			x.load(a)
			x.open(x.key("d"), pause("p"))
			for k, buried := range map[store.Key]bool{a: false, b: true, c: false} {
				rec := x.load(k)
				if len(rec.Results) != 1 || rec.Results[0].Tombstone != buried || rec.Owner != "owner" {
					x.Errorf("%s: %s", k, asJSON(rec))
				}
			}
			x.same("the tombstone", x.load(b).Results, []*store.Result{tombstone(before[0])})
		}},
		{name: "over the bytes the oldest results become tombstones", bytes: 64 << 10, run: func(x *fixture) {
			big := result("r")
			big.Messages = json.RawMessage(`["` + strings.Repeat("x", 20<<10) + `"]`)
			waiting := x.key("waiting")
			x.open(waiting, pause("p0"))
			x.claim(waiting, "p0", "t", "d")
			next := pause("next")
			x.finish(waiting, "t", big, &next)
			var keys []store.Key
			for i := range 6 {
				k := x.key(fmt.Sprint(i))
				x.open(k, pause("p"))
				x.claim(k, "p", "t", "d")
				x.finish(k, "t", big, nil)
				keys = append(keys, k)
			}
			if rec := x.state(waiting, store.Open, "next"); !rec.Results[0].Tombstone {
				x.Error("the oldest can still be replayed, in a thread that waits")
			}
			kept := 0
			for i, k := range keys {
				r := x.load(k).Results[0]
				switch {
				case !r.Tombstone:
					kept++
				case kept > 0:
					x.Errorf("result %d is a tombstone, an older one is not", i)
				}
			}
			if kept == 0 || kept > 3 {
				x.Errorf("%d results of 20 KiB kept within 64 KiB", kept)
			}
		}},
		{name: "a result larger than the bound still ends its pause, once", bytes: 4 << 10, run: func(x *fixture) {
			k := x.key("a")
			big := result("r")
			big.State = json.RawMessage(`["` + strings.Repeat("x", 20<<10) + `"]`)
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			next := pause("q")
			x.finish(k, "t", big, &next)
			rec := x.state(k, store.Open, "q")
			if !rec.Results[0].Tombstone {
				x.Error("the result can still be replayed")
			}
			x.finish(k, "t", big, &next) // the same Finish again, as if its reply was lost
			x.state(k, store.Open, "q")
		}},
		{name: "pauses do not count as results", bytes: 4 << 10, run: func(x *fixture) {
			k := x.key("a")
			p := pause("p")
			p.Messages = json.RawMessage(`["` + strings.Repeat("x", 20<<10) + `"]`)
			x.open(k, p)
			rec := x.state(k, store.Open, "p")
			x.same("Messages", rec.Pause.Messages, p.Messages)
		}},
		{name: "full of bytes, a further pause is refused and none is evicted", all: 64 << 10, run: func(x *fixture) {
			open := 0
			for ; open < 20; open++ {
				_, err := x.Do(x.Context(), x.key(fmt.Sprint(open)), store.Ask{Pause: heavy("p", 10<<10)})
				if err != nil {
					x.want(store.ErrFull, err)
					break
				}
			}
			if open < 3 || open > 6 {
				x.Fatalf("%d pauses of 10 KiB within 64 KiB", open)
			}
			for range 3 {
				x.want(store.ErrFull, x.do(x.key("more"), store.Ask{Pause: heavy("p", 10<<10)}))
			}
			for i := range open {
				rec := x.state(x.key(fmt.Sprint(i)), store.Open, "p")
				x.same("Private", rec.Pause.Private, heavy("p", 10<<10).Private)
			}
			x.close(x.key("0"), "p", store.Withdrawn)
			x.must(x.do(x.key("more"), store.Ask{Pause: heavy("p", 10<<10)}))
		}},
		{name: "snapshots go before a pause is refused, the oldest first", all: 256 << 10, run: func(x *fixture) {
			for i := range 8 {
				p := pause("p")
				p.Messages = json.RawMessage(`["` + strings.Repeat("x", 60<<10) + `"]`)
				x.open(x.key(fmt.Sprint(i)), p)
			}
			kept := 0
			for i := range 8 {
				p := *x.state(x.key(fmt.Sprint(i)), store.Open, "p").Pause
				switch {
				case p.LacksSnapshots && (p.Messages != nil || p.State != nil):
					x.Errorf("pause %d is stripped and has snapshots", i)
				case !p.LacksSnapshots && (p.Messages == nil || p.State == nil):
					x.Errorf("pause %d lost snapshots and does not say so", i)
				case !p.LacksSnapshots:
					kept++
				case kept > 0:
					x.Errorf("pause %d lost its snapshots, an older one did not", i)
				}
				p.Messages, p.State, p.LacksSnapshots, p.Opened = nil, nil, false, time.Time{}
				want := pause("p")
				want.Messages, want.State = nil, nil
				x.same("the rest", p, want)
			}
			if kept < 2 || kept > 4 {
				x.Errorf("%d snapshots of 60 KiB kept within 256 KiB", kept)
			}
		}},
		{name: "results go before the snapshots of what waits", all: 256 << 10, run: func(x *fixture) {
			big := result("r")
			big.Messages = json.RawMessage(`["` + strings.Repeat("x", 60<<10) + `"]`)
			for i := range 3 {
				k := x.key(fmt.Sprint("ended", i))
				x.open(k, pause("p"))
				x.claim(k, "p", "t", "d")
				x.finish(k, "t", big, nil)
			}
			for i := range 3 {
				p := pause("p")
				p.Messages = big.Messages
				x.open(x.key(fmt.Sprint(i)), p)
			}
			for i := range 3 {
				if x.load(x.key(fmt.Sprint(i))).Pause.LacksSnapshots {
					x.Errorf("pause %d lost its snapshots", i)
				}
			}
			if !x.load(x.key("ended0")).Results[0].Tombstone {
				x.Error("the oldest result is kept")
			}
		}},
		{name: "what a resumed run asks next is taken, however full the store is of bytes", all: 64 << 10, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			for i := 0; x.do(x.key(fmt.Sprint(i)), store.Ask{Pause: heavy("p", 10<<10)}) == nil; i++ {
			}
			x.claim(k, "p", "t", "d")
			next := heavy("next", 100<<10)
			x.finish(k, "t", result("r"), &next)
			x.same("Private", x.state(k, store.Open, "next").Pause.Private, next.Private)
		}},
		{name: "pauses from one address have their share of the places", entries: 10, all: 1 << 30, share: 30, run: func(x *fixture) {
			from := func(address uint64, name string) error {
				p := pause("p")
				p.AddressHash = address
				return x.do(x.key(name), store.Ask{Pause: p})
			}
			for _, name := range []string{"a", "b", "c"} {
				x.must(from(1, name))
			}
			x.want(store.ErrShare, from(1, "d"))
			x.must(from(1, "a")) // the same Ask again, as if its reply was lost
			x.must(from(2, "d"))
			x.must(from(0, "e"))
			x.claim(x.key("a"), "p", "t", "d")
			next := pause("next")
			next.AddressHash = 1
			x.finish(x.key("a"), "t", result("r"), &next)
			x.want(store.ErrShare, from(1, "f"))
			x.close(x.key("b"), "p", store.Withdrawn)
			x.must(from(1, "f"))
			for _, name := range []string{"g", "h", "i", "j", "k"} {
				_ = from(0, name)
			}
			x.want(store.ErrFull, from(3, "l"))
		}},
		{name: "and of the bytes", entries: 100, all: 100 << 10, share: 20, run: func(x *fixture) {
			p := heavy("p", 8<<10)
			p.AddressHash = 1
			x.must(x.do(x.key("a"), store.Ask{Pause: p}))
			for _, name := range []string{"b", "c", "d"} {
				if _, err := x.Do(x.Context(), x.key(name), store.Ask{Pause: p}); err != nil {
					x.want(store.ErrShare, err)
					p.AddressHash = 2
					x.must(x.do(x.key(name), store.Ask{Pause: p}))
					return
				}
			}
			x.Error("32 KiB of 20")
		}},
	}
}

// heavy returns a pause of the given number of bytes. It has no large snapshots, so the store
// cannot make it smaller by dropping them.
func heavy(id string, bytes int) agui.Pause {
	p := pause(id)
	p.Private = json.RawMessage(`"` + strings.Repeat("x", bytes) + `"`)
	return p
}
