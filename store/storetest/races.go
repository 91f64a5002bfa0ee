package storetest

import (
	"errors"
	"fmt"
	"sync"

	"holdpoint/store"
)

// race makes n calls of f at the same time. It returns their errors: errs[i] is the error of f(i).
func race(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	done.Wait()
	return errs
}

// winners returns the number of nil errors. It fails the test at any other error that is not one of
// losers.
func winners(x *fixture, what string, errs []error, losers ...error) int {
	x.Helper()
	n := 0
next:
	for i, err := range errs {
		if err == nil {
			n++
			continue
		}
		for _, l := range losers {
			if is(err, l) {
				continue next
			}
		}
		x.Errorf("%s: caller %d got %v", what, i, err)
	}
	return n
}

func raceCases() []testCase {
	const callers = 16
	one := func(x *fixture, what string, errs []error, losers ...error) {
		x.Helper()
		if n := winners(x, what, errs, losers...); n != 1 {
			x.Errorf("%s: %d of %d got through, want 1: %v", what, n, len(errs), errs)
		}
	}
	return []testCase{
		{name: "of 16 claimers on each of 300 threads one wins, replays and conflicts are told apart", run: func(x *fixture) {
			const threads = 300
			for i := range threads {
				x.open(x.key(fmt.Sprint(i)), pause("p"))
			}
			digest := func(caller int) string { return fmt.Sprint("d", caller%3) }
			token := func(thread, caller int) string { return fmt.Sprint("t", thread, ".", caller) }
			errs := race(threads*callers, func(i int) error {
				thread, caller := i/callers, i%callers
				return x.do(x.key(fmt.Sprint(thread)), store.Claim{PauseID: "p", Token: token(thread, caller), Digest: digest(caller), Lease: x.long})
			})
			for thread := range threads {
				errs := errs[thread*callers : (thread+1)*callers]
				rec := x.state(x.key(fmt.Sprint(thread)), store.Claimed, "p")
				won := 0
				for caller, err := range errs {
					var want error
					switch {
					case rec.Token == token(thread, caller):
						won++
					case rec.Digest == digest(caller):
						want = store.ErrReplay
					default:
						want = store.ErrConflict
					}
					if !is(err, want) {
						x.Fatalf("thread %d, claimer %d of the answers %s got %v, want %v; the claim is %q of %s",
							thread, caller, digest(caller), err, want, rec.Token, rec.Digest)
					}
				}
				if won != 1 {
					x.Fatalf("thread %d: the claim %q is that of %d claimers", thread, rec.Token, won)
				}
			}
		}},
		{name: "one claim made 16 times is one claim", run: func(x *fixture) {
			k := x.key("a")
			x.open(k, pause("p"))
			for i, err := range race(callers, func(int) error { return x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long}) }) {
				if err != nil {
					x.Errorf("call %d: %v", i, err)
				}
			}
			x.state(k, store.Claimed, "p")
		}},
		{name: "of 16 owners one gets the thread, and all are told which", run: func(x *fixture) {
			for round := range 20 {
				k := x.key(fmt.Sprint(round))
				owners := make([]string, callers)
				errs := race(callers, func(i int) error {
					rec, err := x.Load(x.Context(), k, fmt.Sprint("owner", i))
					owners[i] = rec.Owner
					return err
				})
				for i, err := range errs {
					x.must(err)
					if owners[i] != owners[0] || owners[i] == "" {
						x.Fatalf("owners %q", owners)
					}
				}
				x.same("the owner", x.load(k).Owner, owners[0])
			}
		}},
		{name: "of 16 pauses one opens, for its owner", run: func(x *fixture) {
			for round := range 20 {
				k := x.key(fmt.Sprint(round))
				errs := race(callers, func(i int) error {
					return x.do(k, store.Ask{Owner: fmt.Sprint("owner", i%2), Pause: pause(fmt.Sprint("p", i))})
				})
				one(x, "Open", errs, store.ErrExists, store.ErrOwner)
				rec := x.load(k)
				for i, err := range errs {
					if err == nil && (rec.Pause.ID != fmt.Sprint("p", i) || rec.Owner != fmt.Sprint("owner", i%2)) {
						x.Errorf("open is %q for %q, the winner is %d", rec.Pause.ID, rec.Owner, i)
					}
				}
			}
		}},
		{name: "of 16 that close a doubt one tells it", run: func(x *fixture) {
			for round := range 20 {
				k := x.key(fmt.Sprint(round))
				x.open(k, pause("p"))
				x.claim(k, "p", "t", "d")
				x.finish(k, "t", store.Result{EndKind: store.Doubtful}, nil)
				one(x, "Close", race(callers, func(int) error {
					return x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Doubtful}})
				}), store.ErrNotFound)
				if n := len(x.state(k, store.None, "").Results); n != 1 {
					x.Errorf("%d results", n)
				}
			}
		}},
		{name: "one finish made 16 times is one result and one next pause", run: func(x *fixture) {
			for round := range 20 {
				k := x.key(fmt.Sprint(round))
				x.open(k, pause("p"))
				x.claim(k, "p", "t", "d")
				next := pause("q")
				for i, err := range race(callers, func(int) error { return x.do(k, store.Finish{Token: "t", Result: result("r"), Next: &next}) }) {
					if err != nil {
						x.Errorf("call %d: %v", i, err)
					}
				}
				if n := len(x.state(k, store.Open, "q").Results); n != 1 {
					x.Errorf("%d results", n)
				}
			}
		}},
		{name: "of different ends of one claim one is taken", run: func(x *fixture) {
			for round := range 20 {
				k := x.key(fmt.Sprint(round))
				x.open(k, pause("p"))
				x.claim(k, "p", "t", "d")
				errs := race(callers, func(i int) error {
					if i == 0 {
						return x.do(k, store.Release{Token: "t"})
					}
					return x.do(k, store.Finish{Token: "t", Result: result(fmt.Sprint("r", i))})
				})
				one(x, "Finish or Release", errs, store.ErrStale)
				if rec := x.load(k); (errs[0] == nil) != (rec.State == store.Open) || len(rec.Results) > 1 {
					x.Errorf("Release got %v, the record is %s", errs[0], asJSON(rec))
				}
			}
		}},
		{name: "a record that is loaded while others step is whole", run: func(x *fixture) {
			k := x.key("a")
			const rounds = 30
			for i, err := range race(3, func(i int) error {
				for round := range rounds {
					if i == 0 {
						p := fmt.Sprint("p", round)
						err := errors.Join(
							x.do(k, store.Ask{Pause: pause(p)}),
							x.do(k, store.Claim{PauseID: p, Token: "t", Digest: "d", Lease: x.long}),
							x.do(k, store.Finish{Token: "t", Result: result(p)}),
						)
						if err != nil {
							return err
						}
						continue
					}
					rec, err := x.Load(x.Context(), k, "")
					if err != nil {
						return err
					}
					known := map[string]bool{}
					if rec.State != store.None {
						known[rec.Pause.ID] = true
						if rec.Pause.SnapshotBytes == 0 || (rec.State == store.Claimed) != (rec.Digest == "d") {
							return fmt.Errorf("torn: %s", asJSON(rec))
						}
					}
					for _, r := range rec.Results {
						if known[r.PauseID] || r.Tombstone == (r.Finish != nil) {
							return fmt.Errorf("torn: %s", asJSON(rec))
						}
						known[r.PauseID] = true
					}
				}
				return nil
			}) {
				if err != nil {
					x.Errorf("caller %d: %v", i, err)
				}
			}
		}},
		{name: "claim, close and open on an open pause", run: func(x *fixture) {
			for round := range 100 {
				k := x.key(fmt.Sprint(round))
				x.open(k, pause("p"))
				errs := race(3, func(i int) error {
					switch i {
					case 0:
						return x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.long})
					case 1:
						return x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}})
					}
					return x.do(k, store.Ask{Pause: pause("q")})
				})
				one(x, "Claim or Close", errs[:2], store.ErrConflict, store.ErrExists)
				opened := winners(x, "Open", errs[2:], store.ErrExists) == 1
				switch claimed := errs[0] == nil; {
				case claimed && opened:
					x.Errorf("a claimed pause was replaced: %v", errs)
				case claimed:
					x.state(k, store.Claimed, "p")
				case opened:
					x.state(k, store.Open, "q")
				default:
					x.state(k, store.None, "")
				}
			}
		}},
		{name: "finish, close and open on a lapsed claim", run: func(x *fixture) {
			const rounds = 100
			for round := range rounds {
				k := x.key(fmt.Sprint(round))
				x.open(k, pause("p"))
				x.must(x.do(k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: x.lease}))
			}
			x.clock.advance(x.lease + x.unit)
			for round := range rounds {
				k := x.key(fmt.Sprint(round))
				errs := race(3, func(i int) error {
					switch i {
					case 0:
						return x.do(k, store.Finish{Token: "t", Result: result("r")})
					case 1:
						return x.do(k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Lost}})
					}
					return x.do(k, store.Ask{Pause: pause("q")})
				})
				x.must(errs[2])
				rec := x.state(k, store.Open, "q")
				if len(rec.Results) != 1 {
					x.Fatalf("%d results for one pause: %s", len(rec.Results), asJSON(rec.Results))
				}
				var want store.EndKind
				switch {
				case errs[0] == nil && is(errs[1], store.ErrNotFound):
					want = store.Finished
				case errs[1] == nil && is(errs[0], store.ErrStale):
					want = store.Lost
				case is(errs[0], store.ErrStale) && is(errs[1], store.ErrNotFound):
					want = store.Doubtful // Ask was the first step
				default:
					x.Fatalf("no order of the calls explains %v", errs)
				}
				if got := rec.Results[0].EndKind; got != want {
					x.Errorf("ended as %q after %v", got, errs)
				}
			}
		}},
	}
}
