// Package store keeps what each thread waits for. It has the interface Store, a folder for each
// engine, and storetest, the tests that every engine must pass.
//
// It does not judge requests; internal/contract does. It knows nothing of HTTP and of dialects. It
// decides by a pause's id, its published interrupt ids, its times and Sticky. It only keeps the
// rest.
//
// Each Step is atomic, and on one key, so an engine needs a compare-and-set and no transaction. The
// steps do the same to a record in every engine: rules.Apply of store/internal/rules does them. An
// engine adds storage, a clock and its bounds.
package store

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A Key names a record. It is a hash of tenant, route, path and thread, made by proxy.
type Key string

// Errors of engines, wrapped or not; compare them with errors.Is.
var (
	ErrExists   = errors.New("store: a pause is open or claimed already")
	ErrNotFound = errors.New("store: no such pause")
	ErrReplay   = errors.New("store: the same answers were given already")
	ErrConflict = errors.New("store: the pause was answered otherwise, ended or is in doubt")
	ErrStale    = errors.New("store: something else began on the thread")
	ErrOwner    = errors.New("store: the thread belongs to another owner")
	ErrFull     = errors.New("store: full of open pauses")
	ErrShare    = errors.New("store: the open pauses from one address have their share of the store")

	// ErrUnread: the record exists and cannot be read. It is damaged, or encrypted with an unknown
	// key, or written by a newer version. The store itself works.
	ErrUnread = errors.New("store: the record cannot be read")
)

// IsAnswer reports whether err is an answer of the store to a step: one of the errors above except
// ErrUnread. After any other error it is unknown whether the step was done.
func IsAnswer(err error) bool {
	return slices.ContainsFunc([]error{ErrExists, ErrNotFound, ErrReplay, ErrConflict, ErrStale, ErrOwner, ErrFull, ErrShare},
		func(answer error) bool { return errors.Is(err, answer) })
}

// Defaults of the engines.
const (
	DefaultReplayTTL      = 24 * time.Hour
	DefaultPauseRetention = 30 * 24 * time.Hour
)

// DefaultRecordBytes is the default maximum size of a record with its snapshots, roughly counted.
// Above it the snapshots are dropped, never the pause.
const DefaultRecordBytes = 1 << 20

// A Store keeps one Record for each key: the open pause, if there is one, and a bounded number of
// results of earlier pauses. It is safe for concurrent use. Several processes can share it if the
// engine allows that.
//
// An error that is not one of the above means that the store could not be asked. Nobody then knows
// whether the step was done. A caller may do the same step again: Ask, Claim, Finish and Release
// recognise a repeated one and return nil, as their comments say. These are such errors too, and do
// nothing:
//
//   - a context that is already done; whoever must write although the client has left passes a
//     context of its own;
//   - a call that no caller should make, with no id, no token, no digest, no decision or no
//     EndKind.
//
// Times are those of the store's clock, never of the caller's. Time itself changes records. The
// next access sees the change, at the latest:
//
//   - a claim whose lease has lapsed reads as InDoubt;
//   - an open pause that nobody answered within the retention ends as Retired;
//   - a pause that stayed in doubt for as long ends as Doubtful;
//   - a result that is older than the replay time becomes a tombstone (see Result).
//
// A lease, the retention and the replay time have run out at their end, not after it.
//
// Values go in as copies. What the caller does to its own values later changes nothing in the
// store. Only the bytes of a json.RawMessage are shared, and nobody writes into them. Values come
// back as they went in, except for white space between JSON tokens. Numbers, key order and escapes
// are kept.
//
// Snapshots are kept apart from the record. A pause and a result go in with their Messages and
// State, and Load returns them without: they may be large, and few runs look at them.
//
// What comes out may be the store's own, because every run loads a record and few look at all of
// it. The Record is the caller's, but nobody writes into what it refers to. The store does not
// either: a loaded record stays as it was, whatever happens to the thread.
type Store interface {
	// Load returns the record, never one from a client-side cache. If there is none, it returns a
	// zero Record with Now, and with the owner if one is given. If owner is not "", it becomes the
	// owner of a thread without one, in the same step, with or without a record. Of several
	// concurrent callers one becomes the owner, and all get its name. An open pause that Load
	// returns is as safe as after a completed Ask, so it may be shown to a client.
	Load(ctx context.Context, key Key, owner string) (Record, error)

	// Do applies a step, and returns its result, also with an error. The comments of the steps list
	// the errors.
	Do(ctx context.Context, key Key, step Step) (StepResult, error)

	// Snapshots returns the snapshots of the thread at a moment of the pause with this id. It is
	// empty if none are kept, or not any more: the record may have changed since it was loaded.
	Snapshots(ctx context.Context, key Key, pauseID string, at Moment) (Snapshots, error)

	// List returns a page of the threads with an open, claimed or in-doubt pause, or with q.Unsent
	// of those that have notices to send. It may contain a thread too many, and misses none: the
	// list changes with the record or before it, and a caller that acts on a row loads the record.
	// A thread that is opened or ends while the pages are read may be missing or repeated.
	List(ctx context.Context, q Query) (Page, error)
}

// A Query selects a page of the list. The zero Query selects the first hundred open threads, the
// longest waiting first.
type Query struct {
	// WithNotices selects the threads that have notices to send, by when they are due. It requires
	// Due, and Row.Opened is not set.
	WithNotices bool
	// Due, if not zero, selects what is due by that time, the earliest first: the end of a lease,
	// or of the retention, or a pause from its last decision on. A row may be listed earlier than
	// the record says, never later.
	Due   time.Time
	After string // Page.Next of the previous page
	Limit int    // at most MaxPage; 0 is 100
}

// MaxPage is the maximum length of a page.
const MaxPage = 1000

// Size returns the length of the page that q selects.
func (q Query) Size() int {
	switch {
	case q.Limit <= 0:
		return 100
	case q.Limit > MaxPage:
		return MaxPage
	}
	return q.Limit
}

// A Page is a part of the list. Next is "" on the last page.
type Page struct {
	Rows []Row
	Next string
}

// A Row is a thread of the list. It has no part of a record that is encrypted.
type Row struct {
	Key    Key
	Opened time.Time // when its pause was opened
	Due    time.Time
}
