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

// A history has the calls that several callers made on one thread, and their replies. It must be
// linearizable. That means that the calls have an order with two properties. A call that ended
// before another began precedes it. And if the rules of a record are applied in this order, each
// caller gets the reply that it got from the store. Each reply has the store's time of its step, so
// the rules themselves serve as the model.

// An asked is one call of a history with its reply.
type asked struct {
	call
	used   time.Time // by the store's clock; zero: the call did not reach the store
	err    error     // one of the store's errors, or nil
	lost   bool      // the reply was lost: the call may have been done
	loaded string    // JSON of the record that Load returned
}

// T is the part of *testing.T that History needs.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// History makes calls on the threads of a store from several callers at once, and checks the
// replies. The parameter during, if set, runs at the same time, and may cause faults. The parameter
// seed determines the calls. The order in which the callers' calls interleave is chance.
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
		loaded.Version = 0 // a step does not have to return the current Version
		a.used, a.loaded = used, asJSON(loaded)
		ended := int64(time.Since(h.start))
		if a.err = err; err != nil && !known(err) {
			a.err, a.lost = nil, true
			ended = math.MaxInt64 // the step may still be done later
		}
		if a.lost && a.used.IsZero() {
			continue // the store was not asked, so the step was not done
		}
		h.mu.Lock()
		h.ops = append(h.ops, porcupine.Operation{ClientId: caller, Input: a, Call: int64(began), Return: ended})
		h.mu.Unlock()
		if a.lost {
			caller += 1000 // the checker allows a caller whose call has not ended no further call
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

// drawn returns a random call. The callers share a few pauses and tokens, so that they compete.
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

// judge fails the test unless the calls have an order in which the rules give all their replies.
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
	// the search may take very long; after this time it ends without a verdict
	const patience = 30 * time.Second
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

// applied applies the call a to the record in state. It returns the record and the reply that the
// rules give.
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

// runHistory runs History on the engine. No faults occur.
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
