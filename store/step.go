package store

import (
	"time"

	"holdpoint/internal/agui"
)

// A Step is what a caller does to a record: Ask, Decide, Claim, Renew, Finish, Release, Close,
// Occupy, Contest, See, Remember, Take or Sent. Store.Do makes the step. A step is a value, so it
// can be made again, and a wrapper of a Store sees all steps in one method.
//
// If a step begins or ends something, it can have Notices, which report this to others. The notices
// are written into the record in the same transaction as the change of the step. A step that
// changes nothing writes no notices.
type Step interface {
	step() (name string, notices []Notice)
}

// NameOf returns the name that a step has in metrics. It is "open" for an Ask, and otherwise the
// name of the step's type in lower case.
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
	Now time.Time // the store's clock at the time of the step; zero if the store was not called
	// Standing is set only if an Ask failed with ErrExists. It is the current record, as Load
	// returns it.
	Standing *Record
	// Notices are the notices that a Take returns. Tries is how often in a row the first of these
	// notices could not be delivered.
	Notices []Notice
	Tries   int
}

// An Ask opens Pause for Owner, which is the owner that Load was called with. The store sets
// Pause.Opened. A second call with the id of the open pause is the same Ask: it returns nil and
// changes nothing. The errors are:
//
//   - ErrExists: another pause is open or claimed, or Pause.ID was used before;
//   - ErrFull: the store has no room unless it gives up another pause;
//   - ErrShare: the pauses from Pause.AddressHash have used up their share of the store;
//   - ErrOwner: the thread belongs to another owner.
//
// The store may drop the Messages and the State of an open pause to make room, at once or later.
// Then the pause is Stripped. If the thread has a pause in doubt, the new pause replaces it, and
// the record keeps the result of that pause as Doubtful.
//
// If the thread has no owner, the same step makes Owner its owner. It is not enough that Load does
// so. A run may last for hours, and until it pauses, the store may drop the record with its owner
// to make room. A stranger could then fill the store with threads, use this thread first, and get
// the question.
//
// The caller makes an Ask before the client gets the question, because the answer can arrive within
// a millisecond after that. If the store did not reply, the pause may be open nevertheless, and a
// later Load may return it.
type Ask struct {
	Owner   string
	Pause   agui.Pause
	Notices []Notice
}

// A Decide records Decisions on questions of the open pause: all of them, or none. The store sets
// their At. The first decision on a question counts: it cannot be undone while the pause is open,
// and a Claim must have the same answer. If a question already has a decision with the same Digest,
// the Decide is a repetition. That is not an error, and the earlier decision stays unchanged. It is
// not an error even if the pause is claimed, in doubt or has ended. The errors are:
//
//   - ErrConflict: a question has another decision; or the pause is not open, and not all of the
//     decisions are repetitions;
//   - ErrNotFound: the store does not know the pause, or has only its tombstone, or the pause has
//     no such question.
//
// The caller makes a Decide before anybody is told that the decision counts. The Decide is as safe
// as a Claim then.
type Decide struct {
	PauseID   string
	Decisions []agui.Decision
	Notices   []Notice
}

// A Claim claims the open pause, so that its answers can be sent. The caller makes the Token, 128
// random bits, for this claim only. Digest is the digest of the answers, see MarshalAnswers. A
// second call with the same token and the same digest is the same claim: it returns nil and has a
// new lease, even if the lease had lapsed. The errors are:
//
//   - ErrReplay: the pause is claimed or has ended with the same digest;
//   - ErrConflict: the pause is claimed or has ended with another digest, or has ended without an
//     answer. Or it is in doubt; then the digest does not matter, because it is not known what the
//     backend did;
//   - ErrStale: the pause has a decision that Digest does not contain. It may have been made a
//     moment ago. Nothing is claimed;
//   - ErrNotFound: the store does not know the pause, or has only its tombstone.
//
// The caller makes a Claim before it sends anything to the backend, so that only one of two equal
// clicks reaches the backend.
type Claim struct {
	PauseID, Token, Digest string
	Lease                  time.Duration
	Notices                []Notice
}

// A Renew extends the claim while the exchange with the backend continues. The new lease begins at
// the time of the step. A lapsed lease can be renewed if no other step has ended the claim since.
// ErrStale means that Token is not the token of the current claim.
type Renew struct {
	Token string
	Lease time.Duration
}

// A Finish ends the claimed pause in one step. In the result the store sets PauseID, IDs, Digest,
// Next, Pause, At and Receipt. If the run ended with another question, Next is the new pause, with
// an id that was not used before, and the step opens it. Otherwise Next is nil.
//
// Finish also works after the lease has lapsed, unless another step has ended the claim since. In
// that case it returns ErrStale: the doubt was reported to a client and the pause closed, a new
// pause has replaced it, or another Finish or a Release was first. A second call with the same
// token, the same result and the same Next.ID returns nil, whatever has happened since. A second
// call with another result returns ErrStale.
//
// If the EndKind of the result is Doubtful, Next must be nil. Then the pause is InDoubt until one
// client was told of the doubt, and Record.Doubt has the result. The claim has ended.
type Finish struct {
	Token   string
	Result  Result
	Next    *agui.Pause
	Notices []Notice
}

// A Release opens the claimed pause again, with its old Opened. It returns ErrStale in the same
// cases as Finish. A second call after a success returns nil, unless the pause was claimed since.
type Release struct {
	Token   string
	Notices []Notice
}

// A Close ends a pause without an answer, if the pause is open or in doubt. In the result the store
// sets PauseID, IDs, Digest (of the answers in doubt), Pause and At, and sets empty fields from
// Record.Doubt. It returns ErrExists if the pause is claimed. It also returns ErrExists if the
// pause is in doubt and the result is Withdrawn, because the backend may have acted on the answer,
// and such an answer cannot be withdrawn. It also returns ErrExists if the pause is open and the
// result is Doubtful: the claim was released after the caller had loaded it in doubt, so the
// backend did nothing and the question still waits. It returns ErrNotFound if the record no longer
// has this pause open or in doubt. If several callers close the pause at the same time, only one of
// them gets nil, and must tell the client.
//
// Decided, if not nil, is the number of decisions that the caller has seen in the pause. If the
// open pause has more, Close returns ErrStale, as a Claim without these decisions does: whoever
// decided was told that the decision counts.
type Close struct {
	PauseID string
	Result  Result
	Decided *int
	Notices []Notice
}

// An Occupy records that a run of the thread continues without its client, so that no replica
// starts another run. The caller makes the Token for this run. A call with the same token renews
// the lease. A Lease of 0 or less means that the run has ended; an unknown token is not an error
// then. Occupy returns ErrFull if MaxBusy runs already continue without their clients. It changes
// only Record.Occupants, and sets no owner.
type Occupy struct {
	Token string
	Lease time.Duration
}

// A Contest records in the pause (agui.Pause.Contested) that another run of the thread has raised
// another question meanwhile. The mark stays until the pause ends. A Finish copies it to the pause
// that it opens next, because the other run may have asked before or after that. A repeated Contest
// returns nil. A Contest returns ErrNotFound if the record no longer has this pause open or
// claimed. It changes nothing else.
type Contest struct{ PauseID string }

// A See records that the chat has got the end that it missed: it clears Result.EndUnseen. If See is
// repeated, or the result is unknown, that is not an error.
type See struct{ PauseID string }

// A Remember adds a note to a key. Usually the key is not that of a thread. A note is a fact about
// earlier threads, or names the thread that has a question. Load returns the notes. The store sets
// Note.At. A new note replaces the note with the same id. The store keeps the newest Most notes of
// the key (Most is 1 to MaxNotes). If the key is that of a thread, nothing else in its record
// changes.
//
// A record that has only notes is kept after it was last written or loaded for as long as an ended
// thread, and at least for NoteAge. A note that refers to a pause (Note.RefersToPause) is kept for
// as long as the pause and its result may be kept. It is also kept for at least nine tenths of that
// time after it was last loaded. A store without room may drop records that have only notes
// earlier.
type Remember struct {
	Note Note
	Most int
}

// A Take returns the notices of a thread in StepResult.Notices. The caller must send them within
// the duration Hold. Take returns no notices if there are none. It also returns none if they are
// not due, because another sender has taken them or because they wait after a failure.
type Take struct{ Hold time.Duration }

// A Sent removes the notices with the ids in IDs. An unknown id is not an error. The remaining
// notices are due after the duration Wait. Failed means that the first of them could not be
// delivered; then Tries is increased by one.
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
