// Package store keeps what each thread waits for. It has the interface Store, a folder for each
// engine, and storetest, the tests that every engine must pass.
//
// A store does not judge requests; internal/contract does. A store knows nothing of HTTP and of
// dialects. Its steps depend only on a pause's id, its published interrupt ids, its times and
// KeepsFirstAnswer. A store keeps all other fields without interpreting them.
//
// Each Step is atomic and changes the record of one key. So an engine needs a compare-and-set, and
// no transaction. A step changes a record in the same way in every engine, because all engines call
// rules.Apply of store/internal/rules. An engine adds storage, a clock and its bounds.
package store

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A Key names a record. It is a hash of tenant, route, path and thread. The package proxy makes it.
type Key string

// Errors of engines. An engine may wrap them, so compare them with errors.Is.
var (
	ErrExists   = errors.New("store: a pause is open or claimed already")
	ErrNotFound = errors.New("store: no such pause")
	ErrReplay   = errors.New("store: the same answers were given already")
	ErrConflict = errors.New("store: the pause was answered otherwise, ended or is in doubt")
	ErrStale    = errors.New("store: something else began on the thread")
	ErrOwner    = errors.New("store: the thread belongs to another owner")
	ErrFull     = errors.New("store: full of open pauses")
	ErrShare    = errors.New("store: the open pauses from one address have their share of the store")

	// ErrUnread means that the record exists but cannot be read. The record is damaged, encrypted
	// with an unknown key, or written by a newer version. The store itself works.
	ErrUnread = errors.New("store: the record cannot be read")
)

// IsAnswer reports whether err is the store's reply to a step: one of the errors above except
// ErrUnread. After any other error it is unknown whether the step was done.
func IsAnswer(err error) bool {
	return slices.ContainsFunc([]error{ErrExists, ErrNotFound, ErrReplay, ErrConflict, ErrStale, ErrOwner, ErrFull, ErrShare},
		func(answer error) bool { return errors.Is(err, answer) })
}

// The times that an engine uses if it is given none.
const (
	DefaultReplayTTL      = 24 * time.Hour
	DefaultPauseRetention = 30 * 24 * time.Hour
)

// DefaultRecordBytes is the default maximum size of a record with its snapshots. The size is an
// estimate. If a record is larger, the store drops its snapshots, and always keeps its pause.
const DefaultRecordBytes = 1 << 20

// A Store keeps one Record for each key: the open pause, if there is one, and a bounded number of
// results of earlier pauses. It is safe for concurrent use. Several processes can share it if the
// engine allows that.
//
// Any error that is not one of the errors above means that the store could not be reached, and that
// the caller does not know whether the step was done. The caller may do the same step again: Ask,
// Claim, Finish and Release recognise a repeated step and return nil, as their comments say. Two
// mistakes of a caller also get an error that is not one of those above, and change nothing:
//
//   - a context that is already done. A caller that must write although the client has left passes
//     a context that does not end with the client's request.
//   - a step that lacks its id, token, digest, decision or EndKind.
//
// All times are from the store's clock, never from the caller's. Some changes of a record happen
// because time passes. The next access to the record shows them, at the latest:
//
//   - a claim whose lease has lapsed reads as InDoubt;
//   - an open pause that is not answered within the retention ends as Retired;
//   - a pause that stays in doubt for the length of the retention ends as Doubtful;
//   - a result that is older than the replay time becomes a tombstone (see Result).
//
// A lease, the retention and the replay time have run out at exactly their end, not after it.
//
// The store copies the values that it is given. If the caller changes its own values later, the
// store's do not change. Only the bytes of a json.RawMessage are shared, and must never be written.
// Values come back as they went in, except for white space between JSON tokens. Numbers, key order
// and escapes are kept.
//
// The store keeps snapshots apart from the record, because they may be large and few runs read
// them. A caller writes a pause or a result with its Messages and State. Load returns them without.
//
// The values that Load returns may be the store's own, because every run loads a record and few
// runs look at all of it. The caller may change the Record itself, but not what the Record refers
// to. The store does not change it either: a loaded record stays as it was, whatever happens to the
// thread.
type Store interface {
	// Load returns the record from the store itself, never from a client-side cache. If the key has
	// no record, Load returns a Record with only Now, and with the parameter owner as its Owner.
	//
	// If owner is not "" and the thread has no owner, owner becomes the thread's owner in the same
	// step, even if there is no record. Of several concurrent callers one becomes the owner, and
	// all of them get its name.
	//
	// An open pause that Load returns is stored as safely as after a completed Ask, so the caller
	// may show it to a client.
	Load(ctx context.Context, key Key, owner string) (Record, error)

	// Do applies a step, and returns its StepResult even if it returns an error. The comment of
	// each step lists its errors.
	Do(ctx context.Context, key Key, step Step) (StepResult, error)

	// Snapshots returns the messages and the state that the thread had at the given Moment of the
	// pause with this id. The result is empty if they were not kept, or were deleted after the
	// caller loaded the record.
	Snapshots(ctx context.Context, key Key, pauseID string, at Moment) (Snapshots, error)

	// List returns one page of the threads with an open, claimed or in-doubt pause. If
	// q.WithNotices is set, it returns the threads that have notices to send instead. The list may
	// contain a thread that no longer belongs in it, but lacks none, because the store changes the
	// list together with the record or before it. So a caller loads the record before it acts on a
	// row. A thread that is opened or ends while the pages are read may be missing or appear twice.
	List(ctx context.Context, q Query) (Page, error)
}

// A Query selects a page of the list. The zero Query selects the hundred threads whose pauses have
// been open longest, the oldest first.
type Query struct {
	// WithNotices selects the threads that have notices to send, in the order in which the notices
	// are due. It requires Due. The rows have no Opened.
	WithNotices bool
	// Due, if not zero, selects the threads that are due by that time, the earliest first. A thread
	// is due when a lease or the retention ends, or, once its pause has all its decisions, from the
	// last decision on. A row may be listed earlier than its record is due, never later.
	Due   time.Time
	After string // the Next of the previous page
	Limit int    // number of rows, at most MaxPage; 0 means 100
}

// MaxPage is the maximum number of rows of a page.
const MaxPage = 1000

// Size returns the maximum number of rows of the page that q selects.
func (q Query) Size() int {
	switch {
	case q.Limit <= 0:
		return 100
	case q.Limit > MaxPage:
		return MaxPage
	}
	return q.Limit
}

// A Page is a part of the list. Next is the value for Query.After that selects the following page,
// or "" on the last page.
type Page struct {
	Rows []Row
	Next string
}

// A Row is one thread of the list. It contains only parts of the record that are never encrypted.
// If the pause was neither claimed nor decided, Due is the retention after Opened. If the pause has
// all its decisions, is claimed or is in doubt, Due is another time, except while a lease ends
// after the retention.
type Row struct {
	Key    Key
	Opened time.Time // when its pause was opened
	Due    time.Time
}
