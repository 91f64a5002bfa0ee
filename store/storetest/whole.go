package storetest

import (
	"context"

	"holdpoint/store"
)

// Do applies a step and returns only its error.
func Do(ctx context.Context, s store.Store, key store.Key, step store.Step) error {
	_, err := s.Do(ctx, key, step)
	return err
}

// Whole loads the record, and puts the snapshots of its pause and results into them.
func Whole(ctx context.Context, s store.Store, key store.Key) (store.Record, error) {
	rec, err := s.Load(ctx, key, "")
	if err != nil {
		return rec, err
	}
	if p := rec.Pause; p != nil && p.SnapshotBytes > 0 {
		whole := *p
		rec.Pause = &whole
		var shown store.Snapshots
		if shown, err = s.Snapshots(ctx, key, p.ID, store.AtPause); err != nil {
			return rec, err
		}
		whole.Messages, whole.State, whole.SnapshotBytes = shown.Messages, shown.State, 0
	}
	ended := func(r *store.Result) *store.Result {
		if r == nil || r.SnapshotBytes == 0 {
			return r
		}
		whole := *r
		var shown store.Snapshots
		if shown, err = s.Snapshots(ctx, key, r.PauseID, store.AtEnd); err == nil {
			whole.Messages, whole.State, whole.SnapshotBytes = shown.Messages, shown.State, 0
		}
		return &whole
	}
	rec.Doubt = ended(rec.Doubt)
	results := rec.Results
	rec.Results = nil
	for _, r := range results {
		rec.Results = append(rec.Results, ended(r))
	}
	return rec, err
}
