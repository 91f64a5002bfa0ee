package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdpoint/store"
)

func outboxCases() []testCase {
	notice := func(id string) store.Notice {
		return store.Notice{ID: id, Body: json.RawMessage(`{"n":"<&>"}`)}
	}
	with := func(ids ...string) (list []store.Notice) {
		for _, id := range ids {
			list = append(list, notice(id))
		}
		return list
	}
	// has ends the test unless the notices to send of the thread have these ids, in this order.
	has := func(x *fixture, k store.Key, want ...string) *store.Outbox {
		x.Helper()
		rec := x.load(k)
		var ids []string
		if rec.Outbox != nil {
			for _, n := range rec.Outbox.Notices {
				ids = append(ids, n.ID)
			}
		}
		if fmt.Sprint(ids) != fmt.Sprint(want) {
			x.Fatalf("%v are to be sent, want %v", ids, want)
		}
		return rec.Outbox
	}
	// listed returns the names of this test's threads whose notices are due within d.
	listed := func(x *fixture, d time.Duration) (names []string) {
		x.Helper()
		q := store.Query{WithNotices: true, Due: x.clock.Now().Add(d), Limit: 3}
		for range 10_000 {
			page, err := x.List(x.Context(), q)
			x.must(err)
			for _, r := range page.Rows {
				if name, own := strings.CutPrefix(string(r.Key), x.prefix); own {
					names = append(names, name)
				}
			}
			if q.After = page.Next; q.After == "" {
				return names
			}
		}
		x.Fatal("the pages have no end")
		return nil
	}
	wantListed := func(x *fixture, d time.Duration, want ...string) {
		x.Helper()
		if names := listed(x, d); fmt.Sprint(names) != fmt.Sprint(want) {
			x.Fatalf("%v are listed, want %v", names, want)
		}
	}
	// An engine's own clock can be ahead of the test's by less than soon.
	soon := 5 * time.Second
	take := func(x *fixture, k store.Key, want ...string) store.StepResult {
		x.Helper()
		taken, err := x.Do(x.Context(), k, store.Take{Hold: x.long})
		x.must(err)
		var ids []string
		for _, n := range taken.Notices {
			ids = append(ids, n.ID)
		}
		if fmt.Sprint(ids) != fmt.Sprint(want) {
			x.Fatalf("took %v, want %v", ids, want)
		}
		return taken
	}
	return []testCase{
		{name: "each step writes its notices, and they outlive the pause", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("p"), Notices: with("raised")}))
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long, Notices: with("claimed")}))
			x.must(x.do(k, store.Release{Token: "t", Notices: with("released")}))
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t2", Digest: "d", Lease: x.long, Notices: with("claimed again")}))
			x.must(x.do(k, store.Renew{Token: "t2", Lease: x.long}))
			next := pause("q")
			x.must(x.do(k, store.Finish{Token: "t2", Result: result("r"), Next: &next, Notices: with("resolved", "next")}))
			x.must(x.do(k, store.Close{PauseID: "q", Result: store.Result{EndKind: store.Withdrawn}, Notices: with("withdrawn")}))
			o := has(x, k, "raised", "claimed", "released", "claimed again", "resolved", "next", "withdrawn")
			if got, want := o.Notices[0], notice("raised"); string(got.Body) != string(want.Body) {
				x.Errorf("the body is %s, want %s", got.Body, want.Body)
			}
			x.near("At", o.Notices[6].At, x.clock.Now())
			wantListed(x, soon, "a")
		}},
		{name: "a step that fails, or that was done already, writes none", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Pause: pause("p"), Notices: with("raised")}))
			take(x, k, "raised")
			x.must(x.do(k, store.Sent{IDs: []string{"raised"}}))
			x.must(x.do(k, store.Ask{Pause: pause("p"), Notices: with("raised")}))
			x.want(store.ErrExists, x.do(k, store.Ask{Pause: pause("q"), Notices: with("no")}))
			x.want(store.ErrStale, x.do(k, store.Release{Token: "t", Notices: with("no")}))
			x.want(store.ErrNotFound, x.do(k, store.Close{PauseID: "q", Result: store.Result{EndKind: store.Withdrawn}, Notices: with("no")}))
			has(x, k)
			wantListed(x, soon)
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Finish{Token: "t", Result: result("r"), Notices: with("resolved")}))
			x.must(x.do(k, store.Finish{Token: "t", Result: result("r"), Notices: with("other")}))
			has(x, k, "resolved")
		}},
		{name: "the same notice twice is one", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.lease, Notices: with("claimed")}))
			x.clock.advance(x.unit)
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long, Notices: with("claimed")}))
			has(x, k, "claimed")
		}},
		{name: "who takes them has them until the hold is over", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Pause: pause("p"), Notices: with("one")}))
			wantListed(x, soon, "a")
			if taken := take(x, k, "one"); taken.Tries != 0 {
				x.Errorf("%d tries, want none", taken.Tries)
			}
			take(x, k)
			if !x.ownClock {
				wantListed(x, 0)
			}
			wantListed(x, x.long+soon, "a")
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Finish{Token: "t", Result: result("r"), Notices: with("two")}))
			take(x, k)
			x.must(x.do(k, store.Sent{Failed: true}))
			if taken := take(x, k, "one", "two"); taken.Tries != 1 {
				x.Errorf("%d tries, want 1", taken.Tries)
			}
			x.must(x.do(k, store.Sent{IDs: []string{"one", "unknown"}, Wait: x.long}))
			take(x, k)
			if o := has(x, k, "two"); o.Tries != 0 {
				x.Errorf("%d tries, want none after one was taken", o.Tries)
			}
			x.must(x.do(k, store.Sent{IDs: []string{"two"}, Wait: x.long}))
			has(x, k)
			wantListed(x, x.long+soon)
			x.must(x.do(k, store.Sent{IDs: []string{"two"}, Failed: true}))
			has(x, k)
		}},
		{name: "one of many takes them", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Pause: pause("p"), Notices: with("one")}))
			const takers = 8
			got := make(chan int, takers)
			for range takers {
				go func() {
					taken, err := x.Do(x.Context(), k, store.Take{Hold: x.long})
					if err != nil {
						x.Error(err)
					}
					got <- len(taken.Notices)
				}()
			}
			sum := 0
			for range takers {
				sum += <-got
			}
			if sum != 1 {
				x.Errorf("%d took them, want 1", sum)
			}
		}},
		{name: "nothing is taken where there is nothing", run: func(x *fixture) {
			take(x, x.key("none"))
			x.must(x.do(x.key("none"), store.Sent{IDs: []string{"one"}, Failed: true}))
			if rec := x.load(x.key("none")); rec.Version != 0 {
				x.Error("a record was made")
			}
		}},
		{name: "too many, and too large ones, are given up", run: func(x *fixture) {
			k := x.key("a")
			var want []string
			for n := range store.MaxNotices + 3 {
				want = append(want, fmt.Sprint("n", n))
			}
			large := notice("large")
			large.Body = json.RawMessage(`"` + strings.Repeat("x", store.MaxNoticeBytes) + `"`)
			list := append(with(want...), large)
			x.must(x.do(k, store.Ask{Pause: pause("p"), Notices: list}))
			has(x, k, want[3:]...)
		}},
		{name: "after their age they are given up", exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("p"), Notices: with("old")}))
			x.clock.advance(store.NoticeAge - time.Nanosecond)
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("q"), Notices: with("new")}))
			has(x, k, "old", "new")
			x.clock.advance(time.Nanosecond)
			has(x, k, "new")
			x.clock.advance(store.NoticeAge)
			has(x, k)
			wantListed(x, soon)
		}},
		{name: "the list is sorted by when they are due", run: func(x *fixture) {
			for _, name := range []string{"c", "a", "b", "d"} {
				x.must(x.do(x.key(name), store.Ask{Pause: pause("p"), Notices: with("one")}))
				x.clock.advance(x.unit)
			}
			x.must(x.do(x.key("a"), store.Sent{Wait: soon / 2, Failed: true}))
			wantListed(x, soon, "c", "b", "d", "a")
		}},
	}
}
