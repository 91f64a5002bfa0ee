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

// A faults is a memory store in which a test decides the result of each step.
type faults struct {
	storetest.Faults

	mu    sync.Mutex
	at    func(step string, do func() error) error // nil: every step is done
	steps []string                                 // the steps that were asked for
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

// decide sets the function that decides the result of each step.
func (f *faults) decide(at func(step string, do func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// heals makes every step succeed.
func (f *faults) heals() { f.decide(nil) }

// asked returns the steps that were asked for since the last call.
func (f *faults) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.steps
	f.steps = nil
	return list
}

// loses makes the replies of the first n steps with that name be lost.
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

// refuses makes the steps with that name fail.
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

// loses and refuses return functions for the field before of tables: one reply of a step is lost,
// or no step is done.
func loses(step string) func(*testing.T, *Ledger, *faults, *agui.Pause) {
	return func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.loses(step, 1) }
}

func refuses(step string) func(*testing.T, *Ledger, *faults, *agui.Pause) {
	return func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.refuses(step) }
}
