// Package event has what happens to questions and answers, under one name each: who asked what, who
// answered what, what became of it. The audit writes these events down, and whoever else is to hear
// of them (a webhook, metrics) takes the same ones.
//
// It deliberately does not decide anything, and does not know how an event is kept or sent. Package
// proxy makes events, by the step of the store that each stands for.
package event

import (
	"encoding/json"
	"errors"
	"time"
)

// A Kind is what happened. docs/audit.md says when each is written.
type Kind string

// The kinds. Those of a resume are about answers, those of an interrupt about questions.
const (
	Raised    Kind = "interrupt.raised"
	Resolved  Kind = "interrupt.resolved"
	Cancelled Kind = "interrupt.cancelled"
	Expired   Kind = "interrupt.expired"
	Lost      Kind = "interrupt.lost"
	Withdrawn Kind = "interrupt.withdrawn"
	Retired   Kind = "interrupt.retired"
	Freeing   Kind = "interrupt.freeing" // it is about to be freed at the desk

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

// Kinds returns all of them.
func Kinds() []Kind {
	return []Kind{
		Raised, Resolved, Cancelled, Expired, Lost, Withdrawn, Retired, Freeing, Deciding, Decided,
		Claiming, Claimed, Released, InDoubt, Replayed, Refused, RunRefused,
	}
}

// A Door is where something came in.
type Door string

// Chat: a run of the chat that asked. Retention: nobody came within HOLDPOINT_PAUSE_RETENTION.
// Desk: the API of the desk; Event.Principal is the name of its token then.
const (
	Chat      Door = "chat"
	Retention Door = "retention"
	Desk      Door = "desk"
)

// An Event is one thing that happened. Empty fields are not known, or do not apply. Its bytes may
// be the maker's: a Sink that keeps them longer than Take lasts copies them.
type Event struct {
	Kind   Kind
	Time   time.Time
	Agent  string // HOLDPOINT_NAME of the process that makes the event
	Tenant string
	Thread string // as the client knows it
	Run    string // the request's; of a pause that nobody came to answer, the run that paused
	Pause  string // the pause's id, one for all its questions
	// Approval is how the desk calls the pause, "" without one: see ApprovalOf.
	Approval string
	Dialect  string
	Door     Door

	Principal     string // the name, if it is to be shown
	PrincipalHash string // the keyed hash by which the record names its owner, if that is to be shown

	Code       string // of a refusal, or of the RUN_ERROR in which the answered run ended
	Interrupts []Interrupt
}

// An Interrupt is one question of an event, with what was answered if it was.
type Interrupt struct {
	ID     string
	Reason string
	Tools  []string // the names of the calls that a yes lets run
	// Asked is a digest of exactly what was asked, "" if that is not known. Answered is one of what
	// was answered. docs/audit.md has both recipes.
	Asked, Answered string
	Status          string // resolved or cancelled
	Says            string // approved or denied, where the dialect knows; else ""
	Edited          bool   // approved with other arguments than those that were asked about
	// Door and By are where it was decided and by whom, if that was before the resume at hand.
	Door    Door
	By      string
	Comment string // with Decided: for those who read the audit

	Object, Calls, Payload json.RawMessage // what the digests are of
}

// ApprovalOf returns how the desk calls a pause of the record with that key.
func ApprovalOf(key, pause string) string { return key + "." + pause }

// A Run is what is counted of a run when it has ended.
type Run struct {
	Agent            string        // its configured name
	Dialect, Outcome string        // as in the log; "" if nobody knows
	Client           string        // the line of its client, "" if unknown
	Upstream         string        // how the backend failed, "" if it did not
	Duration, First  time.Duration // First: until the first bytes of a backend's stream, 0 if there was none
	// Frames of the backend's streams by what became of them, and events that Holdpoint made.
	Passed, Rewritten, Dropped, Made int
}

// A Sink takes events. It is called from many goroutines, in the order in which the events of one
// thread happen. An error says that the event could not be kept.
type Sink interface {
	Take(e *Event) error
}

// Sinks is a Sink of several. All of them take each event; the error joins theirs.
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
