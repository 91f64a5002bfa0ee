package proxy

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

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
