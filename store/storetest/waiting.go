package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

func waitingCases() []testCase {
	// list reads all pages, and returns the names and the rows of this test's threads.
	list := func(x *fixture, q store.Query) (names []string, rows []store.Row) {
		x.Helper()
		for range 10_000 {
			page, err := x.List(x.Context(), q)
			x.must(err)
			if q.Limit > 0 && len(page.Rows) > q.Limit {
				x.Fatalf("a page of %d, want at most %d", len(page.Rows), q.Limit)
			}
			for _, r := range page.Rows {
				if name, own := strings.CutPrefix(string(r.Key), x.prefix); own {
					names, rows = append(names, name), append(rows, r)
				}
			}
			if q.After = page.Next; q.After == "" {
				return names, rows
			}
		}
		x.Fatal("the pages have no end")
		return nil, nil
	}
	waiting := func(x *fixture, q store.Query, want ...string) []store.Row {
		x.Helper()
		names, rows := list(x, q)
		if fmt.Sprint(names) != fmt.Sprint(want) {
			x.Errorf("%v wait, want %v", names, want)
		}
		return rows
	}
	return []testCase{
		{name: "what waits is there, the longest waiting first, and nothing else", run: func(x *fixture) {
			for _, name := range []string{"c", "a", "b", "ended", "withdrawn"} {
				x.open(x.key(name), pause("p"))
				x.clock.advance(x.unit)
			}
			x.claim(x.key("a"), "p", "t", "d")
			x.claim(x.key("b"), "p", "t", "d")
			x.finish(x.key("b"), "t", store.Result{EndKind: store.Doubtful}, nil)
			x.claim(x.key("ended"), "p", "t", "d")
			x.finish(x.key("ended"), "t", result("r"), nil)
			x.close(x.key("withdrawn"), "p", store.Withdrawn)
			_, err := x.Load(x.Context(), x.key("owned"), "alice")
			x.must(err)
			rows := waiting(x, store.Query{}, "c", "a", "b")
			for _, r := range rows {
				rec := x.load(r.Key)
				x.near("Opened", r.Opened, rec.Pause.Opened.Truncate(time.Microsecond))
				if r.Due.Before(r.Opened) {
					x.Errorf("due at %v, opened at %v", r.Due, r.Opened)
				}
			}
		}},
		{name: "a pause that follows another waits from its own time on", run: func(x *fixture) {
			for _, name := range []string{"a", "b"} {
				x.open(x.key(name), pause("p"))
				x.clock.advance(x.unit)
			}
			x.claim(x.key("a"), "p", "t", "d")
			next := pause("q")
			x.finish(x.key("a"), "t", result("r"), &next)
			waiting(x, store.Query{}, "b", "a")
			x.clock.advance(x.unit)
			x.claim(x.key("b"), "p", "t", "d")
			x.must(x.do(x.key("b"), store.Release{Token: "t"}))
			waiting(x, store.Query{}, "b", "a")
		}},
		{name: "pages go on where the last one ended", run: func(x *fixture) {
			var want []string
			for i := range 7 {
				name := fmt.Sprint("thread", i)
				want = append(want, name)
				x.open(x.key(name), pause("p"))
				if i%3 == 0 { // the other threads are opened at the same time as the one before
					x.clock.advance(x.unit)
				}
			}
			for _, limit := range []int{1, 2, 3, 7, 100} {
				names, _ := list(x, store.Query{Limit: limit})
				slices.Sort(names)
				if fmt.Sprint(names) != fmt.Sprint(want) {
					x.Errorf("in pages of %d: %v, want %v", limit, names, want)
				}
			}
		}},
		{name: "what is due is found, and is never said to be due too late", run: func(x *fixture) {
			x.open(x.key("open"), pause("p"))
			x.open(x.key("renewed"), pause("p"))
			x.open(x.key("lapsed"), pause("p"))
			due := func(in time.Duration) store.Query { return store.Query{Due: x.clock.Now().Add(in)} }
			waiting(x, due(0))
			lease := 4 * x.unit
			if x.ownClock {
				lease = x.long / 4
			}
			x.must(x.do(x.key("lapsed"), store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: lease}))
			waiting(x, due(lease/2))
			waiting(x, due(lease+time.Second), "lapsed")
			x.must(x.do(x.key("renewed"), store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: lease}))
			x.must(x.do(x.key("renewed"), store.Renew{Token: "t", Lease: 2 * lease}))
			if names, _ := list(x, due(2*lease+time.Second)); !slices.Contains(names, "renewed") {
				x.Errorf("%v are due, and renewed is not among them", names)
			}
			if names, _ := list(x, due(x.retention+x.long+time.Second)); len(names) != 3 {
				x.Errorf("%v are due in the end, want all three", names)
			}
			for _, q := range []store.Query{due(lease + time.Second), {Due: x.clock.Now().Add(x.retention + x.long), Limit: 1}} {
				if _, rows := list(x, q); !slices.IsSortedFunc(rows, func(a, b store.Row) int { return a.Due.Compare(b.Due) }) {
					x.Errorf("not in the order in which they are due: %v", rows)
				}
			}
		}},
		{name: "the times of a row show whether its pause only waits", run: func(x *fixture) {
			for _, name := range []string{"open", "claimed", "doubt", "decided"} {
				x.open(x.key(name), pause("p"))
			}
			x.clock.advance(x.unit)
			for _, name := range []string{"claimed", "doubt"} {
				x.must(x.do(x.key(name), store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.retention / 2}))
			}
			x.finish(x.key("doubt"), "t", store.Result{EndKind: store.Doubtful}, nil)
			x.must(x.do(x.key("decided"), store.Decide{PauseID: "p", Decisions: []agui.Decision{decision("p~1", "d"), decision("p~2", "d")}}))
			names, rows := list(x, store.Query{})
			for n, r := range rows {
				if is, want := r.Due.Sub(r.Opened) == x.retention, names[n] == "open"; is != want {
					x.Errorf("%s is due %v after it was opened, and the retention is %v", names[n], r.Due.Sub(r.Opened), x.retention)
				}
			}
			if len(rows) != 4 {
				x.Errorf("%v wait, want all four", names)
			}
		}},
		{name: "what time has ended goes when somebody looks", elapses: true, run: func(x *fixture) {
			x.open(x.key("a"), pause("p"))
			x.clock.advance(x.retention)
			if x.ownClock {
				x.clock.advance(x.unit)
			}
			x.state(x.key("a"), store.None, "")
			waiting(x, store.Query{})
		}},
		{name: "a place that is none is an error", run: func(x *fixture) {
			if _, err := x.List(x.Context(), store.Query{After: "nonsense"}); err == nil {
				x.Error("no error")
			}
		}},
	}
}
