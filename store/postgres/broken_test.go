//go:build unix

package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

func ask(id string) agui.Pause {
	return agui.Pause{
		ID: id, Dialect: "test", Digest: "digest of " + id,
		Interrupts: []agui.Interrupt{{ID: id + "~1", Object: json.RawMessage(`{"reason":"input"}`)}},
		Messages:   json.RawMessage(`[{"id":"m1","content":"sealed or not: \u0000"}]`), State: json.RawMessage(`{}`),
	}
}

func ended() store.Result {
	return store.Result{EndKind: store.Finished, Finish: json.RawMessage(`{}`), Messages: json.RawMessage(`[]`)}
}

const long = time.Hour // a lease that does not lapse

// A step describes one step of the store for a test: what is done before it, the step itself, and a
// check of the record after it.
type step struct {
	name   string
	before func(ctx context.Context, s store.Store, k store.Key) error
	do     func(ctx context.Context, s store.Store, k store.Key) error
	after  func(r store.Record) bool
	again  error // an error that a repeated call may return
}

func steps() []step {
	opened := func(ctx context.Context, s store.Store, k store.Key) error {
		return storetest.Do(ctx, s, k, store.Ask{Owner: "alice", Pause: ask("p")})
	}
	claimed := func(ctx context.Context, s store.Store, k store.Key) error {
		return errors.Join(opened(ctx, s, k), storetest.Do(ctx, s, k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: time.Minute}))
	}
	is := func(state store.State) func(store.Record) bool {
		return func(r store.Record) bool { return r.State == state && r.Owner == "alice" }
	}
	return []step{
		{"Load", nil, func(ctx context.Context, s store.Store, k store.Key) error {
			_, err := s.Load(ctx, k, "alice")
			return err
		}, is(store.None), nil},
		{"Open", nil, opened, is(store.Open), nil},
		{"Claim", opened, func(ctx context.Context, s store.Store, k store.Key) error {
			return storetest.Do(ctx, s, k, store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: long})
		}, is(store.Claimed), nil},
		{"Renew", claimed, func(ctx context.Context, s store.Store, k store.Key) error {
			return storetest.Do(ctx, s, k, store.Renew{Token: "t", Lease: long})
		},
			func(r store.Record) bool { return r.State == store.Claimed && r.Lease.After(r.Now.Add(long/2)) }, nil},
		{"Finish", claimed, func(ctx context.Context, s store.Store, k store.Key) error {
			next := ask("q")
			return storetest.Do(ctx, s, k, store.Finish{Token: "t", Result: ended(), Next: &next})
		}, func(r store.Record) bool { return r.State == store.Open && r.Pause.ID == "q" && len(r.Results) == 1 }, nil},
		{"Release", claimed, func(ctx context.Context, s store.Store, k store.Key) error {
			return storetest.Do(ctx, s, k, store.Release{Token: "t"})
		}, is(store.Open), nil},
		{"Close", opened, func(ctx context.Context, s store.Store, k store.Key) error {
			return storetest.Do(ctx, s, k, store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}})
		}, func(r store.Record) bool { return r.State == store.None && len(r.Results) == 1 }, store.ErrNotFound},
		{"Occupy", opened, func(ctx context.Context, s store.Store, k store.Key) error {
			return storetest.Do(ctx, s, k, store.Occupy{Token: "run", Lease: long})
		},
			func(r store.Record) bool { return len(r.Occupants) == 1 }, nil},
		{"Contest", opened, func(ctx context.Context, s store.Store, k store.Key) error {
			return storetest.Do(ctx, s, k, store.Contest{PauseID: "p"})
		},
			func(r store.Record) bool { return r.State == store.Open && r.Pause.Contested }, nil},
		{"Decide", opened, func(ctx context.Context, s store.Store, k store.Key) error {
			return storetest.Do(ctx, s, k, store.Decide{PauseID: "p", Decisions: []agui.Decision{{Question: "p~1", Status: agui.Cancelled, Digest: "d"}}})
		}, func(r store.Record) bool { return r.State == store.Open && len(r.Pause.Decisions) == 1 }, nil},
	}
}

// connectionBreaks breaks the connection before, during and after each request of each step. If the
// connection breaks at the read, the step must succeed. If it breaks at the write, the caller must
// get an error. When the caller repeats the step, the store must recognize it.
func connectionBreaks(t *testing.T, server *servers.Postgres, bouncer *servers.Bouncer) {
	whole := open(t, server.URL(), engine.Options{})
	for by, at := range map[string]struct {
		target string
		url    func(string) string
	}{"server": {server.Addr(), server.URLAt}, "bouncer": {bouncer.Addr(), bouncer.URLAt}} {
		proxy := servers.StartProxy(t, at.target)
		s := open(t, with(at.url(proxy.Addr()), "pool_max_conns=1"), engine.Options{})
		for _, st := range steps() {
			for _, moment := range servers.Moments {
				for request, what := range []string{"read", "write"} {
					t.Run(fmt.Sprint(by, " ", st.name, " ", moment, " ", what), func(t *testing.T) {
						k := store.Key(t.Name())
						ctx := t.Context()
						if st.before != nil {
							if err := st.before(ctx, whole, k); err != nil {
								t.Fatal(err)
							}
						}
						// this call makes the store connect
						if _, err := s.Load(ctx, "another", ""); err != nil {
							t.Fatal(err)
						}
						proxy.Arm(servers.Fault{Moment: moment, Skip: request})
						err := st.do(ctx, s, k)
						if !proxy.Disarm() {
							t.Fatal("the fault did not strike")
						}
						if (err != nil) != (what == "write") {
							t.Errorf("got error %v", err)
						}
						if err := st.do(ctx, s, k); err != nil && !errors.Is(err, st.again) {
							t.Errorf("made again: %v", err)
						}
						r, err := whole.Load(ctx, k, "")
						if err != nil || !st.after(r) {
							t.Errorf("error %v, record %+v", err, r)
						}
					})
				}
			}
		}
	}
}

// twoRoundTrips checks that each step takes at most two round trips: a read and a write.
func twoRoundTrips(t *testing.T, server *servers.Postgres, _ *servers.Bouncer) {
	proxy := servers.StartProxy(t, server.Addr())
	s := open(t, with(server.URLAt(proxy.Addr()), "pool_max_conns=1"), engine.Options{})
	for _, st := range steps() {
		k := store.Key("round trips " + st.name)
		if st.before != nil {
			if err := st.before(t.Context(), s, k); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Load(t.Context(), "another", ""); err != nil {
			t.Fatal(err)
		}
		proxy.Arm(servers.Fault{Moment: servers.BeforeRequest, Skip: 2})
		if err := st.do(t.Context(), s, k); err != nil || proxy.Disarm() {
			t.Errorf("%s: error %v, or a third request", st.name, err)
		}
	}
}

// serverIsSilent checks a server that does not answer. A step must not take longer than its own
// time limit. When the server answers again, so must the store.
func serverIsSilent(t *testing.T, server *servers.Postgres, _ *servers.Bouncer) {
	proxy := servers.StartProxy(t, server.Addr())
	s := open(t, with(server.URLAt(proxy.Addr()), "pool_max_conns=2"), engine.Options{})
	if _, err := s.Do(t.Context(), "silent", store.Ask{Pause: ask("p")}); err != nil {
		t.Fatal(err)
	}
	proxy.Freeze()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := s.Do(ctx, "silent", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: long}); err == nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a silent server: %v", err)
		}
		cancel()
	}
	given, giveUp := context.WithCancel(t.Context()) // it has no deadline
	time.AfterFunc(50*time.Millisecond, giveUp)
	returned := make(chan error, 3)
	for range cap(returned) { // one call more than there are connections
		go func() { _, err := s.Load(given, "silent", ""); returned <- err }()
	}
	late := time.After(4 * time.Second) // a new connection takes 5s to fail
	for range cap(returned) {
		select {
		case err := <-returned:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a silent server, and the caller gives up: %v", err)
			}
		case <-late:
			t.Fatal("a silent server, and the caller gives up: the step does not return")
		}
	}
	proxy.Thaw()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	untilDone(ctx, func() error {
		return storetest.Do(ctx, s, "silent", store.Claim{PauseID: "p", Token: "t", Digest: "d", Lease: long})
	})
	if r, err := s.Load(ctx, "silent", ""); err != nil || r.State != store.Claimed {
		t.Errorf("error %v, state %q", err, r.State)
	}
}

// untilDone repeats a call until the store answers, or ctx ends.
func untilDone(ctx context.Context, do func() error) error {
	for {
		err := do()
		told := err == nil
		for _, known := range []error{store.ErrConflict, store.ErrReplay, store.ErrStale, store.ErrExists, store.ErrNotFound} {
			told = told || errors.Is(err, known)
		}
		if told || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// endsUnderLoad restarts and kills a database while two processes use it, one of them through
// PgBouncer. Each thread must be claimed once, and a step that succeeded must stay done.
func endsUnderLoad(t *testing.T, server *servers.Postgres) {
	bouncer := servers.StartPgBouncer(t, server)
	replicas := []store.Store{open(t, server.URL(), engine.Options{}), open(t, bouncer.URL(), engine.Options{})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := make(chan struct{})
	var finished, failures atomic.Int64
	thread := func(k store.Key, s store.Store) {
		call := func(do func(context.Context) error) error {
			return untilDone(ctx, func() error {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				err := do(ctx)
				if err != nil && strings.Contains(err.Error(), "postgres") {
					failures.Add(1)
				}
				return err
			})
		}
		if err := call(func(ctx context.Context) error {
			return storetest.Do(ctx, s, k, store.Ask{Owner: "alice", Pause: ask("p")})
		}); err != nil {
			t.Errorf("%s: Open: %v", k, err)
			return
		}
		var both sync.WaitGroup
		var winners atomic.Int64
		for i, s := range replicas {
			both.Go(func() {
				token := fmt.Sprint("token ", i)
				switch err := call(func(ctx context.Context) error {
					return storetest.Do(ctx, s, k, store.Claim{PauseID: "p", Token: token, Digest: token, Lease: long})
				}); {
				case err == nil:
					winners.Add(1)
					err := call(func(ctx context.Context) error {
						next := ask("q")
						return storetest.Do(ctx, s, k, store.Finish{Token: token, Result: ended(), Next: &next})
					})
					if err != nil {
						t.Errorf("%s: Finish: %v", k, err)
					}
				case !errors.Is(err, store.ErrConflict):
					t.Errorf("%s: Claim: %v", k, err)
				}
			})
		}
		both.Wait()
		var r store.Record
		err := call(func(ctx context.Context) (err error) { r, err = s.Load(ctx, k, ""); return err })
		if err != nil || winners.Load() != 1 || r.State != store.Open || r.Pause.ID != "q" || len(r.Results) != 1 {
			t.Errorf("%s: %d winners, error %v, record %+v", k, winners.Load(), err, r)
		}
		finished.Add(1)
	}
	var workers sync.WaitGroup
	for w := range 6 {
		workers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					thread(store.Key(fmt.Sprint("thread ", w, " ", n)), replicas[w%2])
				}
			}
		})
	}
	more := func() {
		for from := finished.Load(); finished.Load() < from+12 && ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
	}
	for _, end := range []func(){server.Stop, server.Kill, server.Crash} {
		more()
		end()
		server.Restart()
	}
	more()
	bouncer.Kill()
	bouncer.Restart()
	more()
	close(stop)
	workers.Wait()
	t.Logf("%d threads, %d calls that failed", finished.Load(), failures.Load())
	if failures.Load() == 0 {
		t.Error("no call failed: the servers did not end under load")
	}
}

// serializable checks a database role whose default isolation level is serializable. With this
// level, the server rejects a step if a concurrent step was committed first, and it may also reject
// reads. Of concurrent claims of a pause, exactly one must succeed.
func serializable(t *testing.T, server *servers.Postgres, _ *servers.Bouncer) {
	server.Exec("CREATE ROLE strict LOGIN PASSWORD 'strict'")
	server.Exec("ALTER ROLE strict SET default_transaction_isolation = 'serializable'")
	server.ExecIn(servers.PostgresDatabase, "CREATE SCHEMA strict AUTHORIZATION strict")
	s := open(t, as(server, "strict", "&schema=strict"), engine.Options{})
	for round := range 10 {
		k := store.Key(fmt.Sprint(round))
		var all sync.WaitGroup
		var winners atomic.Int64
		for i := range 8 {
			all.Go(func() {
				if _, err := s.Do(t.Context(), k, store.Ask{Pause: ask("p")}); err != nil && !errors.Is(err, store.ErrExists) {
					t.Errorf("Open: %v", err)
				}
				token := fmt.Sprint(i)
				switch _, err := s.Do(t.Context(), k, store.Claim{PauseID: "p", Token: token, Digest: token, Lease: long}); {
				case err == nil:
					winners.Add(1)
				case !errors.Is(err, store.ErrConflict):
					t.Errorf("Claim: %v", err)
				}
			})
		}
		all.Wait()
		if winners.Load() != 1 {
			t.Errorf("%d winners", winners.Load())
		}
	}
}
