package storetest

import (
	"holdpoint/store"
)

func contestCases() []testCase {
	contest := func(x *fixture, k store.Key, pauseID string) {
		x.Helper()
		x.must(x.do(k, store.Contest{PauseID: pauseID}))
	}
	is := func(x *fixture, k store.Key, state store.State, want bool) {
		x.Helper()
		if rec := x.state(k, state, "p"); rec.Pause.Contested != want {
			x.Errorf("contested %v, want %v", rec.Pause.Contested, want)
		}
	}
	return []testCase{
		{name: "an open pause is contested from then on, and nothing else changes", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			before := x.load(k)
			is(x, k, store.Open, false)
			contest(x, k, "p")
			is(x, k, store.Open, true)
			after := x.load(k)
			if before.Pause.Contested {
				x.Error("a record that was loaded before has changed")
			}
			p := *after.Pause
			p.Contested = false
			after.Pause, after.Now = &p, before.Now
			x.same("the record", after, before)
		}},
		{name: "a lost reply: the same again changes nothing", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			contest(x, k, "p")
			contest(x, k, "p")
			is(x, k, store.Open, true)
		}},
		{name: "a claim, a renewal, a release and another run leave it so", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			contest(x, k, "p")
			x.claim(k, "p", "t", "d")
			is(x, k, store.Claimed, true)
			x.must(x.do(k, store.Renew{Token: "t", Lease: x.long}))
			x.must(x.do(k, store.Occupy{Token: "run", Lease: x.long}))
			x.must(x.do(k, store.Release{Token: "t"}))
			is(x, k, store.Open, true)
			x.want(store.ErrExists, x.do(k, store.Ask{Pause: pause("q")}))
			is(x, k, store.Open, true)
		}},
		{name: "a claimed pause is contested: it may be given back", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			contest(x, k, "p")
			x.must(x.do(k, store.Release{Token: "t"}))
			is(x, k, store.Open, true)
		}},
		{name: "what the resumed run asks is contested too", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			contest(x, k, "p")
			next := pause("q")
			x.finish(k, "t", result("r"), &next)
			if rec := x.state(k, store.Open, "q"); !rec.Pause.Contested || rec.Results[0].Pause.Contested {
				x.Errorf("the record is %s", asJSON(rec))
			}
		}},
		{name: "it ends with the pause", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			contest(x, k, "p")
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", result("r"), nil)
			x.open(k, pause("q"))
			rec := x.state(k, store.Open, "q")
			if rec.Pause.Contested {
				x.Errorf("the record is %s", asJSON(rec))
			}
			x.want(store.ErrNotFound, x.do(k, store.Contest{PauseID: "p"}))
			if rec := x.load(k); rec.Results[0].Pause == nil || rec.Results[0].Pause.Contested || rec.Pause.Contested {
				x.Errorf("the record is %s", asJSON(rec))
			}
		}},
		{name: "no pause, another pause and no id", run: func(x *fixture) {
			k := x.key("a")
			x.want(store.ErrNotFound, x.do(k, store.Contest{PauseID: "p"}))
			x.open(k, pause("p"))
			x.want(store.ErrNotFound, x.do(k, store.Contest{PauseID: "q"}))
			if _, err := x.Do(x.Context(), k, store.Contest{}); err == nil {
				x.Error("no error for a pause without an id")
			}
			is(x, k, store.Open, false)
		}},
	}
}
