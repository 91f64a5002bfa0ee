package memory

import (
	"cmp"
	"context"
	"slices"

	"holdpoint/store"
	"holdpoint/store/internal/cursor"
	"holdpoint/store/internal/rules"
)

// Waiting is store.Store's. It looks at all that waits, which is bounded.
func (s *Store) Waiting(ctx context.Context, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, notAsked(err)
	}
	after, err := cursor.Parse(q.After)
	if err != nil {
		return store.Page{}, err
	}
	var rows []store.Row
	s.mu.Lock()
	now := s.now()
	for key, e := range s.waiting {
		row := store.Row{Key: key, Opened: e.rec.Pause.Opened, Due: rules.Due(&e.rec, e.rec.Pause.Opened, now, s.policy)}
		if (q.Due.IsZero() || !row.Due.After(q.Due)) && after.Before(cursor.Of(q, row)) {
			rows = append(rows, row)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(rows, func(a, b store.Row) int {
		return cmp.Or(cursor.Of(q, a).Time.Compare(cursor.Of(q, b).Time), cmp.Compare(a.Key, b.Key))
	})
	return cursor.Page(q, rows), nil
}
