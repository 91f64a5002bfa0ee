// Package bolt keeps records in one file, for one process. When a client gets an event, the change
// that the event reports is already in the file, even if the process then crashes at any
// instruction. The package is a Table of package engine on go.etcd.io/bbolt.
//
// Each change counts only when it is on the disk. Changes that arrive at the same time share an
// fsync. A lock on the file ensures that only one process writes it. The file does not shrink: new
// records use the space of forgotten records.
package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/internal/cursor"
)

// Options of a Store.
type Options struct {
	engine.Options
	// Now is the store's clock. If it is nil, time.Now is used.
	Now func() time.Time
	// LockTimeout is how long Open waits for another process to close the file. 0 means one second.
	LockTimeout time.Duration
}

// ErrInUse is the error that Open returns if another process has the file open.
var ErrInUse = errors.New(textInUse)

// OpenWhenFree opens the file like Open, but waits while another process has it open, because the
// successor of a pod starts before the pod has ended. It calls waits once, when it begins to wait.
// If ctx ends first, it returns the cause of that.
func OpenWhenFree(ctx context.Context, path string, o Options, waits func()) (*engine.Store, error) {
	// how soon the end of ctx is noticed; the lock is tried more often
	const look = 200 * time.Millisecond
	o.LockTimeout = look
	for first := true; ; first = false {
		s, err := Open(path, o)
		if !errors.Is(err, ErrInUse) {
			return s, err
		}
		if first {
			waits()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// Open opens the file. If the file does not exist, Open creates it, and its folder. It returns
// ErrInUse if another process has the file open.
func Open(path string, o Options) (*engine.Store, error) {
	t := &table{now: o.Now}
	if t.now == nil {
		t.now = time.Now
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = time.Second
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, options(o.LockTimeout))
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf(textOtherProcess, path, ErrInUse)
	case err != nil:
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	t.db, t.writes.db = db, db
	if err := t.prepare(); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	return engine.New(t, o.Options), nil
}

// options returns the options for bbolt. The list of free pages is not stored in the file, because
// each step would write the whole list: 8 bytes for each page that forgotten records have left.
// With 1,000,000 threads in the file a Claim would take 2.2 ms instead of 0.7 ms. At the start the
// list is rebuilt by reading the file: this takes 1.1 s for 3.7 GB (go run ./bench
// store-million-bolt).
func options(lock time.Duration) *bbolt.Options {
	return &bbolt.Options{Timeout: lock, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true}
}

// These are the buckets of the file. A row begins with its revision and its three times, each in
// eight bytes, followed by its head. The buckets opened, due and gone are lists that are sorted by
// time and key.
var (
	metaBucket   = []byte("meta")
	rowsBucket   = []byte("rows")
	bodiesBucket = []byte("bodies")
	// the key is the record's key, a zero byte and the name of the snapshot
	snapshotsBucket = []byte("snapshots")
	// the key has time and key of an open row, the value has the time at which the row is due
	openedBucket = []byte("opened")
	dueBucket    = []byte("due") // like opened, but with the two times exchanged
	goneBucket   = []byte("gone")

	formatKey = []byte("format")
)

// format is the version of the file's format. The records have their own version, from package
// engine.
const format = "1"

type table struct {
	db     *bbolt.DB
	writes group
	now    func() time.Time
	open   atomic.Int64 // number of open rows
}

var _ engine.Table = (*table)(nil)

// prepare creates the buckets of a new file, and checks the format of an existing file.
func (t *table) prepare() error {
	return t.db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{metaBucket, rowsBucket, bodiesBucket, snapshotsBucket, openedBucket, dueBucket, goneBucket, unsentBucket, notifyBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		meta := tx.Bucket(metaBucket)
		switch has := string(meta.Get(formatKey)); has {
		case format:
		case "":
			if err := meta.Put(formatKey, []byte(format)); err != nil {
				return err
			}
		default:
			return fmt.Errorf(textNewerFile, has, format)
		}
		t.open.Store(int64(tx.Bucket(openedBucket).Stats().KeyN))
		return nil
	})
}

// rowTimes has the three times of a row, in microseconds since 1970. 0 means that the row has no
// such time.
type rowTimes struct{ opened, due, forgetAt int64 }

const fixed = 4 * 8

func micros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// split returns the parts of a row: its revision, its three times and its head.
func split(row []byte) (revision int64, p rowTimes, head []byte, err error) {
	if len(row) < fixed {
		return 0, p, nil, errors.New(textShortRow)
	}
	at := func(n int) int64 { return int64(binary.BigEndian.Uint64(row[8*n:])) }
	return at(0), rowTimes{at(1), at(2), at(3)}, row[fixed:], nil
}

func join(revision int64, p rowTimes, head []byte) []byte {
	row := make([]byte, 0, fixed+len(head))
	for _, n := range []int64{revision, p.opened, p.due, p.forgetAt} {
		row = binary.BigEndian.AppendUint64(row, uint64(n))
	}
	return append(row, head...)
}

// Read implements engine.Table.
func (t *table) Read(_ context.Context, key store.Key, body bool) (engine.Row, error) {
	row := engine.Row{Now: t.now()}
	err := t.db.View(func(tx *bbolt.Tx) error {
		has := tx.Bucket(rowsBucket).Get([]byte(key))
		if has == nil {
			return nil
		}
		revision, _, head, err := split(has)
		row.Revision, row.Head = revision, clone(head)
		if body {
			row.Body = clone(tx.Bucket(bodiesBucket).Get([]byte(key)))
		}
		return err
	})
	return row, err
}

// clone copies bytes that are valid only within a transaction.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// Write implements engine.Table.
func (t *table) Write(_ context.Context, key store.Key, c engine.Change) (done bool, err error) {
	more := int64(0)
	err = t.writes.update(func(tx *bbolt.Tx) (bool, error) {
		var was rowTimes
		rows := tx.Bucket(rowsBucket)
		revision := int64(0)
		done, more = false, 0
		if has := rows.Get([]byte(key)); has != nil {
			var err error
			if revision, was, _, err = split(has); err != nil {
				return false, err
			}
		}
		if revision != c.From {
			return false, nil
		}
		is := rowTimes{micros(c.Opened), micros(c.Due), micros(c.ForgetAt)}
		if was.opened != 0 {
			more--
		}
		if is.opened != 0 {
			more++
		}
		done = true
		return true, errors.Join(
			rows.Put([]byte(key), join(c.To, is, c.Head)),
			list(tx, key, was, is),
			notify(tx, key, c.Notify),
			contents(tx, key, c),
		)
	})
	if err != nil || !done {
		return false, err
	}
	t.open.Add(more)
	return true, nil
}

// list moves a row in the lists opened, due and gone from its old times to its new times.
func list(tx *bbolt.Tx, key store.Key, was, is rowTimes) error {
	if was == is {
		return nil
	}
	return errors.Join(
		move(tx.Bucket(openedBucket), key, was.opened, is.opened, is.due),
		move(tx.Bucket(dueBucket), key, was.due, is.due, is.opened),
		move(tx.Bucket(goneBucket), key, was.forgetAt, is.forgetAt, 0),
	)
}

func move(b *bbolt.Bucket, key store.Key, was, is, value int64) error {
	var err error
	if was != 0 && was != is {
		err = b.Delete(placeKey(was, key))
	}
	if is != 0 && err == nil {
		err = b.Put(placeKey(is, key), binary.BigEndian.AppendUint64(nil, uint64(value)))
	}
	return err
}

func placeKey(at int64, key store.Key) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(at)), key...)
}

// contents writes the body and the snapshots of a change.
func contents(tx *bbolt.Tx, key store.Key, c engine.Change) error {
	if c.Body != nil {
		if err := tx.Bucket(bodiesBucket).Put([]byte(key), c.Body); err != nil {
			return err
		}
	}
	snapshots := tx.Bucket(snapshotsBucket)
	for _, name := range c.Drop {
		if err := snapshots.Delete(snapshotKey(key, name)); err != nil {
			return err
		}
	}
	for name, put := range c.Put {
		if err := snapshots.Put(snapshotKey(key, name), put); err != nil {
			return err
		}
	}
	return nil
}

func snapshotKey(key store.Key, name string) []byte { return []byte(string(key) + "\x00" + name) }

// Snapshot implements engine.Table.
func (t *table) Snapshot(_ context.Context, key store.Key, name string) (found []byte, err error) {
	err = t.db.View(func(tx *bbolt.Tx) error {
		found = clone(tx.Bucket(snapshotsBucket).Get(snapshotKey(key, name)))
		return nil
	})
	return found, err
}

// List implements engine.Table.
func (t *table) List(_ context.Context, q store.Query, after cursor.Cursor) (rows []store.Row, err error) {
	bucket, values := openedBucket, 8
	if !q.Due.IsZero() {
		bucket = dueBucket
	}
	if q.WithNotices {
		bucket, values = unsentBucket, 0
	}
	from := placeKey(micros(after.Time), after.Key)
	err = t.db.View(func(tx *bbolt.Tx) error {
		at := tx.Bucket(bucket).Cursor()
		for k, v := at.Seek(from); k != nil && len(rows) <= q.Size(); k, v = at.Next() {
			if len(k) < 8 || len(v) < values {
				return errors.New(textShortPlace)
			}
			if string(k) == string(from) {
				continue
			}
			row := store.Row{Key: store.Key(k[8:])}
			when, other := &row.Opened, &row.Due
			if !q.Due.IsZero() {
				when, other = other, when
			}
			if *when = timeOf(int64(binary.BigEndian.Uint64(k))); !q.Due.IsZero() && when.After(q.Due) {
				return nil
			}
			if !q.WithNotices {
				*other = timeOf(int64(binary.BigEndian.Uint64(v)))
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// Open implements engine.Table.
func (t *table) Open(context.Context) (int, error) { return int(t.open.Load()), nil }

// forgetBatch is the largest number of rows that one transaction forgets, because other changes
// must wait for it.
const forgetBatch = 100

// Forget implements engine.Table.
func (t *table) Forget(context.Context) (int, error) {
	now, gone := t.now().UnixMicro(), [][]byte(nil)
	err := t.db.View(func(tx *bbolt.Tx) error {
		at := tx.Bucket(goneBucket).Cursor()
		for k, _ := at.First(); k != nil && len(gone) < forgetBatch; k, _ = at.Next() {
			if len(k) < 8 || int64(binary.BigEndian.Uint64(k)) > now {
				break
			}
			gone = append(gone, clone(k))
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	forgotten := 0
	err = t.db.Update(func(tx *bbolt.Tx) error {
		forgotten = 0
		for _, k := range gone {
			if tx.Bucket(goneBucket).Get(k) == nil {
				continue // the row has been used since then
			}
			if err := drop(tx, k); err != nil {
				return err
			}
			forgotten++
		}
		return nil
	})
	return forgotten, err
}

// drop removes a row with its body and its snapshots. k is the key of the row in the list gone.
func drop(tx *bbolt.Tx, k []byte) error {
	key := k[8:]
	var names [][]byte
	at, prefix := tx.Bucket(snapshotsBucket).Cursor(), append(clone(key), 0)
	for name, _ := at.Seek(prefix); name != nil && len(name) >= len(prefix) && string(name[:len(prefix)]) == string(prefix); name, _ = at.Next() {
		names = append(names, clone(name))
	}
	for _, name := range names {
		if err := tx.Bucket(snapshotsBucket).Delete(name); err != nil {
			return err
		}
	}
	return errors.Join(
		tx.Bucket(bodiesBucket).Delete(key), tx.Bucket(rowsBucket).Delete(key), tx.Bucket(goneBucket).Delete(k))
}

// Stop implements engine.Table.
func (t *table) Stop() error { return t.db.Close() }
