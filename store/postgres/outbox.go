package postgres

import (
	"context"
	"fmt"

	"holdpoint/store"
	"holdpoint/store/engine"
)

// withNotify returns the SQL that changes the row's time in the list of notices to send, and adds
// its parameters to the statement q. The list is a separate table. So older tables need no change,
// and a deployment without a webhook does not need the list.
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

// Unlist implements engine.Table.
func (t *table) Unlist(ctx context.Context, key store.Key) error {
	var q statement
	k := q.text(string(key))
	q.sql = fmt.Sprintf("DELETE FROM %s WHERE key = %s AND NOT EXISTS (SELECT FROM %s WHERE key = %s)", t.names.unsent, k, t.names.threads, k)
	_, err := t.write(ctx, &q)
	if isOvertaken(err) {
		return nil // The key stays in the list, and a later Take tries again.
	}
	return err
}
