package storetest

import (
	"context"
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
	with := func(x *fixture, ids ...string) context.Context {
		var list []store.Notice
		for _, id := range ids {
			list = append(list, notice(id))
		}
		return store.WithNotices(x.Context(), list...)
	}
	// has ends the test unless the thread has these to send.
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
	// listed are this test's threads that are due in d.
	listed := func(x *fixture, d time.Duration) (names []string) {
		x.Helper()
		q := store.Query{Due: x.clock.Now().Add(d), Limit: 3}
		for range 10_000 {
			page, err := x.Unsent(x.Context(), q)
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
	// soon is later than the engine's own clock can be by now.
	soon := 5 * time.Second
	take := func(x *fixture, k store.Key, want ...string) store.Taken {
		x.Helper()
		taken, err := x.Take(x.Context(), k, x.long)
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
			x.must(x.Open(with(x, "raised"), k, "alice", pause("p")))
			x.must(x.Claim(with(x, "claimed"), k, "p", "t", "d", x.long))
			x.must(x.Release(with(x, "released"), k, "t"))
			x.must(x.Claim(with(x, "claimed again"), k, "p", "t2", "d", x.long))
			x.must(x.Renew(x.Context(), k, "t2", x.long))
			next := pause("q")
			x.must(x.Finish(with(x, "resolved", "next"), k, "t2", result("r"), &next))
			x.must(x.Close(with(x, "withdrawn"), k, "q", store.Result{How: store.Withdrawn}))
			o := has(x, k, "raised", "claimed", "released", "claimed again", "resolved", "next", "withdrawn")
			if got, want := o.Notices[0], notice("raised"); string(got.Body) != string(want.Body) {
				x.Errorf("the body is %s, want %s", got.Body, want.Body)
			}
			x.near("At", o.Notices[6].At, x.clock.Now())
			wantListed(x, soon, "a")
		}},
		{name: "a step that fails, or that was done already, writes none", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.Open(with(x, "raised"), k, "", pause("p")))
			take(x, k, "raised")
			x.must(x.Sent(x.Context(), k, []string{"raised"}, 0, false))
			x.must(x.Open(with(x, "raised"), k, "", pause("p")))
			x.want(store.ErrExists, x.Open(with(x, "no"), k, "", pause("q")))
			x.want(store.ErrStale, x.Release(with(x, "no"), k, "t"))
			x.want(store.ErrNotFound, x.Close(with(x, "no"), k, "q", store.Result{How: store.Withdrawn}))
			has(x, k)
			wantListed(x, soon)
			x.claim(k, "p", "t", "d")
			x.must(x.Finish(with(x, "resolved"), k, "t", result("r"), nil))
			x.must(x.Finish(with(x, "other"), k, "t", result("r"), nil))
			has(x, k, "resolved")
		}},
		{name: "the same notice twice is one", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.must(x.Claim(with(x, "claimed"), k, "p", "t", "d", x.lease))
			x.clock.advance(x.unit)
			x.must(x.Claim(with(x, "claimed"), k, "p", "t", "d", x.long))
			has(x, k, "claimed")
		}},
		{name: "who takes them has them until the hold is over", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.Open(with(x, "one"), k, "", pause("p")))
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
			x.must(x.Finish(with(x, "two"), k, "t", result("r"), nil))
			take(x, k)
			x.must(x.Sent(x.Context(), k, nil, 0, true))
			if taken := take(x, k, "one", "two"); taken.Tries != 1 {
				x.Errorf("%d tries, want 1", taken.Tries)
			}
			x.must(x.Sent(x.Context(), k, []string{"one", "unknown"}, x.long, false))
			take(x, k)
			if o := has(x, k, "two"); o.Tries != 0 {
				x.Errorf("%d tries, want none after one was taken", o.Tries)
			}
			x.must(x.Sent(x.Context(), k, []string{"two"}, x.long, false))
			has(x, k)
			wantListed(x, x.long+soon)
			x.must(x.Sent(x.Context(), k, []string{"two"}, 0, true))
			has(x, k)
		}},
		{name: "one of many takes them", run: func(x *fixture) {
			k := x.key("a")
			x.must(x.Open(with(x, "one"), k, "", pause("p")))
			const takers = 8
			got := make(chan int, takers)
			for range takers {
				go func() {
					taken, err := x.Take(x.Context(), k, x.long)
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
			x.must(x.Sent(x.Context(), x.key("none"), []string{"one"}, 0, true))
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
			ctx := store.WithNotices(x.Context(), append(store.NoticesOf(with(x, want...)), large)...)
			x.must(x.Open(ctx, k, "", pause("p")))
			has(x, k, want[3:]...)
		}},
		{name: "after their age they are given up", exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.must(x.Open(with(x, "old"), k, "alice", pause("p")))
			x.clock.advance(store.NoticeAge - time.Nanosecond)
			x.must(x.Open(with(x, "new"), k, "alice", pause("q")))
			has(x, k, "old", "new")
			x.clock.advance(time.Nanosecond)
			has(x, k, "new")
			x.clock.advance(store.NoticeAge)
			has(x, k)
			wantListed(x, soon)
		}},
		{name: "the list is sorted by when they are due", run: func(x *fixture) {
			for _, name := range []string{"c", "a", "b", "d"} {
				x.must(x.Open(with(x, "one"), x.key(name), "", pause("p")))
				x.clock.advance(x.unit)
			}
			x.must(x.Sent(x.Context(), x.key("a"), nil, soon/2, true))
			wantListed(x, soon, "c", "b", "d", "a")
		}},
	}
}
