package proxy

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A faults is a store of which a test decides what becomes of each step. It may do it or not, and
// give another error back than the step's: a step that was done and gives errDown is one whose
// reply was lost.
type faults struct {
	store.Store
	at func(step string, do func() error) error // nil: every step is done
}

func (f *faults) step(name string, do func() error) error {
	if f.at == nil {
		return do()
	}
	return f.at(name, do)
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

func (f *faults) Remember(ctx context.Context, key store.Key, n store.Note, most int) error {
	return f.step("Remember", func() error { return f.Store.Remember(ctx, key, n, most) })
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

func (f *faults) Decide(ctx context.Context, key store.Key, pauseID string, list []agui.Decision) error {
	return f.step("Decide", func() error { return f.Store.Decide(ctx, key, pauseID, list) })
}

func (f *faults) See(ctx context.Context, key store.Key, pauseID string) error {
	return f.step("See", func() error { return f.Store.See(ctx, key, pauseID) })
}

func (f *faults) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (kept store.Snapshots, err error) {
	err = f.step("Snapshots", func() (err error) { kept, err = f.Store.Snapshots(ctx, key, pauseID, at); return err })
	return kept, err
}

var errDead = errors.New("the process is dead")

// A mortal is a replica that can die as by kill -9: nothing of it reaches the store any more.
type mortal struct {
	*Handler
	dead atomic.Bool
}

// newMortal makes another replica on the store that o has.
func newMortal(o Options) (*mortal, error) {
	m := &mortal{}
	o.Store = &faults{Store: o.Store, at: func(_ string, do func() error) error {
		if m.dead.Load() {
			return errDead
		}
		return do()
	}}
	var err error
	m.Handler, err = New(o)
	return m, err
}

// kill ends the replica, and what it has under way. Its clients see a broken connection.
func (m *mortal) kill() {
	m.dead.Store(true)
	m.lives.drain()
}
