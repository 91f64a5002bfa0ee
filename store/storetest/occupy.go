package storetest

import (
	"fmt"
	"time"

	"holdpoint/store"
)

func occupyCases() []testCase {
	occupy := func(x *fixture, k store.Key, token string, lease time.Duration) {
		x.Helper()
		x.must(x.do(k, store.Occupy{Token: token, Lease: lease}))
	}
	busy := func(x *fixture, k store.Key, want ...string) {
		x.Helper()
		var got []string
		for _, b := range x.load(k).Occupants {
			got = append(got, b.Token)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			x.Errorf("busy with %v, want %v", got, want)
		}
	}
	return []testCase{
		{name: "a run is noted until it says that it has ended", run: func(x *fixture) {
			k := x.key("a")
			occupy(x, k, "t1", x.long)
			occupy(x, k, "t2", x.long)
			busy(x, k, "t1", "t2")
			occupy(x, k, "t1", 0)
			busy(x, k, "t2")
			occupy(x, k, "t1", 0)
			occupy(x, k, "t2", -1)
			busy(x, k)
			x.same("the record", x.load(k), store.Record{Now: x.load(k).Now})
		}},
		{name: "a run that does not renew is forgotten", run: func(x *fixture) {
			k := x.key("a")
			occupy(x, k, "gone", x.lease)
			occupy(x, k, "there", x.long)
			x.clock.advance(x.lease)
			if x.ownClock {
				x.clock.advance(x.unit)
			}
			busy(x, k, "there")
			occupy(x, k, "gone", x.long) // its renewal was only late, so it must count again
			busy(x, k, "there", "gone")
		}},
		{name: "a record whose last run did not renew reads as none, forgotten or not", run: func(x *fixture) {
			k := x.key("a")
			occupy(x, k, "gone", x.lease)
			x.clock.advance(x.lease)
			if x.ownClock {
				x.clock.advance(x.unit)
			}
			rec := x.load(k)
			x.same("the record", rec, store.Record{Now: rec.Now})
		}},
		{name: "it stands beside everything else", run: func(x *fixture) {
			k := x.key("a")
			occupy(x, k, "t", x.long)
			x.must(x.do(k, store.Ask{Owner: "alice", Pause: pause("p")}))
			x.claim(k, "p", "c", "d")
			occupy(x, k, "t", x.long)
			x.must(x.do(k, store.Renew{Token: "c", Lease: x.long}))
			busy(x, k, "t")
			next := pause("q")
			x.finish(k, "c", result("r"), &next)
			busy(x, k, "t")
			occupy(x, k, "t", 0)
			rec := x.state(k, store.Open, "q")
			if rec.Owner != "alice" || len(rec.Results) != 1 || rec.Results[0].Messages == nil {
				x.Errorf("the record is %s", asJSON(rec))
			}
			x.close(k, "q", store.Withdrawn)
			occupy(x, k, "t", x.long)
			if rec := x.load(k); len(rec.Results) != 2 || rec.Owner != "alice" {
				x.Errorf("the record is %s", asJSON(rec))
			}
		}},
		{name: "there is a bound", run: func(x *fixture) {
			k := x.key("a")
			for i := range store.MaxBusy {
				occupy(x, k, fmt.Sprint("t", i), x.long)
			}
			x.want(store.ErrFull, x.do(k, store.Occupy{Token: "one more", Lease: x.long}))
			occupy(x, k, "t3", x.long)
			occupy(x, k, "t3", 0)
			occupy(x, k, "one more", x.long)
		}},
		{name: "a run without a token is no run", run: func(x *fixture) {
			if _, err := x.Do(x.Context(), x.key("a"), store.Occupy{Lease: x.long}); err == nil {
				x.Error("no error")
			}
		}},
	}
}
