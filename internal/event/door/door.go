// Package door has the types for decisions that are made outside the chat, for example at the desk
// (the API for approvers): the decision, the person who makes it, and the errors if the decision is
// not accepted or cannot be sent to the backend. The code of each such door and package proxy share
// these types, so that neither depends on the other.
package door

import (
	"encoding/json"
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
)

// A Decision is the decision on one question of a pause.
type Decision struct {
	Question string // the interrupt's id as the client sees it
	Status   agui.Status
	Payload  json.RawMessage // nil if the decision has no payload
	Comment  string          // for readers of the audit; the agent does not see it
}

// A Decider is the person who decides, and the door through which the decision arrives.
type Decider struct {
	Door event.Door
	Name string
}

// These are the errors of a decision that is not accepted, and of a decided pause that cannot be
// sent to the backend. The package store has further errors.
var (
	// ErrNotWritten means that the settings require the audit, and that it cannot be written. So
	// nothing was done.
	ErrNotWritten = errors.New(textUnaudited)
	// ErrChat means that only a request of the chat can continue the pause.
	ErrChat = errors.New(textOnlyChat)
	// ErrHome means that the backend with the question belongs to another process. That process
	// carries the pause to the backend.
	ErrHome = errors.New(textOtherProcess)
	// ErrUndecided means that some questions of the pause are not decided, or that there is no such
	// pause.
	ErrUndecided = errors.New(textNotDecided)
)
