package ledger

import (
	"errors"
	"sync"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

var errDown = errors.New("the store is down")

// A faults is a store in memory. For each step, a test decides whether it succeeds.
type faults struct {
	storetest.Faults

	mu    sync.Mutex
	at    func(step string, do func() error) error // nil: every step succeeds
	steps []string                                 // the names of the steps that the store got
}

func newFaults() *faults {
	f := &faults{}
	f.Faults = storetest.Faults{Store: memory.New(memory.Options{}), At: f.step}
	return f
}

func (f *faults) step(name string, do func() error) error {
	f.mu.Lock()
	f.steps = append(f.steps, name)
	at := f.at
	f.mu.Unlock()
	if at == nil {
		return do()
	}
	return at(name, do)
}

// decide sets the function that gets each step and decides whether the step is done and what it
// returns.
func (f *faults) decide(at func(step string, do func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// heals makes every later step succeed.
func (f *faults) heals() { f.decide(nil) }

// asked returns the names of the steps that the store got since the last call of asked.
func (f *faults) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.steps
	f.steps = nil
	return list
}

// loses does the first n steps with this name, but returns an error for them, as if the replies
// were lost.
func (f *faults) loses(step string, n int) {
	f.decide(func(name string, do func() error) error {
		err := do()
		if name != step || n == 0 {
			return err
		}
		n--
		return errDown
	})
}

// refuses makes every step with this name fail.
func (f *faults) refuses(step string) {
	f.decide(func(name string, do func() error) error {
		if name == step {
			return errDown
		}
		return do()
	})
}

// record returns the record of a thread as the store has it.
func (f *faults) record(t *testing.T, key store.Key) store.Record {
	t.Helper()
	rec, err := f.Store.Load(t.Context(), key, "")
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// loses and refuses return functions for the field "before" of the tables. The function of loses
// makes the store lose one reply to the step. The function of refuses makes the step always fail.
func loses(step string) func(*testing.T, *Ledger, *faults, *agui.Pause) {
	return func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.loses(step, 1) }
}

func refuses(step string) func(*testing.T, *Ledger, *faults, *agui.Pause) {
	return func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.refuses(step) }
}
