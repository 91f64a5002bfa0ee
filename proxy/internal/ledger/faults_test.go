package ledger

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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

func (f *faults) Open(ctx context.Context, key store.Key, owner string, p agui.Pause) error {
	return f.step("Open", func() error { return f.Store.Open(ctx, key, owner, p) })
}

func (f *faults) Decide(ctx context.Context, key store.Key, pauseID string, list []agui.Decision) error {
	return f.step("Decide", func() error { return f.Store.Decide(ctx, key, pauseID, list) })
}

func (f *faults) Claim(ctx context.Context, key store.Key, pauseID, token, digest string, lease time.Duration) error {
	return f.step("Claim", func() error { return f.Store.Claim(ctx, key, pauseID, token, digest, lease) })
}

func (f *faults) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) error {
	return f.step("Renew", func() error { return f.Store.Renew(ctx, key, token, lease) })
}

func (f *faults) Finish(ctx context.Context, key store.Key, token string, r store.Result, next *agui.Pause) error {
	return f.step("Finish", func() error { return f.Store.Finish(ctx, key, token, r, next) })
}

func (f *faults) Release(ctx context.Context, key store.Key, token string) error {
	return f.step("Release", func() error { return f.Store.Release(ctx, key, token) })
}

func (f *faults) Close(ctx context.Context, key store.Key, pauseID string, r store.Result) error {
	return f.step("Close", func() error { return f.Store.Close(ctx, key, pauseID, r) })
}

func (f *faults) Occupy(ctx context.Context, key store.Key, token string, lease time.Duration) error {
	return f.step("Occupy", func() error { return f.Store.Occupy(ctx, key, token, lease) })
}

func (f *faults) Contest(ctx context.Context, key store.Key, pauseID string) error {
	return f.step("Contest", func() error { return f.Store.Contest(ctx, key, pauseID) })
}

func (f *faults) See(ctx context.Context, key store.Key, pauseID string) error {
	return f.step("See", func() error { return f.Store.See(ctx, key, pauseID) })
}

func (f *faults) Remember(ctx context.Context, key store.Key, n store.Note, most int) error {
	return f.step("Remember", func() error { return f.Store.Remember(ctx, key, n, most) })
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
