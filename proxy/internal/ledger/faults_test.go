package ledger

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
)

var errDown = errors.New("the store is down")

// A faults is a memory store. A test decides what becomes of each step: it may do it or not, and
// give another error back than the step's. A step that was done and gives errDown is one whose
// reply was lost.
type faults struct {
	store.Store

	mu    sync.Mutex
	at    func(step string, do func() error) error // nil: every step is done
	steps []string                                 // that were asked for
}

func newFaults() *faults { return &faults{Store: memory.New(memory.Options{})} }

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

// decide has at decide from now on what becomes of each step.
func (f *faults) decide(at func(step string, do func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// heals has every step be done.
func (f *faults) heals() { f.decide(nil) }

// asked returns the steps that were asked for since the last call.
func (f *faults) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.steps
	f.steps = nil
	return list
}

// loses has the replies of the first steps of that name be lost; n of them.
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

// refuses has the steps of that name not be done.
func (f *faults) refuses(step string) {
	f.decide(func(name string, do func() error) error {
		if name == step {
			return errDown
		}
		return do()
	})
}

func (f *faults) Load(ctx context.Context, key store.Key, owner string) (rec store.Record, err error) {
	err = f.step("Load", func() (err error) { rec, err = f.Store.Load(ctx, key, owner); return err })
	if err != nil {
		return store.Record{}, err
	}
	return rec, nil
}

func (f *faults) Do(ctx context.Context, key store.Key, step store.Step) (store.Done, error) {
	var done store.Done
	name := store.NameOf(step)
	err := f.step(strings.ToUpper(name[:1])+name[1:], func() (err error) { done, err = f.Store.Do(ctx, key, step); return err })
	return done, err
}

func (f *faults) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (kept store.Snapshots, err error) {
	err = f.step("Snapshots", func() (err error) { kept, err = f.Store.Snapshots(ctx, key, pauseID, at); return err })
	return kept, err
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

// loses and refuses are the befores of tables: one reply of a step is lost, or no step is done.
func loses(step string) func(*testing.T, *Ledger, *faults, *agui.Pause) {
	return func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.loses(step, 1) }
}

func refuses(step string) func(*testing.T, *Ledger, *faults, *agui.Pause) {
	return func(_ *testing.T, _ *Ledger, f *faults, _ *agui.Pause) { f.refuses(step) }
}
