// Package engine implements store.Store on a table of rows, for engines that keep records outside
// of the process. Such an engine implements Table, and this package does the rest: each step reads
// a row, settles it, applies the step with store/internal/rules, and writes the row back if nobody
// else has written it since.
//
// A record is stored in three parts, so that no step reads or writes more than it needs. The head
// is small and changes often: it has the owner, the claim and its lease. The body has the pause and
// the results, without snapshots. Each pair of snapshots is stored separately, is written once, and
// is read only by Snapshots.
//
// The package knows no server. Each step reads the table: between two steps nothing of a record is
// kept except for decoded bodies (decodedBodies).
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

// A Row is the content of a Table for a key. Revision 0 means that there is none.
type Row struct {
	Revision   int64
	Head, Body []byte    // read-only; Body is nil if it was not requested, or if there is none
	Now        time.Time // the table's clock at the time of the Read
	// Guards means that a guarded change counts only after other servers have it. So the row that
	// was read may not be safe: its writer may still be waiting for the other servers, or may have
	// waited in vain.
	Guards bool
}

// A Change is the effect of a step on a row.
type Change struct {
	From int64  // the revision that the row must have, 0 if there must be no row
	To   int64  // the revision that the row gets
	Head []byte // never nil
	Body []byte // nil: as it is
	Put  map[string][]byte
	Drop []string // snapshots by name; one that is not there is no error
	// Opened and Due are the row's places in the two lists of open threads. Both are zero if it is
	// not open. The lists change together with the row, or before it.
	Opened, Due time.Time
	// Gone is when the row may be forgotten, or zero if it is open. Until then it is read and
	// written like any other.
	Gone time.Time
	// Notify moves the row's place in the list of notices to send. Nil leaves it, and the zero time
	// removes it. The list changes like the others.
	Notify *time.Time
	// Guard means that the change counts only if the server has made it as safe as the table was
	// configured to require, for example by a copy on its replicas.
	Guard bool
}

// A Table keeps rows. Its methods are safe for concurrent use, and for several processes unless the
// table says otherwise. After an error the state of the table is unknown: a Write may have been
// done.
type Table interface {
	// Read returns the row with its head, and with its body if requested.
	Read(ctx context.Context, key store.Key, body bool) (Row, error)
	// Write applies the whole change or nothing. It returns false, without a change, if the row
	// does not have the revision c.From. ErrNotGuarded means that the change was applied and is not
	// safe.
	Write(ctx context.Context, key store.Key, c Change) (bool, error)
	// Snapshot returns what Change.Put stored under the name, or nil.
	Snapshot(ctx context.Context, key store.Key, name string) ([]byte, error)
	// List returns the open rows, or with q.Unsent the rows in the list of notices to send, sorted
	// as by cursor.Sort and after the cursor. It returns all of them, or one more than fits on a
	// page.
	List(ctx context.Context, q store.Query, after cursor.Cursor) ([]store.Row, error)
	// Unlist removes a key without a row from the list of notices to send.
	Unlist(ctx context.Context, key store.Key) error
	// Open returns the number of open rows, which may be slightly outdated.
	Open(ctx context.Context) (int, error)
	// Forget removes some of the rows whose time is over, and returns how many. It returns 0 if the
	// table's server removes them by itself.
	Forget(ctx context.Context) (int, error)
	// Stop releases the table's resources.
	Stop() error
}

// ErrNotGuarded means that a change was applied, but is not safe enough to count.
var ErrNotGuarded = errors.New("not enough replicas have the change")

// Options of a Store. Zero values mean the defaults.
type Options struct {
	ReplayTTL      time.Duration // how long a result can be replayed, unless an interrupt of its pause expires later
	PauseRetention time.Duration // how long a pause without an answer, or in doubt, is kept
	RecordBytes    int           // maximum size of a record with its snapshots; above it the snapshots are dropped
	Entries        int           // maximum number of open threads, 0 for no limit
	// LongestLease is the longest lease that a caller requests. A longer one must come from a clock
	// that was ahead. 0 means unknown.
	LongestLease time.Duration
	Keys         Ring // keys that encrypt records
	Logger       *slog.Logger
	// Ended, if set, is called with each pause that ended without an answer, by time or because
	// another question replaced it: Retired, or Doubtful if no caller reported that. The process
	// whose step ended it calls it after the step. If the reply to that step is lost, it is not
	// called.
	Ended func(store.Key, *store.Result)
	// Notices, if set, returns the notices of a pause for which Ended is called. The step that ends
	// the pause writes them.
	Notices func(store.Key, *store.Result) []store.Notice
	// NoticesLost, if set, is called with the number of notices that were given up, see
	// store.MaxNotices.
	NoticesLost func(int)
	// Sweep is the interval at which expired pauses are written down and old rows are forgotten. 0
	// means one minute, and a negative value never.
	Sweep time.Duration
}

// A Store is a store.Store on a Table.
type Store struct {
	table  Table
	policy rules.Policy
	keys   atomic.Pointer[Ring] // never nil
	log    *slog.Logger
	bound  bound
	sweep  sweep
	known  decodedBodies
	safe   *lru.Cache[string, struct{}] // ids of pauses whose change is known to be safe
	ended  func(store.Key, *store.Result)

	notices func(store.Key, *store.Result) []store.Notice
	lost    func(int) // never nil
}

// safePauses limits how many pauses the store remembers as confirmed by its replicas. Any other
// pause is written once more.
const safePauses = 1 << 14

var _ store.Store = (*Store)(nil)

// New returns a Store that owns the table. Stop ends it.
func New(t Table, o Options) *Store {
	p := rules.Policy{ReplayTTL: o.ReplayTTL, PauseRetention: o.PauseRetention, RecordBytes: o.RecordBytes, LongestLease: o.LongestLease}.WithDefaults()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	safe, _ := lru.New[string, struct{}](safePauses) // it fails only for a size below 1
	s := &Store{table: t, policy: p, log: o.Logger, bound: bound{most: o.Entries, table: t}, safe: safe, ended: o.Ended, notices: o.Notices, lost: o.NoticesLost}
	if s.lost == nil {
		s.lost = func(int) {}
	}
	s.keys.Store(&o.Keys)
	s.sweep.begin(s, o.Sweep)
	return s
}

// A lossyTable is a Table that can report whether its server may lose a change that counted.
type lossyTable interface {
	Forgets(ctx context.Context) bool
}

// Forgets reports whether the store may lose the latest changes although they counted, as a server
// does if its standby takes over while it is behind.
func (s *Store) Forgets(ctx context.Context) bool {
	t, ok := s.table.(lossyTable)
	return ok && t.Forgets(ctx)
}

// Stop ends the Store's background work and releases the table.
func (s *Store) Stop() error {
	s.sweep.end()
	return s.table.Stop()
}

// Load implements store.Store. The caller may show a loaded pause to a client, so Load first makes
// it safe unless this process knows that it is, see Row.Guards.
func (s *Store) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	done, err := s.do(ctx, key, rules.Load(owner))
	if err != nil {
		return store.Record{Now: done.Now}, err
	}
	return *done.Standing, nil
}

// Do implements store.Store. If the pause of an Ask is not safe, it stays in the store: the agent
// waits, and the thread's next run may show the pause once it is safe. If the next pause of a
// Finish is not safe yet, it must not be shown, and nothing can be undone. The caller may call Do
// again.
func (s *Store) Do(ctx context.Context, key store.Key, step store.Step) (store.Done, error) {
	st := rules.Of(step)
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

func notAsked(err error) error { return fmt.Errorf("store: not asked: %w", err) }

// undo takes back a change that did not count, within its caller's time. If that fails, the caller
// may do it, or the claim's lease lapses. It never continues after Do has returned, because the
// same claim may then be made again, and count.
func (s *Store) undo(ctx context.Context, key store.Key, st rules.Step) {
	if _, err := s.do(ctx, key, st); err != nil {
		s.log.Warn(logNotTakenBack, "err", err)
	}
}

// firstRevision returns the first revision of a new row. It is random, so that a late write to a
// forgotten row does not change the row that replaced it.
func firstRevision() int64 {
	var b [8]byte
	rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:])>>2) + 1 // at most three quarters of the range, so that revisions can increase
}
