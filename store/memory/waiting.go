package memory

import (
	"context"

	"holdpoint/store"
	"holdpoint/store/internal/cursor"
	"holdpoint/store/internal/rules"
)

// List implements store.Store. It looks at all records that are open, or that have notices to send.
// The number of these records is limited.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, notAsked(err)
	}
	after, err := cursor.Parse(q.After)
	if err != nil {
		return store.Page{}, err
	}
	// Only the rows that may be on the page are kept and sorted, because all other callers wait for
	// the lock during that time.
	var rows []store.Row
	var last cursor.Cursor // the last row of the page, set when there are enough rows
	most := q.Size() + 1
	s.mu.Lock()
	now, listed := s.now(), s.waiting
	if q.WithNotices {
		listed = s.unsent
	}
	for key, e := range listed {
		row := store.Row{Key: key}
		if q.WithNotices {
			row.Due = e.rec.Outbox.Due
		} else {
			row.Opened, row.Due = e.rec.Pause.Opened, rules.DueTime(&e.rec, e.rec.Pause.Opened, now, s.policy)
		}
		at := cursor.Of(q, row)
		if !q.Due.IsZero() && row.Due.After(q.Due) || !after.Before(at) || last != (cursor.Cursor{}) && last.Before(at) {
			continue
		}
		if rows = append(rows, row); len(rows) == 4*most {
			cursor.Sort(q, rows)
			rows = rows[:most]
			last = cursor.Of(q, rows[most-1])
		}
	}
	s.mu.Unlock()
	cursor.Sort(q, rows)
	return cursor.Page(q, rows), nil
}
