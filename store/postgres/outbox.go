package postgres

import (
	"context"
	"fmt"

	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/internal/cursor"
)

// withNotify makes the row's place in the list of what is to be sent a part of the statement. It
// has a table of its own, so that the tables of before need not change, and who sends nothing does
// not need it.
func (t *table) withNotify(q *statement, c engine.Change) string {
	if c.Notify == nil {
		return ""
	}
	if c.Notify.IsZero() {
		return fmt.Sprintf(", unlisted AS (DELETE FROM %s u USING changed WHERE u.key = changed.key)", t.names.unsent)
	}
	return fmt.Sprintf(", listed AS (INSERT INTO %s (key, due) SELECT changed.key, %s FROM changed"+
		" ON CONFLICT (key) DO UPDATE SET due = EXCLUDED.due)", t.names.unsent, q.time(*c.Notify))
}

// Unsent is engine.Table's.
func (t *table) Unsent(ctx context.Context, query store.Query) (store.Page, error) {
	after, err := cursor.Parse(query.After)
	if err != nil {
		return store.Page{}, err
	}
	var q statement
	from := ""
	if query.After != "" {
		from = fmt.Sprintf(" AND (due, key) > (%s, %s)", q.time(after.Time), q.text(string(after.Key)))
	}
	q.sql = fmt.Sprintf("SELECT key, due FROM %s WHERE due <= %s%s ORDER BY due, key LIMIT %s",
		t.names.unsent, q.time(query.Due), from, q.int(int64(query.Size()+1)))
	found, err := t.read(ctx, &q)
	if err != nil {
		return store.Page{}, err
	}
	var rows []store.Row
	for _, row := range found {
		f := fields{row: row}
		rows = append(rows, store.Row{Key: store.Key(f.bytes()), Due: f.time()})
		if f.err != nil {
			return store.Page{}, f.err
		}
	}
	return cursor.Page(query, rows), nil
}

// Unlist is engine.Table's.
func (t *table) Unlist(ctx context.Context, key store.Key) error {
	var q statement
	k := q.text(string(key))
	q.sql = fmt.Sprintf("DELETE FROM %s WHERE key = %s AND NOT EXISTS (SELECT FROM %s WHERE key = %s)", t.names.unsent, k, t.names.threads, k)
	_, err := t.write(ctx, &q)
	if overtaken(err) {
		return nil // it is found again
	}
	return err
}
