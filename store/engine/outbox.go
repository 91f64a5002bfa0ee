package engine

import (
	"context"
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// post puts the notices of a step into the record: those that its caller brings, if the step has
// changed what time alone had not, and those of a pause that only time has ended. It returns how
// many were given up.
func (s *Store) post(ctx context.Context, key store.Key, was, settled, rec *store.Record, now time.Time, st step) (lost int) {
	if s.notices != nil && st.body && !st.closes {
		if r := rules.EndedByTime(was, rec); r != nil {
			lost += rules.Post(rec, now, s.notices(key, r))
		}
	}
	if brought := store.NoticesOf(ctx); brought != nil && !(rules.SameHead(settled, rec) && rules.SameBody(settled, rec)) {
		lost += rules.Post(rec, now, brought)
	}
	return lost
}

// Unsent is store.Store's.
func (s *Store) Unsent(ctx context.Context, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, notAsked(err)
	}
	return s.table.Unsent(ctx, q)
}

// Take is store.Store's. A key without a record leaves the list.
func (s *Store) Take(ctx context.Context, key store.Key, hold time.Duration) (taken store.Taken, err error) {
	none := false
	err = s.step(ctx, key, step{do: func(rec *store.Record, now time.Time) ([]rules.Put, error) {
		none = rules.Format(rec) == 0
		taken = rules.Take(rec, now, hold)
		return nil, nil
	}})
	if err == nil && none {
		err = s.table.Unlist(ctx, key)
	}
	if err != nil {
		return store.Taken{}, err
	}
	return taken, nil
}

// Sent is store.Store's.
func (s *Store) Sent(ctx context.Context, key store.Key, ids []string, wait time.Duration, failed bool) error {
	return s.step(ctx, key, step{do: func(rec *store.Record, now time.Time) ([]rules.Put, error) {
		rules.Sent(rec, now, ids, wait, failed)
		return nil, nil
	}})
}
