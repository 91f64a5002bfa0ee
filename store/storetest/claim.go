package storetest

import (
	"holdpoint/store"
)

func claimCases() []testCase {
	return []testCase{
		{name: "a claim is in the record until its lease has lapsed", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			opened := x.load(k).Pause.Opened
			x.claim(k, "p", "t", "d")
			rec := x.state(k, store.Claimed, "p")
			if rec.Token != "t" || rec.Digest != "d" || !rec.Pause.Opened.Equal(opened) {
				x.Errorf("got %s", asJSON(rec))
			}
			x.near("Lease", rec.Lease, x.clock.Now().Add(x.long))
		}},
		{name: "a lapsed lease reads as in doubt, with its claim", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			if rec := x.state(k, store.InDoubt, "p"); rec.Token != "t" || rec.Digest != "d" || rec.Doubt != nil {
				x.Errorf("got %s", asJSON(rec))
			}
		}},
		{name: "a lease has lapsed at its end, not before", exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.lease}))
			x.clock.advance(x.lease - 1)
			x.state(k, store.Claimed, "p")
			x.clock.advance(1)
			x.state(k, store.InDoubt, "p")
		}},
		{name: "a lost reply: the same claim again has a new lease", exact: true, run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.lease}))
			x.clock.advance(x.lease - 1)
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.lease}))
			x.clock.advance(x.lease - 1)
			x.state(k, store.Claimed, "p")
		}},
		{name: "the same claim again after the lease lapsed is still the claim", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.claim(k, "p", "t", "d")
			x.state(k, store.Claimed, "p")
		}},
		{name: "the same token with other answers is a conflict", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.want(store.ErrConflict, x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "others", Lease: x.long}))
		}},
		{name: "a renewed claim lives on", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.lease}))
			x.must(x.do(k, store.Renew{Token: "t", Lease: x.long}))
			x.clock.advance(x.lease)
			rec := x.state(k, store.Claimed, "p")
			x.near("Lease", rec.Lease, x.clock.Now().Add(x.long-x.lease))
		}},
		{name: "a renewal may shorten the lease", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Renew{Token: "t", Lease: x.lease}))
			x.clock.advance(x.lease)
			x.state(k, store.InDoubt, "p")
		}},
		{name: "a lapsed lease that nobody has acted upon is renewed", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.must(x.do(k, store.Renew{Token: "t", Lease: x.long}))
			x.state(k, store.Claimed, "p")
		}},
		{name: "a released pause is as it was opened", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			before := x.load(k)
			x.clock.advance(x.unit)
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Release{Token: "t"}))
			rec := x.load(k)
			rec.Token = "" // the record may still name the released claim
			x.same("the record", rec, before)
		}},
		{name: "a released pause is claimed by whoever comes next", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.must(x.do(k, store.Release{Token: "t"}))
			x.claim(k, "p", "t2", "others")
			x.want(store.ErrReplay, x.do(k, store.Claim{PauseID: "p", Token: "t3", Digest: "others", Lease: x.long}))
		}},
		{name: "a lost reply: the same release again is nil until the next claim", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Release{Token: "t"}))
			x.must(x.do(k, store.Release{Token: "t"}))
			x.claim(k, "p", "t2", "d")
			x.want(store.ErrStale, x.do(k, store.Release{Token: "t"}))
			x.must(x.do(k, store.Release{Token: "t2"}))
			x.want(store.ErrStale, x.do(k, store.Release{Token: "t"}))
		}},
		{name: "a released claim neither renews nor finishes", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Release{Token: "t"}))
			x.want(store.ErrStale, x.do(k, store.Renew{Token: "t", Lease: x.long}))
			x.want(store.ErrStale, x.do(k, store.Finish{Token: "t", Result: result("r")}))
			x.state(k, store.Open, "p")
		}},
	}
}
