package agui

import (
	"encoding/json"
	"strings"
)

// A Transcript is the conversation that the client of a run has so far: the messages of its request
// and everything that was streamed since. Package proxy updates it, and dialects read it. Reading
// it may be expensive, so a dialect should read it at a pause and not for every event.
type Transcript interface {
	// Calls returns the tool calls that the client has, in order.
	Calls() []Call
	// Messages returns the messages that a MESSAGES_SNAPSHOT would have now. It returns false if
	// some messages are unknown, because the transcript has exceeded its bound.
	Messages() ([]json.RawMessage, bool)
	// State returns the state that a STATE_SNAPSHOT would have now, or nil if there is no state. It
	// returns false if the state is unknown.
	State() (json.RawMessage, bool)
}

// A CallFinder is a Transcript that finds one call without making a list of all calls.
type CallFinder interface {
	Call(id string) (Call, bool)
}

// A FreshCaller is a Transcript that can cheaply report whether StreamedInRun may be set for any of
// its calls. So the calls need not be read at the end of a run without calls.
type FreshCaller interface {
	MayHaveFreshCalls() bool
}

// MayHaveFreshCalls reports whether StreamedInRun may be set for a call of the transcript.
func MayHaveFreshCalls(t Transcript) bool {
	fresh, ok := t.(FreshCaller)
	return !ok || fresh.MayHaveFreshCalls()
}

// CallOf returns the call with the id, and false if the transcript has no such call.
func CallOf(t Transcript, id string) (Call, bool) {
	if finder, ok := t.(CallFinder); ok {
		return finder.Call(id)
	}
	for _, c := range t.Calls() {
		if c.ID == id {
			return c, true
		}
	}
	return Call{}, false
}

// A Call is a tool call as the client has it.
type Call struct {
	ID, Name string
	Args     string // the arguments' JSON text, joined from the deltas
	Parent   string // the call's parentMessageId
	Ended    bool
	Answered bool // its result was streamed
	// StreamedInRun reports that this run streamed the call: the messages at the beginning of the
	// run do not contain it, or the stream began it again.
	StreamedInRun bool
}

// Parts returns the three texts that distinguish a call from others: its id, the name of its tool,
// and its arguments in the form of Canonical.
func (c Call) Parts() []string {
	text := []byte(c.Args)
	switch {
	case strings.TrimSpace(c.Args) == "" || c.Args == "null":
		text = []byte("{}") // for a call without arguments, clients write nothing, null or {}
	case ValidJSON(text):
		text = Canonical(text)
	}
	return []string{c.ID, c.Name, string(text)}
}
