// Package engine implements store.Store on a table of rows, for stores that keep records outside of
// the process. Such a store implements Table, and this package does the rest. Each step reads a
// row, ends what has expired by now, applies the step with store/internal/rules, and writes the row
// back if it was not changed meanwhile.
//
// A record is stored in three parts, so that each step reads and writes only the parts that it
// needs. The head is small and changes often: it has the owner, the claim and its lease. The body
// has the pause and the results, without snapshots. Each pair of snapshots is stored separately, is
// written once, and is read only by the method Snapshots.
//
// The package does not know which server has the table. Each step reads the table. Between two
// steps, the process keeps nothing of a record except decoded bodies (decodedBodies).
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdpoint/store"
	"holdpoint/store/internal/cursor"
	"holdpoint/store/internal/rules"
)

// A Row is what a Table has for a key. If there is no row for the key, Revision is 0.
type Row struct {
	Revision   int64
	Head, Body []byte    // read-only; Body is nil if it was not requested, or if the row has no body
	Now        time.Time // the time of the Read, by the table's clock
	// Guards means that a guarded change counts only when other servers have it too. So the row
	// that was read may not be safe yet: its writer may still be waiting for the other servers, or
	// may have given up waiting.
	Guards bool
}

// A Change is what a step changes in a row.
type Change struct {
	From int64  // the revision that the row must have, 0 if the row must not exist
	To   int64  // the revision that the row then has
	Head []byte // never nil
	Body []byte // nil: the body stays as it is
	Put  map[string][]byte
	Drop []string // names of snapshots to remove; a name without a snapshot is not an error
	// Opened and Due are the times of the row in the two lists of open threads. Both are zero if
	// the row is not open. The lists change together with the row, or before it.
	Opened, Due time.Time
	// ForgetAt is the time from which the row may be forgotten. It is zero if the row is open. Until
	// that time the row is read and written like any other row.
	ForgetAt time.Time
	// Notify is the new time of the row in the list of notices to send. Nil means that the list
	// stays as it is, and the zero time removes the row from it. The list changes together with the
	// row, or before it.
	Notify *time.Time
	// Guard means that the change counts only if it is as safe as the table was configured to
	// require, for example if the server's replicas have a copy.
	Guard bool
}

// A Table keeps rows. Its methods are safe for concurrent use, also by several processes unless the
// table's documentation excludes this. After an error it is not known what the table contains: a
// Write may have been done.
type Table interface {
	// Read returns the row with its head, and with its body if requested.
	Read(ctx context.Context, key store.Key, body bool) (Row, error)
	// Write applies the whole change or nothing. If the row does not have the revision c.From, it
	// changes nothing and returns false. ErrNotGuarded means that the change was applied but is not
	// safe.
	Write(ctx context.Context, key store.Key, c Change) (bool, error)
	// Snapshot returns the bytes that Change.Put stored under the name, nil if there are none.
	Snapshot(ctx context.Context, key store.Key, name string) ([]byte, error)
	// List returns the open rows, or with q.Unsent the rows in the list of notices to send. The
	// rows are sorted as by cursor.Sort, and begin after the given cursor. List returns all these
	// rows, or one row more than fits on a page.
	List(ctx context.Context, q store.Query, after cursor.Cursor) ([]store.Row, error)
	// Unlist removes a key from the list of notices to send, if the key has no row.
	Unlist(ctx context.Context, key store.Key) error
	// Open returns the number of open rows. The number may be slightly outdated.
	Open(ctx context.Context) (int, error)
	// Forget removes some of the rows whose time ForgetAt is over. It returns the number of removed
	// rows. If the table's server removes such rows by itself, it returns 0.
	Forget(ctx context.Context) (int, error)
	// Stop releases the table's resources.
	Stop() error
}

// ErrNotGuarded means that a change was applied but is not safe, so it does not count.
var ErrNotGuarded = errors.New(textNotGuarded)

// Options configure a Store. A zero value means the default.
type Options struct {
	// how long a result can be replayed; longer if an interrupt of its pause expires later
	ReplayTTL      time.Duration
	PauseRetention time.Duration // how long a pause is kept that got no answer or is in doubt
	// maximum size of a record with its snapshots, in bytes; larger records lose their snapshots
	RecordBytes int
	Entries     int // maximum number of open threads; 0: no limit
	// LongestLease is the longest lease that a caller requests. If a record has a longer lease, the
	// clock of its writer was ahead. 0 means that the longest lease is unknown.
	LongestLease time.Duration
	Keys         Ring // keys that encrypt records
	Logger       *slog.Logger
	// OnEnded may be nil. It is called with the result of each pause that ended without an answer, by
	// time or because another question replaced the pause. The result is Retired, or Doubtful if no
	// caller has reported the doubt. The process whose step ended the pause calls OnEnded after the
	// step. If the reply to that step is lost, OnEnded is not called.
	OnEnded func(store.Key, *store.Result)
	// Notices may be nil. It returns the notices about a pause for which OnEnded is called. The step
	// that ends the pause writes these notices.
	Notices func(store.Key, *store.Result) []store.Notice
	// NoticesLost may be nil. It is called with the number of notices that were given up, see
	// store.MaxNotices.
	NoticesLost func(int)
	// Sweep is the interval at which the Store ends expired pauses and forgets old rows. 0 means
	// one minute. A negative value means that it never does this.
	Sweep time.Duration
}

// A Store is a store.Store on a Table.
type Store struct {
	table   Table
	policy  rules.Policy
	keys    atomic.Pointer[Ring] // never nil
	log     *slog.Logger
	bound   bound
	sweep   sweep
	known   decodedBodies
	safe    *lru.Cache[string, struct{}] // ids of pauses that are known to be safe
	onEnded func(store.Key, *store.Result)

	notices       func(store.Key, *store.Result) []store.Notice
	onNoticesLost func(int) // never nil
}

// safePauses is the largest number of pauses that the store remembers as confirmed by the server's
// replicas. If a pause is not remembered, it is written once more before it is shown.
const safePauses = 1 << 14

var _ store.Store = (*Store)(nil)

// New returns a Store that owns the table. Stop ends it.
func New(t Table, o Options) *Store {
	p := rules.Policy{ReplayTTL: o.ReplayTTL, PauseRetention: o.PauseRetention, RecordBytes: o.RecordBytes, LongestLease: o.LongestLease}.WithDefaults()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	safe, _ := lru.New[string, struct{}](safePauses) // an error is possible only for a size below 1
	s := &Store{table: t, policy: p, log: o.Logger, bound: bound{limit: o.Entries, table: t}, safe: safe, onEnded: o.OnEnded, notices: o.Notices, onNoticesLost: o.NoticesLost}
	if s.onNoticesLost == nil {
		s.onNoticesLost = func(int) {}
	}
	s.keys.Store(&o.Keys)
	s.sweep.begin(s, o.Sweep)
	return s
}

// A lossyTable is a Table with the method Forgets, see Store.Forgets.
type lossyTable interface {
	Forgets(ctx context.Context) bool
}

// Forgets reports whether the server may lose the latest changes although they counted. This
// happens if a standby takes over while it lacks these changes.
func (s *Store) Forgets(ctx context.Context) bool {
	t, ok := s.table.(lossyTable)
	return ok && t.Forgets(ctx)
}

// Stop ends the Store's background work and releases the table.
func (s *Store) Stop() error {
	s.sweep.end()
	return s.table.Stop()
}

// Load implements store.Store. The caller may show the loaded pause to a client. So if this process
// does not know that the pause is safe, Load first makes it safe, see Row.Guards.
func (s *Store) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	done, err := s.do(ctx, key, rules.Load(owner))
	if err != nil {
		return store.Record{Now: done.Now}, err
	}
	return *done.Standing, nil
}

// Do implements store.Store. The pause of a step Ask may not be safe. It then stays in the store,
// because the agent waits, and the thread's next run may show the pause when it is safe. The next
// pause of a step Finish may not be safe either. It must not be shown then, and the step cannot be
// undone; the caller may call Do again.
func (s *Store) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	st := rules.StepOf(step)
	done, err := s.do(ctx, key, st)
	if undoing, is := st.Undo(); is && errors.Is(err, ErrNotGuarded) {
		s.undo(ctx, key, undoing)
	}
	return done, err
}

// Snapshots implements store.Store.
func (s *Store) Snapshots(ctx context.Context, key store.Key, pauseID string, at store.Moment) (store.Snapshots, error) {
	if err := ctx.Err(); err != nil {
		return store.Snapshots{}, notAsked(err)
	}
	name := snapshotName(rules.Ref{PauseID: pauseID, At: at})
	sealed, err := s.table.Snapshot(ctx, key, name)
	if err != nil || sealed == nil {
		return store.Snapshots{}, err
	}
	return s.openSnapshots(key, name, sealed)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	if err := ctx.Err(); err != nil {
		return store.Page{}, notAsked(err)
	}
	after, err := cursor.Parse(q.After)
	if err != nil {
		return store.Page{}, err
	}
	rows, err := s.table.List(ctx, q, after)
	if err != nil {
		return store.Page{}, err
	}
	return cursor.Page(q, rows), nil
}

func notAsked(err error) error { return fmt.Errorf(textNotAsked, err) }

// undo undoes a change that did not count, within the time limit of the caller. If that fails, the
// caller may do it later, or the lease of the claim lapses. undo never continues after Do has
// returned, because the caller may then make the same claim again, and that claim may count.
func (s *Store) undo(ctx context.Context, key store.Key, st rules.Step) {
	if _, err := s.do(ctx, key, st); err != nil {
		s.log.Warn(logNotTakenBack, "err", err)
	}
}

// firstRevision returns the first revision of a new row. It is random. So if a row was forgotten
// and replaced, a late write to the old row does not change the new row.
func firstRevision() int64 {
	var b [8]byte
	rand.Read(b[:])
	// at most half of the largest int64, so that revisions can increase
	return int64(binary.BigEndian.Uint64(b[:])>>2) + 1
}
