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

// The kinds "resume" are about answers, the kinds "interrupt" about questions.
const (
	Raised    Kind = "interrupt.raised"
	Resolved  Kind = "interrupt.resolved"
	Cancelled Kind = "interrupt.cancelled"
	Expired   Kind = "interrupt.expired"
	Lost      Kind = "interrupt.lost"
	Withdrawn Kind = "interrupt.withdrawn"
	Retired   Kind = "interrupt.retired"
	Freeing   Kind = "interrupt.freeing" // a person is about to free the thread at the desk

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

// A Door is the way by which a decision arrived.
type Door string

// Chat: a run of the chat that asked. Retention: HOLDPOINT_PAUSE_RETENTION ended the pause. Desk:
// the API of the desk; Event.Principal is then the name of the token.
const (
	Chat      Door = "chat"
	Retention Door = "retention"
	Desk      Door = "desk"
)

// An Event is one event. A field is empty if it is unknown or does not apply. Its maker may reuse
// its bytes, so a Sink that keeps them after Take returns must copy them.
type Event struct {
	Kind   Kind
	Time   time.Time
	Agent  string // HOLDPOINT_NAME of the process that makes the event
	Tenant string
	Thread string // the client's id of the thread
	Run    string // the run of the request; for a pause that ended without a request, the run that paused
	Pause  string // the id of the pause, which all its questions share
	// Approval is the desk's name of the pause, or "": see ApprovalOf.
	Approval string
	Dialect  string
	Door     Door

	Principal     string // the name, if it may be shown
	PrincipalHash string // the keyed hash that the record has for its owner, if it may be shown

	Code       string // the code of a refusal, or of the RUN_ERROR that ended the run with the answers
	Interrupts []Interrupt
}

// An Interrupt is one question of an event, with its answer if it has one.
type Interrupt struct {
	ID     string
	Reason string
	Tools  []string // the names of the calls that an approval lets run
	// QuestionDigest is a digest of the question, or "" if unknown. Answered is a digest of the
	// answer. docs/audit.md describes how to compute both.
	QuestionDigest, AnswerDigest string
	Status                       string // resolved or cancelled
	Verdict                      string // approved or denied, or "" if the dialect cannot tell
	Edited                       bool   // approved with other arguments than those of the question
	// Door and By are where and by whom the question was decided, if that was before the current
	// resume.
	Door    Door
	By      string
	Comment string // with Decided: a comment for readers of the audit

	Object, Calls, Payload json.RawMessage // the data of the digests
}

// ApprovalOf returns the desk's name of a pause. key is the key of the record.
func ApprovalOf(key, pause string) string { return key + "." + pause }

// A Run has the numbers of a run that has ended, for metrics.
type Run struct {
	Agent                     string        // the configured name
	Dialect, Outcome          string        // as in the log; "" if unknown
	Client                    string        // the name of the client's line, or "" if unknown
	Upstream                  string        // how the backend failed, or ""
	Duration, TimeToFirstByte time.Duration // TimeToFirstByte is the time until the first bytes of a backend's stream, or 0
	// Numbers of frames of the backend's streams that passed, were rewritten or were dropped, and of
	// events that Holdpoint made.
	PassedFrames, RewrittenFrames, DroppedFrames, MadeEvents int
}

// A Sink receives events. Take is called from many goroutines, but in the right order for each
// thread. An error means that the event could not be stored.
type Sink interface {
	Take(e *Event) error
}

// Sinks passes each event to all of its sinks, and joins their errors.
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
