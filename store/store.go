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
	"time"

	"holdpoint/internal/agui"
)

// Key names a record: a hash over tenant, route, path and thread, made by proxy.
type Key string

// Errors that an engine returns, wrapped or bare; compare with errors.Is.
var (
	ErrExists   = errors.New("store: a pause is open or claimed already")
	ErrNotFound = errors.New("store: no such pause")
	ErrReplay   = errors.New("store: the same answers were given already")
	ErrConflict = errors.New("store: the pause was answered otherwise, ended or is in doubt")
	ErrStale    = errors.New("store: something else began on the thread")
	ErrOwner    = errors.New("store: the thread belongs to another owner")
	ErrFull     = errors.New("store: full of open pauses")
	ErrShare    = errors.New("store: the open pauses from one address have their share of the store")

	// ErrUnread: there is a record, and it cannot be read. It is damaged, or sealed with a key that
	// is not known, or a newer version has written it. The store itself is well.
	ErrUnread = errors.New("store: the record cannot be read")
)

// What an engine goes by if it is not told otherwise.
const (
	DefaultReplayTTL      = 24 * time.Hour
	DefaultPauseRetention = 30 * 24 * time.Hour
)

// DefaultRecordBytes is how large a record may be with its snapshots, roughly counted, unless an
// engine is told otherwise. Over it the snapshots go, never the pause.
const DefaultRecordBytes = 1 << 20

// A Store keeps one Record for each key: the open pause, if there is one, and a bounded number of
// results of earlier pauses. It is safe for concurrent use. Several processes can share it if the
// engine allows that.
//
// An error that is not one of the above means that the store could not be asked. Nobody then knows
// whether the step was done. A caller may make the same call again: Open, Claim, Finish and Release
// recognise a repeated call and return nil, as the comments say. These are such errors too, and do
// nothing:
//
//   - a context that is already done; whoever must write although the client has left passes a
//     context of its own;
//   - a call that no caller should make, with no id, no token, no digest, no decision or no How.
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
	// Load returns the record, and never one from a client-side cache. Without a record it returns
	// a zero Record with Now, and with the owner if one is given. If owner is not "", it becomes
	// the owner of a thread that has none, in the same step, with or without a record. Of several
	// callers that come at once, one becomes the owner. All are told who it is. An open pause that
	// it returns is as safe as one that Open has returned for, so it may be told.
	Load(ctx context.Context, key Key, owner string) (Record, error)

	// Do does a step, and returns what it came to, also with an error. The comments of the steps
	// say which errors there are.
	Do(ctx context.Context, key Key, step Step) (Done, error)

	// Open creates the pause for owner, the one that Load was called with. The store sets p.Opened.
	// A second call with the id of the open pause is the same Open: it returns nil and changes
	// nothing. The errors:
	//
	//   - ErrExists: another pause is open or claimed, or p.ID was used before;
	//   - ErrFull: there is no room without giving up a pause;
	//   - ErrShare: the pauses from p.From have their share of the room;
	//   - ErrOwner: the thread belongs to another owner.
	//
	// The store may give up the Messages and the State of an open pause for room, now or later. The
	// pause is Stripped then. A pause in doubt gives way to the new one, and its result stays, as
	// Doubtful.
	//
	// A thread without an owner is given to owner in the same step. Load alone is not enough: a run
	// may last for hours, and until it pauses nothing keeps its owner from being evicted. A
	// stranger who fills the store with threads and asks first would then get the question.
	//
	// Open returns before the client is told of the pause. A resume can arrive within a millisecond
	// after that. If the store could not be asked, the pause may be open all the same, and a later
	// Load may return it.
	Open(ctx context.Context, key Key, owner string, p agui.Pause) error

	// Decide notes decisions on questions of the open pause, all of them or none. The store sets
	// their At. The first one on a question stands: nothing takes it back while the pause is open,
	// and Claim holds to it. A decision that stands already, with the same Digest, is the same one:
	// it is no error, and what stands of it is left as it is. That is told also of a pause that is
	// claimed, in doubt or ended. The errors:
	//
	//   - ErrConflict: a question is decided otherwise, or the pause is claimed, in doubt or has
	//     ended, and not all of these stand in it;
	//   - ErrNotFound: the store does not know the pause, or only its tombstone, or the pause has
	//     no such question.
	//
	// Decide returns before anybody is told that the decision counts, and is as safe then as Claim.
	Decide(ctx context.Context, key Key, pauseID string, list []agui.Decision) error

	// Claim takes the open pause to resume it. The caller makes token for this one claim, of 128
	// random bits. A second call with the same token and digest is the same claim: it returns nil
	// with a new lease, also if the lease had lapsed. The errors:
	//
	//   - ErrReplay: the pause is claimed or has ended with the same digest;
	//   - ErrConflict: it is claimed or has ended with another digest, or has ended without an
	//     answer, or is in doubt, with whatever digest, because nobody knows what the backend did;
	//   - ErrStale: a decision stands that the digest, see MarshalAnswers, does not have. It may
	//     have come a moment ago. Nothing is claimed;
	//   - ErrNotFound: the store does not know the pause, or only its tombstone.
	//
	// Claim returns before the backend is sent anything. Of two equal clicks only one may reach it.
	Claim(ctx context.Context, key Key, pauseID, token, digest string, lease time.Duration) error

	// Renew prolongs the claim while the exchange with the backend lives. The lease runs from now.
	// A lapsed lease is renewed too if nobody has acted on it. ErrStale: the token is not the claim
	// any more.
	Renew(ctx context.Context, key Key, token string, lease time.Duration) error

	// Finish ends the claimed pause in one step. In the result the store sets PauseID, IDs, Digest,
	// Next, Pause, At and Receipt. If the run paused again, next is that pause, with a fresh id,
	// and is opened in the same step.
	//
	// Finish also works after the lease has lapsed, unless something else began. ErrStale says that
	// it did: the doubt was told and closed, or gave way, or another Finish or a Release was first.
	// A second call with the same token, the same result and the same next.ID returns nil, however
	// much has happened since. With another result it is ErrStale.
	//
	// A result whose How is Doubtful has no next. It leaves the pause InDoubt, to be told once, and
	// waits in Record.Doubt. The claim is over then.
	Finish(ctx context.Context, key Key, token string, r Result, next *agui.Pause) error

	// Release makes the claimed pause open again, with its old Opened. ErrStale is as for Finish. A
	// second call after a success returns nil, as long as nobody claimed the pause since.
	Release(ctx context.Context, key Key, token string) error

	// Close ends an open or in-doubt pause without an answer. The store sets PauseID, IDs, Digest
	// (of the answers in doubt), Pause and At. It takes what r leaves empty from Record.Doubt.
	// ErrExists: the pause is claimed, or it is Withdrawn and was answered meanwhile: it is in
	// doubt, and nobody takes an answer back that the backend may have acted on. ErrNotFound: it is
	// not the record's pause any more. Of several callers that close it at once, one gets nil, and
	// that one tells the client.
	Close(ctx context.Context, key Key, pauseID string, r Result) error

	// Occupy notes that a run of the thread goes on without its client, so that no replica begins
	// another one beside it. The caller makes token for this run. The same token again renews the
	// lease; a lease of 0 or less says that the run has ended. Whatever has become of a token, that
	// is no error. ErrFull: MaxBusy runs go on already. It changes nothing but Record.Busy, and
	// gives the thread to nobody.
	Occupy(ctx context.Context, key Key, token string, lease time.Duration) error

	// Contest notes in the pause that another run of the thread came to another question meanwhile:
	// agui.Pause.Contested. It holds until the pause ends, and for the pause that Finish opens
	// next: the other run may have asked before or behind that. A call for a pause that has it
	// already returns nil. ErrNotFound: it is not the record's pause any more. It changes nothing
	// else.
	Contest(ctx context.Context, key Key, pauseID string) error

	// See notes that the chat has caught up with what it has missed: Result.Unseen is no more. A
	// second call, or one for a result that is not known, is no error.
	See(ctx context.Context, key Key, pauseID string) error

	// Remember notes something under a key that is of no thread: what is worth to know of earlier
	// threads, or which thread holds a question. Load returns the notes. The store sets n.At. A
	// note with the same id gives way, and of all the newest are kept: most, which is 1 to
	// MaxNotes. It is no error if the key is of a thread, and changes nothing else of that. The
	// record is forgotten when nothing has been noted in it, and nobody has loaded it, for as long
	// as a thread that has ended is known, and for NoteAge. If a note leads to a pause (n.Leads),
	// it is known for as long as that pause and its result can be, and for at least nine tenths of
	// that since it was loaded. A store without room may forget it sooner. Remember returns when
	// the note is as safe as a pause that Open has returned for.
	Remember(ctx context.Context, key Key, n Note, most int) error

	// Snapshots returns what is kept of the thread at a moment of the pause with this id. It is
	// empty if nothing is kept, or not any more: a record that was loaded just before may have
	// moved on.
	Snapshots(ctx context.Context, key Key, pauseID string, at Moment) (Snapshots, error)

	// Waiting lists the threads that wait: with an open, claimed or in-doubt pause. It returns a
	// page at a time. The list may hold too much, never too little: it changes with the record or
	// before it, and who acts on a row loads the record. A thread that is opened or ends while the
	// pages are read may be missing or be there twice.
	Waiting(ctx context.Context, q Query) (Page, error)

	// Unsent lists the threads that have notices to send, by when they are due: q.Due is required,
	// and Row.Opened is not set. The list may hold too much, never too little.
	Unsent(ctx context.Context, q Query) (Page, error)

	// Take gives the notices of a thread to its caller, to be sent within hold. It gives none if
	// there are none, or if they are not due: somebody else has them, or they wait after a failure.
	Take(ctx context.Context, key Key, hold time.Duration) (Taken, error)

	// Sent strikes off the notices with these ids; one that is not there is no error. What is left
	// is due after wait. failed says that the first of it was not taken, and counts that.
	Sent(ctx context.Context, key Key, ids []string, wait time.Duration, failed bool) error
}

// A Query asks for a page of what waits. The zero value asks for the first hundred, the longest
// waiting first.
type Query struct {
	// Due, if it is not zero, asks for what is due by then, what is due first coming first: the end
	// of a lease, or of the retention, or a pause from its last decision on. It may be earlier than
	// the record says, never later.
	Due   time.Time
	After string // Page.Next of the page before
	Limit int    // at most MaxPage; 0 is 100
}

// MaxPage is the longest page.
const MaxPage = 1000

// Size of the page that q asks for.
func (q Query) Size() int {
	switch {
	case q.Limit <= 0:
		return 100
	case q.Limit > MaxPage:
		return MaxPage
	}
	return q.Limit
}

// A Page is a part of the list. Next is "" on the last one.
type Page struct {
	Rows []Row
	Next string
}

// A Row is a thread that waits. It has nothing that a record seals.
type Row struct {
	Key    Key
	Opened time.Time // when its pause was opened
	Due    time.Time
}
