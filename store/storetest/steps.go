package storetest

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// stepCases try every step in every state of a pause "p". If "p" is or was claimed, the claim has
// the token "t" and the digest "d". Read row by row, the cases are the store's state machine.
func stepCases() []testCase {
	var (
		exists, notFound = store.ErrExists, store.ErrNotFound
		replay, conflict = store.ErrReplay, store.ErrConflict
		stale            = store.ErrStale
		ok               error
	)
	rows := []struct {
		state   string
		elapses bool // needs the retention or the replay time to go by
		make    func(x *fixture, k store.Key)
		// The errors that the steps must return. The three of claim are for the token "t" again,
		// another token with the same answers, and another token with other answers.
		claim                  [3]error
		renew, finish, release error // with the token "t"
		close                  error // of the pause "p"
		openP, openQ           error // opens "p" again; opens another pause
	}{
		{"nothing is known", false, func(*fixture, store.Key) {},
			[3]error{notFound, notFound, notFound}, stale, stale, stale, notFound, ok, ok},
		{"open", false, func(x *fixture, k store.Key) { x.open(k, pause("p")) },
			[3]error{ok, ok, ok}, stale, stale, stale, ok, ok, exists},
		{"claimed", false, func(x *fixture, k store.Key) { x.open(k, pause("p")); x.claim(k, "p", "t", "d") },
			[3]error{ok, replay, conflict}, ok, ok, ok, exists, exists, exists},
		{"claimed, lease lapsed", false, func(x *fixture, k store.Key) { x.open(k, pause("p")); x.lapse(k, "p", "t", "d") },
			[3]error{ok, conflict, conflict}, ok, ok, ok, ok, exists, ok},
		{"in doubt by Finish", false, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", store.Result{EndKind: store.Doubtful}, nil)
		}, [3]error{conflict, conflict, conflict}, stale, stale, stale, ok, exists, ok},
		{"doubt told", false, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.close(k, "p", store.Doubtful)
		}, [3]error{replay, replay, conflict}, stale, stale, stale, notFound, exists, ok},
		{"doubt gave way", false, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.lapse(k, "p", "t", "d")
			x.open(k, pause("next"))
		}, [3]error{replay, replay, conflict}, stale, stale, stale, notFound, exists, exists},
		{"released", false, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Release{Token: "t"}))
		}, [3]error{ok, ok, ok}, stale, stale, ok, ok, ok, exists},
		{"released, claimed by another", false, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.must(x.do(k, store.Release{Token: "t"}))
			x.claim(k, "p", "another", "others")
		}, [3]error{conflict, conflict, conflict}, stale, stale, stale, exists, exists, exists},
		{"finished", false, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", result("r"), nil)
		}, [3]error{replay, replay, conflict}, stale, stale, stale, notFound, exists, ok},
		{"finished, paused again", false, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			next := pause("next")
			x.finish(k, "t", result("r"), &next)
		}, [3]error{replay, replay, conflict}, stale, stale, stale, notFound, exists, exists},
		{"withdrawn", false, func(x *fixture, k store.Key) { x.open(k, pause("p")); x.close(k, "p", store.Withdrawn) },
			[3]error{conflict, conflict, conflict}, stale, stale, stale, notFound, exists, ok},
		{"retired", true, func(x *fixture, k store.Key) { x.open(k, pause("p")); x.clock.advance(x.retention) },
			[3]error{conflict, conflict, conflict}, stale, stale, stale, notFound, exists, ok},
		{"a tombstone", true, func(x *fixture, k store.Key) {
			x.open(k, pause("p"))
			x.claim(k, "p", "t", "d")
			x.finish(k, "t", result("r"), nil)
			x.clock.advance(x.replay)
		}, [3]error{notFound, notFound, notFound}, stale, stale, stale, notFound, exists, ok},
	}

	claim := func(pauseID, token, digest string) func(*fixture, store.Key) error {
		return func(x *fixture, k store.Key) error {
			return x.do(k, store.Claim{PauseID: pauseID, Token: token, Digest: digest, Lease: x.long})
		}
	}
	open := func(p agui.Pause) func(*fixture, store.Key) error {
		return func(x *fixture, k store.Key) error { return x.do(k, store.Ask{Pause: p}) }
	}
	var cases []testCase
	for _, row := range rows {
		closeDoubt, withdraw := row.close, row.close
		switch {
		case row.close != nil:
		case row.openQ == nil: // in doubt: an answer that may have been acted on cannot be withdrawn
			withdraw = exists
		default: // open: the question still waits, so there is no doubt to close
			closeDoubt = exists
		}
		steps := []struct {
			name string
			do   func(*fixture, store.Key) error
			want error
		}{
			{"the same claim", claim("p", "t", "d"), row.claim[0]},
			{"the same answers", claim("p", "new", "d"), row.claim[1]},
			{"other answers", claim("p", "new", "new answers"), row.claim[2]},
			{"a claim of an unknown pause", claim("unknown", "new", "d"), notFound},
			{"renew", func(x *fixture, k store.Key) error { return x.do(k, store.Renew{Token: "t", Lease: x.long}) }, row.renew},
			{"renew by a stranger", func(x *fixture, k store.Key) error { return x.do(k, store.Renew{Token: "x", Lease: x.long}) }, stale},
			{"finish", func(x *fixture, k store.Key) error {
				return x.do(k, store.Finish{Token: "t", Result: result("other")})
			}, row.finish},
			{"finish in doubt, with content", func(x *fixture, k store.Key) error {
				r := result("other")
				r.EndKind = store.Doubtful
				return x.do(k, store.Finish{Token: "t", Result: r})
			}, row.finish},
			{"finish by a stranger", func(x *fixture, k store.Key) error {
				return x.do(k, store.Finish{Token: "x", Result: result("r")})
			}, stale},
			{"release", func(x *fixture, k store.Key) error { return x.do(k, store.Release{Token: "t"}) }, row.release},
			{"release by a stranger", func(x *fixture, k store.Key) error { return x.do(k, store.Release{Token: "x"}) }, stale},
			{"close a doubt", func(x *fixture, k store.Key) error {
				return x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Doubtful}})
			}, closeDoubt},
			{"withdraw", func(x *fixture, k store.Key) error {
				return x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}})
			}, withdraw},
			{"close of an unknown pause", func(x *fixture, k store.Key) error {
				return x.do(k, store.Close{PauseID: "unknown", Result: store.Result{EndKind: store.Withdrawn}})
			}, notFound},
			{"the same open", open(pause("p")), row.openP},
			{"another open", open(pause("q")), row.openQ},
		}
		cases = append(cases, testCase{name: row.state, elapses: row.elapses, exact: row.elapses, run: func(x *fixture) {
			for _, s := range steps {
				k := x.key(s.name)
				row.make(x, k)
				before := x.load(k)
				err := s.do(x, k)
				if !is(err, s.want) {
					x.Errorf("%s: got error %v, want %v", s.name, err, s.want)
				}
				if after := x.load(k); err != nil && asJSON(after) != asJSON(before) {
					x.Errorf("%s failed with %v and changed the record from\n  %s\nto\n  %s", s.name, err, asJSON(before), asJSON(after))
				}
			}
		}})
	}
	return cases
}
