package storetest

import (
	"context"
	"strings"

	"holdpoint/store"
)

// A Faults is a store in which a test controls each step: whether the step is done, and whether it
// returns an error. A step that was done but returns an error stands for a reply that was lost.
type Faults struct {
	store.Store
	At func(step string, do func() error) error // gets each step; nil: every step is done
}

func (f *Faults) step(name string, do func() error) error {
	if f.At == nil {
		return do()
	}
	return f.At(name, do)
}

// Load calls the store's Load, unless the test prevents it.
func (f *Faults) Load(ctx context.Context, key store.Key, owner string) (rec store.Record, err error) {
	err = f.step("Load", func() (err error) { rec, err = f.Store.Load(ctx, key, owner); return err })
	if err != nil {
		return store.Record{}, err
	}
	return rec, nil
}

// Do applies a step, unless the test prevents it. At gets the name of the step, such as "Ask".
func (f *Faults) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	var done store.StepResult
	name := store.NameOf(step)
	err := f.step(strings.ToUpper(name[:1])+name[1:], func() (err error) { done, err = f.Store.Do(ctx, key, step); return err })
	return done, err
}

// Snapshots calls the store's Snapshots, unless the test prevents it.
func (f *Faults) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (snapshots store.Snapshots, err error) {
	err = f.step("Snapshots", func() (err error) { snapshots, err = f.Store.Snapshots(ctx, key, pauseID, at); return err })
	return snapshots, err
}
