package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/internal/cursor"
)

type table struct {
	pool  *pgxpool.Pool
	names names
	ready *engine.TablePreparer
	log   *slog.Logger
	sends bool // steps may have notices to send

	forgetting durability
}

var _ engine.Table = (*table)(nil)

// Read implements engine.Table. If the key has no row, the server still returns its time.
func (t *table) Read(ctx context.Context, key store.Key, body bool) (engine.Row, error) {
	columns := "t.revision, t.head"
	if body {
		columns += ", " + guards + ", t.body"
	}
	var q statement
	q.sql = fmt.Sprintf("SELECT c.now, %s FROM (SELECT clock_timestamp() AS now) c LEFT JOIN %s t ON t.key = %s",
		columns, t.names.threads, q.text(string(key)))
	rows, err := t.read(ctx, &q)
	if err != nil {
		return engine.Row{}, err
	}
	if len(rows) != 1 {
		return engine.Row{}, fmt.Errorf(textSeveralRows, len(rows))
	}
	var r engine.Row
	f := fields{row: rows[0]}
	r.Now = f.time()
	r.Revision = f.int()
	r.Head = f.bytes()
	if body {
		r.Guards = f.bool()
		r.Body = f.bytes()
	}
	return r, f.err
}

// guards is an SQL condition: it is true if changes wait for standbys. If that wait was
// interrupted, by a crash or a cancel, the change can be read although no standby has it.
// https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
const guards = "current_setting('synchronous_standby_names') <> ''"

// Write implements engine.Table. It uses only one statement, so the change is applied as a whole or
// not at all.
func (t *table) Write(ctx context.Context, key store.Key, c engine.Change) (bool, error) {
	var q statement
	k := q.text(string(key))
	// The head and the body are the last columns of a row. So the unchanged bytes are at both ends
	// of the row, and the server's log has only the bytes between them.
	set := []struct{ column, value string }{
		{"revision", q.int(c.To)}, {"opened", q.time(c.Opened)}, {"due", q.time(c.Due)}, {"gone", q.time(c.ForgetAt)}, {"head", q.bytes(c.Head)},
	}
	if c.Body != nil {
		set = append(set, struct{ column, value string }{"body", q.bytes(c.Body)})
	}
	var b strings.Builder
	if c.From == 0 {
		columns, values := []string{"key"}, []string{k}
		for _, s := range set {
			columns, values = append(columns, s.column), append(values, s.value)
		}
		fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (key) DO NOTHING RETURNING key",
			t.names.threads, strings.Join(columns, ", "), strings.Join(values, ", "))
	} else {
		var list []string
		for _, s := range set {
			list = append(list, s.column+" = "+s.value)
		}
		fmt.Fprintf(&b, "UPDATE %s SET %s WHERE key = %s AND revision = %s RETURNING key", t.names.threads, strings.Join(list, ", "), k, q.int(c.From))
	}
	q.sql = b.String()
	if len(c.Drop)+len(c.Put) > 0 || c.Notify != nil {
		q.sql = t.withOthers(&q, q.sql, c)
	}
	rows, err := t.write(ctx, &q)
	if isOvertaken(err) {
		return false, nil
	}
	if err == nil && len(rows) == 1 && c.Guard && q.warned {
		return true, fmt.Errorf(textWaitCancelled, engine.ErrNotGuarded)
	}
	return len(rows) == 1, err
}

// withOthers returns the whole SQL of a change. row is the SQL that changes the row. The SQL for
// the snapshots and for the list of notices is added, so that they change only if the row changes.
func (t *table) withOthers(q *statement, row string, c engine.Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "WITH changed AS (%s)", row)
	if len(c.Drop) > 0 {
		var list []string
		for _, name := range c.Drop {
			list = append(list, q.text(name))
		}
		fmt.Fprintf(&b, ", dropped AS (DELETE FROM %s s USING changed WHERE s.key = changed.key AND s.name IN (%s))",
			t.names.snapshots, strings.Join(list, ", "))
	}
	if len(c.Put) > 0 {
		var list []string
		for name, put := range c.Put {
			list = append(list, "("+q.text(name)+", "+q.bytes(put)+")")
		}
		fmt.Fprintf(&b, ", put AS (INSERT INTO %s (key, name, bytes) SELECT changed.key, v.name, v.bytes FROM changed, (VALUES %s) AS v (name, bytes)"+
			" ON CONFLICT (key, name) DO UPDATE SET bytes = EXCLUDED.bytes)", t.names.snapshots, strings.Join(list, ", "))
	}
	b.WriteString(t.withNotify(q, c))
	b.WriteString(" SELECT key FROM changed")
	return b.String()
}

// Snapshot implements engine.Table.
func (t *table) Snapshot(ctx context.Context, key store.Key, name string) ([]byte, error) {
	var q statement
	q.sql = fmt.Sprintf("SELECT bytes FROM %s WHERE key = %s AND name = %s", t.names.snapshots, q.text(string(key)), q.text(name))
	rows, err := t.read(ctx, &q)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	f := fields{row: rows[0]}
	return f.bytes(), f.err
}

// List implements engine.Table.
func (t *table) List(ctx context.Context, query store.Query, after cursor.Cursor) ([]store.Row, error) {
	var q statement
	table, columns, by, until, from := t.names.threads, "key, opened, due", "opened", "", ""
	if query.WithNotices {
		table, columns = t.names.unsent, "key, due"
	}
	if !query.Due.IsZero() {
		by, until = "due", " AND due <= "+q.time(query.Due)
	}
	if query.After != "" {
		from = fmt.Sprintf(" AND (%s, key) > (%s, %s)", by, q.time(after.Time), q.text(string(after.Key)))
	}
	q.sql = fmt.Sprintf("SELECT %s FROM %s WHERE %s IS NOT NULL%s%s ORDER BY %s, key LIMIT %s",
		columns, table, by, until, from, by, q.int(int64(query.Size()+1)))
	found, err := t.read(ctx, &q)
	if err != nil {
		return nil, err
	}
	var rows []store.Row
	for _, fetched := range found {
		f := fields{row: fetched}
		row := store.Row{Key: store.Key(f.bytes())}
		if !query.WithNotices {
			row.Opened = f.time()
		}
		if row.Due = f.time(); f.err != nil {
			return nil, f.err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Open implements engine.Table. It reads only the index of the open rows, and not the rows
// themselves.
func (t *table) Open(ctx context.Context) (int, error) {
	var q statement
	q.sql = fmt.Sprintf("SELECT count(*) FROM %s WHERE opened IS NOT NULL", t.names.threads)
	rows, err := t.read(ctx, &q)
	if err != nil || len(rows) != 1 {
		return 0, err
	}
	f := fields{row: rows[0]}
	return int(f.int()), f.err
}

// forgetBatch is the largest number of rows that one statement forgets, so that it does not hold
// locks for long.
const forgetBatch = 200

// Forget implements engine.Table. Several processes may forget rows at the same time, because each
// selects rows that no other process has locked. A row that is being written is not forgotten.
func (t *table) Forget(ctx context.Context) (int, error) {
	var q statement
	q.sql = fmt.Sprintf("WITH gone AS (SELECT key FROM %[1]s WHERE gone <= statement_timestamp() ORDER BY gone LIMIT %[3]s FOR UPDATE SKIP LOCKED),"+
		" dropped AS (DELETE FROM %[2]s s USING gone WHERE s.key = gone.key)"+
		" DELETE FROM %[1]s t USING gone WHERE t.key = gone.key RETURNING t.key", t.names.threads, t.names.snapshots, q.int(forgetBatch))
	rows, err := t.write(ctx, &q)
	if isOvertaken(err) {
		return 0, nil
	}
	return len(rows), err
}

// Stop implements engine.Table.
func (t *table) Stop() error {
	t.ready.Stop()
	t.pool.Close()
	return nil
}

// maxReads is how often a read is tried if a concurrent transaction prevents it. With the default
// isolation level that does not happen.
const maxReads = 20

// read runs a statement that changes nothing. It repeats the statement if the connection broke. An
// idle connection may have broken long ago.
func (t *table) read(ctx context.Context, q *statement) (rows [][][]byte, err error) {
	for range maxReads {
		if rows, err = t.ask(ctx, q, func(error) bool { return true }); !isOvertaken(err) {
			break
		}
	}
	return rows, err
}

// write runs a statement that changes something. It repeats the statement only if nothing was sent.
func (t *table) write(ctx context.Context, q *statement) ([][][]byte, error) {
	return t.ask(ctx, q, isUnsent)
}

func (t *table) ask(ctx context.Context, q *statement, mayRetry func(error) bool) ([][][]byte, error) {
	if err := t.ready.Err(ctx); err != nil {
		return nil, err
	}
	rows, broke, err := t.askOnce(ctx, q)
	if broke && ctx.Err() == nil && mayRetry(err) {
		rows, _, err = t.askOnce(ctx, q)
	}
	if err != nil {
		return nil, operatorError(err)
	}
	return rows, nil
}

// askOnce runs a statement on one connection. isBroken means that the connection can no longer be
// used. If the server may have gone, askOnce also resets the pool, because the other connections
// may lead to the same server.
func (t *table) askOnce(ctx context.Context, q *statement) (rows [][][]byte, isBroken bool, err error) {
	c, err := t.pool.Acquire(ctx)
	if err != nil {
		return nil, false, noConnection(ctx, err)
	}
	defer c.Release()
	conn := c.Conn().PgConn()
	conn.CustomData()[warned] = false
	r := conn.ExecParams(ctx, q.sql, q.values, q.types, inBinary, inBinary).Read()
	if r.Err == nil {
		q.warned = conn.CustomData()[warned] == true
		return r.Rows, false, nil
	}
	closed := c.Conn().IsClosed()
	// If the server does not answer in time, it may have gone without closing the connection. If it
	// is read-only, it may have been the primary, and is a standby now.
	if closed && !errors.Is(ctx.Err(), context.Canceled) || readOnly(r.Err) {
		t.pool.Reset()
	}
	return nil, closed && ctx.Err() == nil, r.Err
}
