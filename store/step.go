package store

import (
	"time"

	"holdpoint/internal/agui"
)

// A Step is what a caller does to a record: Ask, Decide, Claim, Renew, Finish, Release, Close,
// Occupy, Contest, See, Remember, Take or Sent. Store.Do does it. A step is a value: it can be done
// again, and whoever wraps a Store sees each step in one place.
//
// A step that begins or ends something has Notices, which tell others of that. The record gets them
// with the step's change, or not at all. A step that changes nothing writes none.
type Step interface {
	step() (name string, notices []Notice)
}

// NameOf returns the name of a step in metrics: "open" for an Ask, otherwise its type's name in
// lower case.
func NameOf(s Step) string {
	name, _ := s.step()
	return name
}

// NoticesOf returns the notices of a step.
func NoticesOf(s Step) []Notice {
	_, notices := s.step()
	return notices
}

// A StepResult is the result of a step.
type StepResult struct {
	Now time.Time // the store's clock at the time of the step; zero if the store was not asked
	// Standing is the current record, as Load returns it, if an Ask failed with ErrExists.
	// Otherwise it is nil.
	Standing *Record
	// Notices are the notices that a Take got. Tries is how often in a row the first of them could
	// not be delivered.
	Notices []Notice
	Tries   int
}

// An Ask opens Pause for Owner, the one that Load was called with. The store sets Pause.Opened. A
// second call with the id of the open pause is the same Ask: it returns nil and changes nothing.
// The errors:
//
//   - ErrExists: another pause is open or claimed, or Pause.ID was used before;
//   - ErrFull: there is no room without giving up a pause;
//   - ErrShare: the pauses from Pause.AddressHash have their share of the room;
//   - ErrOwner: the thread belongs to another owner.
//
// The store may give up the Messages and the State of an open pause for room, now or later. The
// pause is Stripped then. A pause in doubt gives way to the new one, and its result stays, as
// Doubtful.
//
// A thread without an owner is given to Owner in the same step. Load alone is not enough: a run may
// last for hours, and until it pauses nothing keeps its owner from being evicted. A stranger who
// fills the store with threads and asks first would then get the question.
//
// An Ask is done before the client is told of the pause. A resume can arrive within a millisecond
// after that. If the store could not be asked, the pause may be open all the same, and a later Load
// may return it.
type Ask struct {
	Owner   string
	Pause   agui.Pause
	Notices []Notice
}

// A Decide notes Decisions on questions of the open pause, all of them or none. The store sets
// their At. The first one on a question stands: nothing takes it back while the pause is open, and
// Claim holds to it. A decision that stands already, with the same Digest, is the same one: it is
// not an error, and what stands of it is left as it is. That is told also of a pause that is
// claimed, in doubt or ended. The errors:
//
//   - ErrConflict: a question is decided otherwise, or the pause is claimed, in doubt or has ended,
//     and not all of these stand in it;
//   - ErrNotFound: the store does not know the pause, or only its tombstone, or the pause has no
//     such question.
//
// A Decide is done before anybody is told that the decision counts, and is as safe then as a Claim.
type Decide struct {
	PauseID   string
	Decisions []agui.Decision
	Notices   []Notice
}

// A Claim takes the open pause to resume it. The caller makes Token for this one claim, of 128
// random bits. Digest is that of the answers, see MarshalAnswers. A second call with the same token
// and digest is the same claim: it returns nil with a new lease, also if the lease had lapsed. The
// errors:
//
//   - ErrReplay: the pause is claimed or has ended with the same digest;
//   - ErrConflict: it is claimed or has ended with another digest, or has ended without an answer,
//     or is in doubt, with whatever digest, because nobody knows what the backend did;
//   - ErrStale: a decision stands that the digest does not have. It may have come a moment ago.
//     Nothing is claimed;
//   - ErrNotFound: the store does not know the pause, or only its tombstone.
//
// A Claim is done before the backend is sent anything. Of two equal clicks only one may reach it.
type Claim struct {
	PauseID, Token, Digest string
	Lease                  time.Duration
	Notices                []Notice
}

// A Renew extends the claim while the exchange with the backend continues. The new lease is counted
// from the time of the step. A lapsed lease can be renewed if no other step has ended the claim
// since. ErrStale means that the token is not that of the current claim.
type Renew struct {
	Token string
	Lease time.Duration
}

// A Finish ends the claimed pause in one step. In the result the store sets PauseID, IDs, Digest,
// Next, Pause, At and Receipt. If the run paused again, Next is the new pause, with a fresh id, and
// the step opens it. Otherwise Next is nil.
//
// Finish also works after the lease has lapsed, unless another step has ended the claim since. Then
// it returns ErrStale: the doubt was reported to a client and closed, a new pause has replaced it,
// or another Finish or a Release was first. A second call with the same token, the same result and
// the same Next.ID returns nil, whatever has happened since. A second call with another result
// returns ErrStale.
//
// A result whose EndKind is Doubtful has no next pause. It leaves the pause InDoubt until a client
// is told of the doubt once, and is kept in Record.Doubt. The claim has ended.
type Finish struct {
	Token   string
	Result  Result
	Next    *agui.Pause
	Notices []Notice
}

// A Release makes the claimed pause open again, with its old Opened. ErrStale is as for Finish. A
// second call after a success returns nil, unless the pause was claimed since.
type Release struct {
	Token   string
	Notices []Notice
}

// A Close ends an open or in-doubt pause without an answer. The store sets PauseID, IDs, Digest (of
// the answers in doubt), Pause and At, and fills the empty fields of Result from Record.Doubt. It
// returns ErrExists if the pause is claimed, and also if the pause is in doubt and the result is
// Withdrawn, because an answer that the backend may have acted on cannot be withdrawn. It returns
// ErrNotFound if the record has no such pause any more. If several callers close the pause at once,
// one of them gets nil, and has to tell the client.
type Close struct {
	PauseID string
	Result  Result
	Notices []Notice
}

// An Occupy records that a run of the thread continues without its client, so that no replica
// starts another run. The caller makes Token for this run. A call with the same token renews the
// lease, and a Lease of 0 or less means that the run has ended. An unknown token is not an error.
// It returns ErrFull if MaxBusy runs continue already. Occupy changes only Record.Occupants, and
// sets no owner.
type Occupy struct {
	Token string
	Lease time.Duration
}

// A Contest records in the pause (agui.Pause.Contested) that another run of the thread has raised
// another question meanwhile. The mark stays until the pause ends, and is copied to the pause that
// Finish opens next, because the other run may have asked before or after that. A repeated Contest
// returns nil. It returns ErrNotFound if the record has no such pause any more. It changes nothing
// else.
type Contest struct{ PauseID string }

// A See records that the chat has received the end that it missed, and clears Result.EndUnseen. A
// repeated See, or one for an unknown result, is not an error.
type See struct{ PauseID string }

// A Remember adds a note to a key, usually one that is not the key of a thread. A note is a fact
// about earlier threads, or names the thread that has a question. Load returns the notes. The store
// sets Note.At. A new note replaces the one with the same id, and the newest Most notes are kept (1
// to MaxNotes). If the key is that of a thread, nothing else in its record changes. A record of
// notes is forgotten when it has not been written or loaded for as long as an ended thread is kept,
// and for NoteAge. A note that refers to a pause (Note.RefersToPause) is kept for as long as the
// pause and its result can be, and for at least nine tenths of that time after its last load. A
// store without room may drop records of notes earlier.
type Remember struct {
	Note Note
	Most int
}

// A Take returns the notices of a thread in StepResult.Notices. The caller must send them within
// Hold. It returns none if there are none, or if they are not due, because another sender has them
// or because they wait after a failure.
type Take struct{ Hold time.Duration }

// A Sent removes the notices with these ids. An unknown id is not an error. The remaining notices
// are due after Wait. Failed means that the first of them could not be delivered, and increments
// Tries.
type Sent struct {
	IDs    []string
	Wait   time.Duration
	Failed bool
}

func (s Ask) step() (string, []Notice)     { return "open", s.Notices }
func (s Decide) step() (string, []Notice)  { return "decide", s.Notices }
func (s Claim) step() (string, []Notice)   { return "claim", s.Notices }
func (Renew) step() (string, []Notice)     { return "renew", nil }
func (s Finish) step() (string, []Notice)  { return "finish", s.Notices }
func (s Release) step() (string, []Notice) { return "release", s.Notices }
func (s Close) step() (string, []Notice)   { return "close", s.Notices }
func (Occupy) step() (string, []Notice)    { return "occupy", nil }
func (Contest) step() (string, []Notice)   { return "contest", nil }
func (See) step() (string, []Notice)       { return "see", nil }
func (Remember) step() (string, []Notice)  { return "remember", nil }
func (Take) step() (string, []Notice)      { return "take", nil }
func (Sent) step() (string, []Notice)      { return "sent", nil }
