package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// A history has the calls of several callers on one thread, and their replies. It must be
// linearizable: there must be an order of the steps in which no step precedes one that had ended
// before it began, and in which the rules of a record give each caller the reply that it got. Each
// reply has the store's time of its step, so the rules themselves are the model.

// An asked is a call of a history with its reply.
type asked struct {
	call
	used   time.Time // by the store's clock; zero: the store was never asked
	err    error     // one of the store's, or nil
	lost   bool      // nobody knows whether it was done
	loaded string    // the record that Load returned
}

// T is the part of *testing.T that History needs.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// History makes calls on the threads of a store from several callers at once, and judges their
// replies. during, if set, runs meanwhile, and may break things. seed determines the calls; how
// they interleave is chance.
func History(t T, s store.Store, keys []store.Key, seed uint64, callers, calls int, during func()) {
	t.Helper()
	for n, key := range keys {
		h := &history{store: s, key: key, start: time.Now()}
		var done sync.WaitGroup
		for c := range callers {
			done.Go(func() { h.play(t.Context(), c, calls, rand.New(rand.NewPCG(seed+uint64(n), uint64(c)))) })
		}
		if during != nil {
			done.Go(during)
		}
		done.Wait()
		h.judge(t, fmt.Sprintf("seed %d, thread %d", seed, n))
	}
}

type history struct {
	store store.Store
	key   store.Key
	start time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
}

// play makes the calls of one caller.
func (h *history) play(ctx context.Context, caller, calls int, random *rand.Rand) {
	for n := range calls {
		a := asked{call: drawn(random, caller, n)}
		began := time.Since(h.start)
		loaded, used, err := a.do(ctx, h.store, h.key, h.start)
		loaded.Version = 0 // which a step need not bring up to date
		a.used, a.loaded = used, asJSON(loaded)
		ended := int64(time.Since(h.start))
		if a.err = err; err != nil && !known(err) {
			a.err, a.lost = nil, true
			ended = math.MaxInt64 // it may still be done
		}
		if a.lost && a.used.IsZero() {
			continue // it cannot have been done
		}
		h.mu.Lock()
		h.ops = append(h.ops, porcupine.Operation{ClientId: caller, Input: a, Call: int64(began), Return: ended})
		h.mu.Unlock()
		if a.lost {
			caller += 1000 // to the checker one that still waits begins nothing new
		}
	}
}

func known(err error) bool {
	return slices.ContainsFunc(knownErrors(), func(k error) bool { return is(err, k) })
}

// alike reports whether two errors are the same error of the store, or both nil.
func alike(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return !slices.ContainsFunc(knownErrors(), func(k error) bool { return errors.Is(a, k) != errors.Is(b, k) })
}

// drawn makes up a call. The callers share few pauses and tokens.
func drawn(random *rand.Rand, caller, n int) call {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	pauseID := pick("p1", "p2", "p3", fmt.Sprint("p", caller, ".", n/4))
	return call{
		op:       pick("Load", "Open", "Open", "Claim", "Claim", "Claim", "Renew", "Finish", "Finish", "Release", "Close", "Occupy", "Decide"),
		pause:    pauseID,
		token:    pick("t1", "t2", fmt.Sprint("t", caller)),
		digest:   pick("d1", "d2", pauseID+"~1 r1", pauseID+"~1 r2"),
		question: pauseID + "~1",
		lease:    []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Hour}[random.IntN(3)],
		how:      []store.EndKind{store.Finished, store.Finished, store.Lost, store.Doubtful}[random.IntN(4)],
		mark:     pick("r1", "r2"),
		next:     pick("", "", fmt.Sprint("n", caller, ".", n)),
	}
}

// judge fails the test unless there is an order in which all replies are right.
func (h *history) judge(t T, what string) {
	t.Helper()
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{asJSON(store.Record{})} },
		Step: func(state, input, _ any) []any {
			a := input.(asked)
			next, loaded, err := applied(state.(string), a)
			switch {
			case a.lost && err == nil:
				return []any{state, next}
			case a.lost:
				return []any{state}
			case !alike(err, a.err) || a.op == "Load" && loaded != a.loaded:
				return nil
			}
			return []any{next}
		},
		Equal:             func(a, b any) bool { return a == b },
		DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
	}
	const patience = 30 * time.Second // the search can take for ever, and then nothing is known
	switch porcupine.CheckOperationsTimeout(model.ToModel(), h.ops, patience) {
	case porcupine.Illegal:
		t.Errorf("%s: no order of these steps gives what their callers were told:", what)
		for _, op := range h.ops {
			a := op.Input.(asked)
			t.Logf("caller %d, %d to %d: %s pause %s token %s digest %s lease %v how %s next %q mark %s: %v, lost %v, by %v %s",
				op.ClientId, op.Call, op.Return, a.op, a.pause, a.token, a.digest, a.lease, a.how, a.next, a.mark, a.err, a.lost, a.used, a.loaded)
		}
	case porcupine.Unknown:
		t.Logf("%s: not judged, the search takes too long", what)
	}
}

// applied returns the record and the reply that the rules give.
func applied(state string, a asked) (next, loaded string, err error) {
	var rec store.Record
	if err := json.Unmarshal([]byte(state), &rec); err != nil {
		panic(err)
	}
	now := a.used
	rules.Settle(&rec, now, rules.Policy{ReplayTTL: time.Hour, PauseRetention: time.Hour})
	step := rules.Load(a.owner)
	if a.op != "Load" {
		step = rules.StepOf(a.step(time.Time{}))
	}
	_, _, err = rules.Apply(&rec, now, &step)
	if err != nil {
		return state, "", err
	}
	view := rules.View(rec, now)
	view.Version = 0
	return asJSON(rec), asJSON(view), nil
}

// runHistory runs History on the engine without faults.
func (s suite) runHistory(t *testing.T) {
	t.Parallel()
	x := s.fixture(t, Options{}, false)
	seed := rand.Uint64()
	var keys []store.Key
	for n := range 6 {
		keys = append(keys, x.key(fmt.Sprint("history", n)))
	}
	History(t, x.Store, keys, seed, 5, 30, nil)
}
