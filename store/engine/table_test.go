package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"runtime"
	"sync"
	"testing"
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/cursor"
	"holdpoint/store/storetest"
)

// TestContractOnATable: the engine must fulfill the contract of a store on the simplest table. That
// is a map that lets other steps run between a read and a write.
func TestContractOnATable(t *testing.T) {
	open := func(now func(*storetest.Clock) func() time.Time, keys string) func(*testing.T, *storetest.Clock, storetest.Options) store.Store {
		ring, err := ParseRing(keys)
		if err != nil {
			t.Fatal(err)
		}
		return func(t *testing.T, c *storetest.Clock, o storetest.Options) store.Store {
			s := New(newMapTable(now(c)), Options{
				ReplayTTL:      o.ReplayTTL,
				PauseRetention: o.PauseRetention,
				RecordBytes:    o.RecordBytes,
				Keys:           ring,
				Entries:        o.Entries,
				Sweep:          -1,
			})
			t.Cleanup(func() {
				if err := s.Stop(); err != nil {
					t.Error(err)
				}
			})
			return s
		}
	}
	set := func(c *storetest.Clock) func() time.Time { return c.Now }
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, open(set, ""), storetest.Unbounded)
	})
	t.Run("sealed", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, open(set, "k1:"+testKey(1)), storetest.Unbounded)
	})
	t.Run("with its own clock", func(t *testing.T) {
		if testing.Short() {
			t.Skip("waits for time to go by")
		}
		t.Parallel()
		storetest.Run(t, open(func(*storetest.Clock) func() time.Time { return time.Now }, ""), storetest.Unbounded, storetest.OwnClock)
	})
}

// A mapTable is a Table in memory.
type mapTable struct {
	mu        sync.Mutex
	now       func() time.Time
	rows      map[store.Key]*mapRow
	guards    bool  // a guarded change waits for replicas
	unguarded bool  // the replicas do not confirm the change
	broken    error // the error that every call returns
	blind     bool  // Write does not compare the revision
	// breaks, if not nil, is called for each Write. Its first result reports whether the connection
	// breaks before the write, the second one whether it breaks after the write.
	breaks func() (before, behind bool)
}

type mapRow struct {
	Row
	snapshots          map[string][]byte
	opened, due, until time.Time
	notify             time.Time
	headWrites, bodies int
}

var errCut = errors.New("the connection broke")

func newMapTable(now func() time.Time) *mapTable {
	return &mapTable{now: now, rows: map[store.Key]*mapRow{}}
}

func (m *mapTable) Read(_ context.Context, key store.Key, body bool) (Row, error) {
	runtime.Gosched()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return Row{}, m.broken
	}
	row := Row{Now: m.now(), Guards: m.guards}
	if r, ok := m.rows[key]; ok {
		row.Revision, row.Head = r.Revision, r.Head
		if body {
			row.Body = r.Body
		}
	}
	return row, nil
}

func (m *mapTable) Write(_ context.Context, key store.Key, c Change) (bool, error) {
	runtime.Gosched()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return false, m.broken
	}
	before, behind := false, false
	if m.breaks != nil {
		if before, behind = m.breaks(); before {
			return false, errCut
		}
	}
	r, ok := m.rows[key]
	if !ok {
		r = &mapRow{snapshots: map[string][]byte{}}
	}
	if r.Revision != c.From && !m.blind {
		return false, nil
	}
	r.Revision, r.Head, r.opened, r.due, r.until = c.To, c.Head, c.Opened, c.Due, c.ForgetAt
	if c.Notify != nil {
		r.notify = *c.Notify
	}
	r.headWrites++
	if c.Body != nil {
		r.Body = c.Body
		r.bodies++
	}
	for _, name := range c.Drop {
		delete(r.snapshots, name)
	}
	maps.Copy(r.snapshots, c.Put)
	m.rows[key] = r
	switch {
	case behind:
		return false, errCut
	case c.Guard && m.unguarded:
		return true, ErrNotGuarded
	}
	return true, nil
}

func (m *mapTable) Snapshot(_ context.Context, key store.Key, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, m.broken
	}
	if r, ok := m.rows[key]; ok {
		return r.snapshots[name], nil
	}
	return nil, nil
}

func (m *mapTable) List(_ context.Context, q store.Query, after cursor.Cursor) ([]store.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var rows []store.Row
	for key, r := range m.rows {
		row, listed := store.Row{Key: key, Opened: r.opened, Due: r.due}, !r.opened.IsZero()
		if q.WithNotices {
			row, listed = store.Row{Key: key, Due: r.notify}, !r.notify.IsZero()
		}
		if listed && (q.Due.IsZero() || !row.Due.After(q.Due)) && after.Before(cursor.Of(q, row)) {
			rows = append(rows, row)
		}
	}
	cursor.Sort(q, rows)
	return rows, nil
}

// the rows themselves are the list, so there is no entry to remove
func (m *mapTable) Unlist(context.Context, store.Key) error { return nil }

func (m *mapTable) Open(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, r := range m.rows {
		if !r.opened.IsZero() {
			n++
		}
	}
	return n, m.broken
}

func (m *mapTable) Forget(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for key, r := range m.rows {
		if !r.until.IsZero() && !m.now().Before(r.until) {
			delete(m.rows, key)
			n++
		}
	}
	return n, m.broken
}

func (m *mapTable) Stop() error { return nil }

func testKey(n byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, 32))
}
