// Package event defines the events of questions and answers: who asked, who answered, and what the
// result was. The audit, the webhook and the metrics all receive the same events.
//
// The package makes no decisions, and does not store or send events. Package proxy makes an event
// for each step of the store.
package event

import (
	"encoding/json"
	"errors"
	"time"
)

// A Kind is the kind of an event. docs/audit.md describes when each is written.
type Kind string

// The events of the kinds "resume" are about answers. The events of the kinds "interrupt" are about
// questions.
const (
	Raised    Kind = "interrupt.raised"
	Resolved  Kind = "interrupt.resolved"
	Cancelled Kind = "interrupt.cancelled"
	Expired   Kind = "interrupt.expired"
	Lost      Kind = "interrupt.lost"
	Withdrawn Kind = "interrupt.withdrawn"
	Retired   Kind = "interrupt.retired"
	Freeing   Kind = "interrupt.freeing" // at the desk, a person is about to free the thread

	Deciding Kind = "interrupt.deciding"
	Decided  Kind = "interrupt.decided"

	Claiming Kind = "resume.claiming"
	Claimed  Kind = "resume.claimed"
	Released Kind = "resume.released"
	InDoubt  Kind = "resume.in_doubt"
	Replayed Kind = "resume.replayed"
	Refused  Kind = "resume.refused"

	RunRefused Kind = "run.refused"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		Raised, Resolved, Cancelled, Expired, Lost, Withdrawn, Retired, Freeing, Deciding, Decided,
		Claiming, Claimed, Released, InDoubt, Replayed, Refused, RunRefused,
	}
}

// A Door is the way on which a decision arrived.
type Door string

// These are the doors. Chat: the decision was in a run of the chat in which the question was asked.
// Retention: HOLDPOINT_PAUSE_RETENTION ended the pause. Desk: the decision came through the API of
// the desk; Event.Principal is then the name of the token.
const (
	Chat      Door = "chat"
	Retention Door = "retention"
	Desk      Door = "desk"
)

// An Event is one event of a question or of its answer. A field is empty if it is unknown or does
// not apply. The caller of Take may reuse the bytes of the Event, so a Sink that needs them after
// Take returns must copy them.
type Event struct {
	Kind   Kind
	Time   time.Time
	Agent  string // HOLDPOINT_NAME of the process that created the event
	Tenant string
	Thread string // the thread's id as the client sent it
	Run    string // the run of the request; for a pause that ended without a request, the run that paused
	Pause  string // the id of the pause; all questions of the pause share it
	// Approval is the name under which the desk shows the pause, or "". ApprovalOf returns it.
	Approval string
	Dialect  string
	Door     Door

	Principal     string // the name of the principal, if it may be shown
	PrincipalHash string // the keyed hash of the record's owner, if it may be shown

	Code       string // the code of the refusal, or of the RUN_ERROR that ended the resumed run
	Interrupts []Interrupt
}

// An Interrupt is one question of an event, with its answer if it has one.
type Interrupt struct {
	ID     string
	Reason string
	Tools  []string // the names of the tools whose calls an approval lets run
	// QuestionDigest is a digest of the question, or "" if unknown. AnswerDigest is a digest of the
	// answer. docs/audit.md describes how to compute both.
	QuestionDigest, AnswerDigest string
	Status                       string // resolved or cancelled
	// approved or denied, or "" if the dialect does not say which
	Verdict string
	// approved, with arguments that differ from those of the question
	Edited bool
	// Door is where the question was decided, and By is who decided it, if it was decided before
	// the current resume.
	Door    Door
	By      string
	Comment string // of an event Decided: a comment for readers of the audit

	Object, Calls, Payload json.RawMessage // the data from which the digests are computed
}

// ApprovalOf returns the name under which the desk shows a pause. key is the key of the pause's
// record, and pause is the pause's id.
func ApprovalOf(key, pause string) string { return key + "." + pause }

// A Run contains the numbers of one run that has ended. The metrics count them.
type Run struct {
	Agent            string // the configured name of the agent
	Dialect, Outcome string // the same words as in the log; "" if unknown
	// the name of the client library (clients.Line), or "" if unknown
	Client   string
	Upstream string // how the backend failed, or "" if it did not
	// TimeToFirstByte: until the first bytes of the backend's stream, or 0
	Duration, TimeToFirstByte time.Duration
	// The first three count the frames of the backend's streams that were forwarded unchanged,
	// rewritten or dropped. MadeEvents counts the events that Holdpoint added.
	PassedFrames, RewrittenFrames, DroppedFrames, MadeEvents int
}

// A Sink receives events. Take is called from many goroutines, but the events of one thread arrive
// in their order. An error means that the event could not be stored.
type Sink interface {
	Take(e *Event) error
}

// Sinks sends each event to all of its sinks, and joins their errors.
type Sinks []Sink

// Take implements Sink.
func (s Sinks) Take(e *Event) error {
	var errs []error
	for _, sink := range s {
		if err := sink.Take(e); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
