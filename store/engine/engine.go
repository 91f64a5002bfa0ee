// Package engine is a store.Store on a table of rows. An engine that keeps its records elsewhere
// than in this process is a Table, and the rest is here: each step reads a row, settles it, does
// what store/internal/rules says, and writes the row back if nobody else has written it since.
//
// A record lies in three parts, so that no step moves more than it must. The head is small and
// changes often: who has the thread, the claim, its lease. The body has the pause and the results
// without snapshots. Each pair of snapshots stands by itself, is written once, and is read only by
// Snapshots.
//
// It deliberately knows nothing of a server. Each step asks the table: between two steps it keeps
// nothing of a record but what bytes were decoded to.
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

// A Row is what a Table has for a key. Revision 0: there is none.
type Row struct {
	Revision   int64
	Head, Body []byte    // nobody writes into them. Body nil: it was not asked for, or there is none
	Now        time.Time // the table's clock at the time of the Read
	// Guards says that the table waits for others before a guarded change counts. So what it shows
	// may not be safe: whoever wrote it may still wait, or may have waited in vain.
	Guards bool
}

// A Change is what a step does to a row.
type Change struct {
	From int64  // the revision that the row must have; 0: there must be none
	To   int64  // the one that it gets
	Head []byte // never nil
	Body []byte // nil: as it is
	Put  map[string][]byte
	Drop []string // snapshots by name; one that is not there is no error
	// Opened and Due are the row's places in the two lists of what waits. Both are zero if it does
	// not wait. The lists change with the row, or before it.
	Opened, Due time.Time
	// Gone is when the row may be forgotten, zero if it waits. Until it has been forgotten it is
	// read and written as any other.
	Gone time.Time
	// Notify moves the row's place in the list of what is to be sent; nil: as it is. The zero time
	// is not a place. The list changes as the others do.
	Notify *time.Time
	// Guard says that the change counts only when it is as safe as the table was told to make it.
	Guard bool
}

// A Table keeps rows. Its methods are safe for concurrent use and for several processes, unless the
// table says that it is for one. An error says that the table could not be asked, and that a Write
// may have been done.
type Table interface {
	// Read returns the row with its head, and with its body if that is wanted.
	Read(ctx context.Context, key store.Key, body bool) (Row, error)
	// Write changes the row, all of it or nothing. It returns false if the row has another revision
	// than c.From, and has changed nothing then. ErrNotGuarded: it is done, and not safe.
	Write(ctx context.Context, key store.Key, c Change) (bool, error)
	// Snapshot returns what Change.Put had under the name, nil if nothing.
	Snapshot(ctx context.Context, key store.Key, name string) ([]byte, error)
	// List returns the rows that wait, or with q.Unsent those with a place in the list of what is to
	// be sent. They are sorted as cursor.Sort does it, and follow after: all there are, or one more
	// than a page holds.
	List(ctx context.Context, q store.Query, after cursor.Cursor) ([]store.Row, error)
	// Unlist takes a key out of that list that has no row.
	Unlist(ctx context.Context, key store.Key) error
	// Open counts the rows that wait. It may be a little behind.
	Open(ctx context.Context) (int, error)
	// Forget drops rows that are gone, some at a time. It returns how many. A table whose server
	// does that by itself returns 0.
	Forget(ctx context.Context) (int, error)
	// Stop gives back what the table holds.
	Stop() error
}

// ErrNotGuarded says that a change was done, but is not as safe as it must be to count.
var ErrNotGuarded = errors.New("not enough replicas have the change")

// Options of a Store. Zero values: the defaults.
type Options struct {
	ReplayTTL      time.Duration // a result, unless an interrupt of its pause expires later
	PauseRetention time.Duration // a pause that nobody answers, and one in doubt that nobody asks about
	RecordBytes    int           // how large a record may be with its snapshots; over it they go
	Entries        int           // how many threads may wait; 0: no bound
	// LongestLease is the longest that a caller gives. By it a lease is known that a clock gave
	// which was ahead. 0: not known.
	LongestLease time.Duration
	Keys         Ring // what records are sealed with
	Logger       *slog.Logger
	// Ended is called with each pause that nobody ended but time, or a question that it gave way
	// to: Retired, or Doubtful without anybody having said so. It is called behind the step, by
	// whoever's step it was. If the reply to that step is lost, nobody is called. nil: nobody is.
	Ended func(store.Key, *store.Result)
	// Notices are those of a pause that Ended is called with. The step writes them that ends it.
	// nil: there are none, and no step brings any.
	Notices func(store.Key, *store.Result) []store.Notice
	// NoticesLost is called with how many were given up; see store.MaxNotices. nil: nobody is.
	NoticesLost func(int)
	// Sweep is how often what time has done is written down, and what is gone forgotten. 0: every
	// minute; below 0: never.
	Sweep time.Duration
}

// Store is a store.Store on a Table.
type Store struct {
	table  Table
	policy rules.Policy
	keys   atomic.Pointer[Ring] // never nil
	log    *slog.Logger
	bound  bound
	sweep  sweep
	known  decodedBodies
	safe   *lru.Cache[string, struct{}] // pauses by their ids, of which a guarded change is safe
	ended  func(store.Key, *store.Result)

	notices func(store.Key, *store.Result) []store.Notice
	lost    func(int) // never nil
}

// safePauses bounds what is remembered of them. One that is forgotten is written again.
const safePauses = 1 << 14

var _ store.Store = (*Store)(nil)

// New returns a Store on the table, which is the Store's from then on. Stop ends it.
func New(t Table, o Options) *Store {
	p := rules.Policy{ReplayTTL: o.ReplayTTL, PauseRetention: o.PauseRetention, RecordBytes: o.RecordBytes, LongestLease: o.LongestLease}.WithDefaults()
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	safe, _ := lru.New[string, struct{}](safePauses) // an error only of a size below 1
	s := &Store{table: t, policy: p, log: o.Logger, bound: bound{most: o.Entries, table: t}, safe: safe, ended: o.Ended, notices: o.Notices, lost: o.NoticesLost}
	if s.lost == nil {
		s.lost = func(int) {}
	}
	s.keys.Store(&o.Keys)
	s.sweep.begin(s, o.Sweep)
	return s
}

// A lossyTable table knows whether its server may lose a change that counted, and keep those before
// it.
type lossyTable interface {
	Forgets(ctx context.Context) bool
}

// Forgets reports whether the store may lose a change that counted, and keep those before it, as a
// server does whose standby is behind when it takes over.
func (s *Store) Forgets(ctx context.Context) bool {
	t, ok := s.table.(lossyTable)
	return ok && t.Forgets(ctx)
}

// Stop ends the Store's own work and gives back what the table holds.
func (s *Store) Stop() error {
	s.sweep.end()
	return s.table.Stop()
}

// Load is store.Store's. Whoever loads a pause may tell it, so it is made safe first if nobody here
// knows that it is: see Row.Guards.
func (s *Store) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	done, err := s.do(ctx, key, rules.Load(owner))
	if err != nil {
		return store.Record{Now: done.Now}, err
	}
	return *done.Standing, nil
}

// Do is store.Store's. The pause of an Ask that is not safe stays: the agent waits with it, so the
// thread's next run may tell it, once it is safe. The next pause of a Finish that is not safe yet
// must not be told, and nothing can be undone: the caller may call again.
func (s *Store) Do(ctx context.Context, key store.Key, step store.Step) (store.Done, error) {
	st := rules.Of(step)
	done, err := s.do(ctx, key, st)
	if undoing, is := st.Undo(); is && errors.Is(err, ErrNotGuarded) {
		s.undo(ctx, key, undoing)
	}
	return done, err
}

// Snapshots is store.Store's.
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

// List is store.Store's.
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

// undo takes a change back that did not count, in its caller's time. If that fails, the caller may
// do it, or time does it: the claim's lease lapses. It never goes on behind Do, because the same
// claim may be made again then, and count.
func (s *Store) undo(ctx context.Context, key store.Key, st rules.Step) {
	if _, err := s.do(ctx, key, st); err != nil {
		s.log.Warn("a change that did not count could not be taken back", "err", err)
	}
}

// firstRevision returns where the revisions of a new row begin. It is random, so that a late write
// for a row that was forgotten does not hit the one that took its place.
func firstRevision() int64 {
	var b [8]byte
	rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:])>>2) + 1 // a quarter of all revisions are left to go up
}
