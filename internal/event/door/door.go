// Package door is what is said at another door than the chat: words to questions, who says them,
// and why they are not taken or not carried. The doors and the proxy share it, so that neither
// needs to know the other.
package door

import (
	"encoding/json"
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
)

// A Word is what somebody says to one question of a pause.
type Word struct {
	Question string // the published id of the interrupt
	Status   agui.Status
	Payload  json.RawMessage // nil for none
	Comment  string          // for those who read the record; no agent is told it
}

// Decider says it, and where.
type Decider struct {
	Door event.Door
	Name string
}

// Why a decision is not taken, or a decided pause not carried. The store's errors are others.
var (
	// ErrNotWritten: the audit is required and cannot be written, so nothing was done.
	ErrNotWritten = errors.New("the audit cannot be written")
	// ErrChat: only the chat can go on with the pause.
	ErrChat = errors.New("only the chat can go on with it")
	// ErrHome: another process carries it, whose backend holds the question.
	ErrHome = errors.New("another process carries it, whose backend holds the question")
	// ErrUndecided: the pause has questions that nobody has decided, or there is none.
	ErrUndecided = errors.New("it is not decided")
)
