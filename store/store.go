// Package store keeps what each thread waits for: one Store interface, one folder per engine, and storetest, the
// contract that every engine must pass.
//
// It does not judge requests: that is internal/contract's. It knows nothing of HTTP and of dialects; a pause is opaque to it
// but for its id, its published interrupt ids and the times.
//
// Every method is one atomic step on one key, so that an engine needs a compare-and-set and no transaction. What
// the step does to the record is the same everywhere and stands in internal/rules; an engine adds storage, a clock
// and its bounds.
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
)

// A Store keeps one Record per key: the open pause, if any, and the bounded results of earlier ones. It is safe for
// concurrent use, and between processes where the engine is.
//
// Every error that is not one of the above means that the store could not be asked, and that nothing is known: the
// step was done or not. A caller may make the same call again: Open, Claim, Finish and Release know their own lost
// reply and return nil, as the comments say. A context that is done already is such an error, and does nothing; who
// must write although the client has left passes a context of his own. A call that no caller should make (no id, no
// token, no digest, no How) is such an error too, and does nothing.
//
// Times are the store's clock, never the caller's. Time itself changes records, and the change is seen at the next
// access at the latest: a claim whose lease has lapsed reads as InDoubt, an open pause that nobody answered within the
// retention ends as Retired, one that stayed in doubt for as long ends as Doubtful, and a result past the replay time
// becomes a tombstone (see Result). A lease, the retention and the replay time have run out at their end, not after it.
//
// Values go in as copies: what the caller does to its own later changes nothing in the store. Only the bytes of a
// json.RawMessage are shared: nobody writes into them. They come back as they went in, but for white space between JSON
// tokens: numbers, key order and escapes are kept.
//
// What comes out may be the store's own, for every run loads a record and few look at all of it: the Record is the caller's,
// and nobody writes into what it refers to. The store does not either: a loaded record stays as it was, whatever happens to
// the thread.
type Store interface {
	// Load returns the record, never from a client-side cache; without one, a zero Record with Now (and the owner, if
	// given). A thread without an owner, record or not, is given to owner in the same step, if owner is not "": of
	// several that come at once one gets it, and all are told which.
	Load(ctx context.Context, key Key, owner string) (Record, error)

	// Open creates the pause for owner, the one that Load was called with. ErrExists while another is open or claimed,
	// or if p.ID was used before; the open pause's own id again is the same Open (a lost reply: nil, and nothing
	// changes). ErrFull if no room can be made without evicting a pause, ErrShare if those from p.From have their share of
	// it. Of a pause that was opened, the Messages and the State may go for room, now or later: it is Stripped then. A pause
	// in doubt gives way; its result stays (as Doubtful). p.Opened is set by the store.
	//
	// An unowned thread is given to owner in the same step, and a thread of another is ErrOwner. Load alone cannot do
	// it: a run may last for hours, and until it pauses nothing keeps its owner from being evicted; a stranger who fills
	// the store with threads and asks first would then be handed the question.
	//
	// Open returns before the client is told of the pause: a resume can arrive within a millisecond of being told.
	Open(ctx context.Context, key Key, owner string, p agui.Pause) error

	// Claim takes the open pause to resume it. token is 128 random bits made by the caller for this one claim; the same
	// token and digest again are the same claim (a lost reply: nil, with a new lease, also if it had lapsed). Else
	// ErrReplay if it is claimed or ended with the same digest. ErrConflict if it is claimed or ended with another, ended
	// without an answer, or is in doubt, with whatever digest, because nobody knows what the backend did. ErrNotFound if
	// no such pause is known, or only its tombstone.
	//
	// Claim returns before the backend is sent anything: of two equal clicks only one may reach it.
	Claim(ctx context.Context, key Key, pauseID, token, digest string, lease time.Duration) error

	// Renew prolongs the claim, while the upstream lives: the lease runs from now. A lapsed lease that nobody has acted
	// upon is renewed. ErrStale if it is not the claim any more.
	Renew(ctx context.Context, key Key, token string, lease time.Duration) error

	// Finish ends the claimed pause in one step: the result, in which the store sets PauseID, IDs, Digest, Next, Pause,
	// At and Receipt, and, if the run paused again, the next pause, open, with a fresh id. Also after the lease lapsed,
	// unless something else began: ErrStale (the doubt was told and closed, or gave way; another Finish or a Release was
	// there first). The same token with the same result and the same next.ID again is nil, however much has happened
	// since (a lost reply); with another result ErrStale.
	//
	// A result with How Doubtful, which has no next, leaves the pause InDoubt instead of ending it, to be told once: the
	// result waits in Record.Doubt. The claim is over by it.
	Finish(ctx context.Context, key Key, token string, r Result, next *agui.Pause) error

	// Release makes the claimed pause open again, with its old Opened. ErrStale as Finish; again after it has succeeded,
	// nil (a lost reply), as long as nobody claimed the pause since.
	Release(ctx context.Context, key Key, token string) error

	// Close ends an open or in-doubt pause without an answer; the store sets PauseID, IDs, Digest (that of the answers
	// in doubt), Pause and At, and takes what r leaves empty from Record.Doubt. ErrExists while it is claimed,
	// ErrNotFound if it is not the record's pause any more: of several that close it at once, one gets nil, and tells.
	Close(ctx context.Context, key Key, pauseID string, r Result) error
}
