// Package door has the types for decisions that are made at another door than the chat, such as the
// desk: the decision, the person who makes it, and the errors if it is not accepted or not sent to
// the backend. The doors and package proxy share them, so that neither depends on the other.
package door

import (
	"encoding/json"
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
)

// A Decision is the decision on one question of a pause.
type Decision struct {
	Question string // the published id of the interrupt
	Status   agui.Status
	Payload  json.RawMessage // nil if there is none
	Comment  string          // for readers of the audit; the agent does not get it
}

// A Decider is the person who decides, and the door.
type Decider struct {
	Door event.Door
	Name string
}

// These are the errors of a decision that is not accepted, and of a decided pause that cannot be
// sent to the backend. The store has errors of its own.
var (
	// ErrNotWritten: the audit is required and cannot be written, so nothing was done.
	ErrNotWritten = errors.New(textUnaudited)
	// ErrChat: only a request of the chat can continue the pause.
	ErrChat = errors.New(textOnlyChat)
	// ErrHome: the backend that has the question belongs to another process, which carries the pause.
	ErrHome = errors.New(textOtherProcess)
	// ErrUndecided: some questions of the pause are not decided, or there is no such pause.
	ErrUndecided = errors.New(textNotDecided)
)
