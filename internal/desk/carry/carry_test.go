package carry

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/event/door"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

// A world is a store with pauses, and a fake Agent whose Carry does what the test says.
type world struct {
	t     *testing.T
	store store.Store
	c     *Carrier
	does  func(key store.Key) error

	mu    sync.Mutex
	tried []string
	busy  int
	most  int
}

func newWorld(t *testing.T, does func(w *world, key store.Key) error) *world {
	w := &world{t: t, store: memory.New(memory.Options{ReplayTTL: 24 * time.Hour, PauseRetention: 240 * time.Hour})}
	w.does = func(key store.Key) error { return does(w, key) }
	w.c = New(Options{Store: w.store, Agents: map[string]Agent{"ours": w}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	return w
}

// Carry implements Agent.
func (w *world) Carry(_ context.Context, key store.Key) error {
	w.mu.Lock()
	w.tried = append(w.tried, string(key))
	w.busy++
	w.most = max(w.most, w.busy)
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.busy--; w.mu.Unlock() }()
	return w.does(key)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// decided opens a pause on the thread with this key, for the agent called agent, and decides the
// pause's question.
func (w *world) decided(key store.Key, agent string) {
	w.t.Helper()
	ctx := w.t.Context()
	w.must(storetest.Do(ctx, w.store, key, store.Ask{Pause: agui.Pause{
		ID: "p " + string(key), Origin: &agui.Origin{Agent: agent},
		Interrupts: []agui.Interrupt{{ID: "q", Object: json.RawMessage(`{}`)}},
	}}))
	w.must(storetest.Do(ctx, w.store, key, store.Decide{PauseID: "p " + string(key), Decisions: []agui.Decision{{Question: "q", Status: agui.Cancelled, Digest: "d"}}}))
}

// end claims the pause of the thread with this key and finishes it, as a run does.
func (w *world) end(key store.Key) error {
	ctx := context.Background()
	if _, err := w.store.Do(ctx, key, store.Claim{PauseID: "p " + string(key), Token: "t", Digest: "q d", Lease: time.Minute}); err != nil {
		return err
	}
	return storetest.Do(ctx, w.store, key, store.Finish{Token: "t", Result: store.Result{EndKind: store.Finished}})
}

// run lets the carrier work for the time d. It returns how many times the carrier tried each
// thread.
func (w *world) run(d time.Duration) map[string]int {
	ctx, cancel := context.WithCancel(w.t.Context())
	var done sync.WaitGroup
	done.Go(func() { w.c.Run(ctx) })
	time.Sleep(d)
	cancel()
	done.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	times := map[string]int{}
	for _, key := range w.tried {
		times[key]++
	}
	return times
}

func TestCarrier(t *testing.T) {
	for name, c := range map[string]struct {
		does   func(w *world, key store.Key) error
		before func(w *world)
		run    time.Duration
		want   map[string]int
	}{
		"what is decided is carried once": {
			func(w *world, key store.Key) error { return w.end(key) },
			func(w *world) { w.decided("a", "ours"); w.decided("b", "ours") }, time.Hour, map[string]int{"a": 1, "b": 1},
		},
		"another process's agent": {
			func(w *world, key store.Key) error { return w.end(key) },
			func(w *world) { w.decided("a", "theirs") }, time.Hour, map[string]int{},
		},
		"what lacks something is tried once": {
			func(*world, store.Key) error { return fmt.Errorf("%w: tools", door.ErrChat) },
			func(w *world) { w.decided("a", "ours") }, time.Hour, map[string]int{"a": 1},
		},
		"what another process has at home is tried once": {
			func(*world, store.Key) error { return door.ErrHome },
			func(w *world) { w.decided("a", "ours") }, time.Hour, map[string]int{"a": 1},
		},
		"what was given back is tried again, not for ever": {
			func(*world, store.Key) error { return nil },
			func(w *world) { w.decided("a", "ours") }, 50 * time.Minute, map[string]int{"a": 1 + len(tryDelays)},
		},
		"so is an error of the store": {
			func(*world, store.Key) error { return context.DeadlineExceeded },
			func(w *world) { w.decided("a", "ours") }, 50 * time.Minute, map[string]int{"a": 1 + len(tryDelays)},
		},
		"an old decision waits for the chat": {
			func(w *world, key store.Key) error { return w.end(key) },
			func(w *world) { w.decided("a", "ours"); time.Sleep(time.Hour) }, time.Hour, map[string]int{},
		},
		"one that becomes too old, too": {
			func(*world, store.Key) error { return nil },
			func(w *world) { w.decided("a", "ours"); time.Sleep(59*time.Minute + 50*time.Second) }, time.Hour, map[string]int{"a": 2},
		},
		"the oldest of two decisions counts": {
			func(w *world, key store.Key) error { return w.end(key) },
			func(w *world) {
				two := []agui.Interrupt{{ID: "q", Object: json.RawMessage(`{}`)}, {ID: "q2", Object: json.RawMessage(`{}`)}}
				w.must(storetest.Do(t.Context(), w.store, "a", store.Ask{Pause: agui.Pause{ID: "p a", Origin: &agui.Origin{Agent: "ours"}, Interrupts: two}}))
				w.must(storetest.Do(t.Context(), w.store, "a", store.Decide{PauseID: "p a", Decisions: []agui.Decision{{Question: "q", Status: agui.Resolved, Digest: "d"}}}))
				time.Sleep(time.Hour)
				w.must(storetest.Do(t.Context(), w.store, "a", store.Decide{PauseID: "p a", Decisions: []agui.Decision{{Question: "q2", Status: agui.Resolved, Digest: "d"}}}))
			}, time.Hour, map[string]int{},
		},
		"what is not decided": {
			func(w *world, key store.Key) error { return w.end(key) },
			func(w *world) {
				w.must(storetest.Do(t.Context(), w.store, "a", store.Ask{Pause: agui.Pause{ID: "p", Origin: &agui.Origin{Agent: "ours"}, Interrupts: []agui.Interrupt{{ID: "q"}}}}))
			}, time.Hour, map[string]int{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.does)
				c.before(w)
				if got := w.run(c.run); fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("tried %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestKick: a decision that this process took must be sent to the agent at once.
func TestKick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(w *world, key store.Key) error { return w.end(key) })
		w.decided("a", "ours")
		w.c.Kick("a")
		w.c.Kick("a")
		w.c.Kick("nobody")
		if got := w.run(time.Second); got["a"] != 1 || len(got) != 1 {
			t.Errorf("tried %v", got)
		}
	})
}

// TestManyAtOnce: many pauses are decided. The carrier must run only a limited number of them at
// the same time, and all of them in the end.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(w *world, key store.Key) error { time.Sleep(time.Minute); return w.end(key) })
		for n := range 30 {
			w.decided(store.Key(fmt.Sprint(n)), "ours")
			w.c.Kick(store.Key(fmt.Sprint(n)))
		}
		got := w.run(10 * time.Minute)
		if len(got) != 30 || w.most != concurrentRuns {
			t.Errorf("%d carried, %d at once", len(got), w.most)
		}
		for key, n := range got {
			if n != 1 {
				t.Errorf("%s was tried %d times", key, n)
			}
		}
	})
}

// TestSlowAgent: the runs of one agent do not end. They must not delay the runs of another agent.
func TestSlowAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(w *world, key store.Key) error {
			if key[0] == 's' {
				time.Sleep(time.Hour)
			}
			return w.end(key)
		})
		w.c = New(Options{Store: w.store, Agents: map[string]Agent{"slow": w, "ours": w}, Log: w.c.options.Log})
		for n := range 2 * concurrentRuns {
			w.decided(store.Key(fmt.Sprint("slow ", n)), "slow")
		}
		time.Sleep(time.Second)
		w.decided("a", "ours")
		got := w.run(10 * time.Second)
		if got["a"] != 1 || len(got) != 1+concurrentRuns {
			t.Errorf("tried %v", got)
		}
	})
}

// TestEndOfTheCarrier: Run must not return before the carrier's current runs have ended.
func TestEndOfTheCarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		w := newWorld(t, func(w *world, key store.Key) error {
			time.Sleep(time.Minute)
			ended = true
			return w.end(key)
		})
		w.decided("a", "ours")
		w.run(5 * time.Second)
		if !ended {
			t.Error("it did not wait")
		}
	})
}

// TestClocksThatDiffer: the clock of this process differs from the store's clock. The store's clock
// must decide which pauses are due. This may cost one step of the store each minute.
func TestClocksThatDiffer(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, -30 * time.Second, 0, 30 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(w *world, key store.Key) error { return w.end(key) })
			w.c.options.Now = func() time.Time { return time.Now().Add(off) }
			counted := &counting{Store: w.store}
			w.c.options.Store = counted
			w.decided("a", "ours")
			if got := w.run(5 * time.Second); got["a"] != 1 {
				t.Errorf("a clock that is off by %s: tried %v", off, got)
			}
			before := counted.loads
			w.run(10 * time.Minute)
			if n := counted.loads - before; n > 11 {
				t.Errorf("%d loads in ten quiet minutes", n)
			}
		})
	}
}

// A counting store counts the calls of Load.
type counting struct {
	store.Store
	loads int
}

func (c *counting) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	c.loads++
	return c.Store.Load(ctx, key, owner)
}
