package agui

import (
	"encoding/json"
	"strings"
)

// A Transcript is what the client of a run has so far: the messages of its request and everything
// streamed since. proxy maintains it, and dialects read it. Reading may be expensive, so read it at
// a pause and not for every event.
type Transcript interface {
	// Calls returns the tool calls that the client has, in order.
	Calls() []Call
	// Messages returns the content that a MESSAGES_SNAPSHOT would have now. It returns false if some
	// messages are unknown (over the bound).
	Messages() ([]json.RawMessage, bool)
	// State returns the content that a STATE_SNAPSHOT would have now, or nil if there is no state. It
	// returns false if the state is unknown.
	State() (json.RawMessage, bool)
}

// A CallFinder is a Transcript that finds one call without making a list of all calls.
type CallFinder interface {
	Call(id string) (Call, bool)
}

// A FreshCaller is a Transcript that can cheaply report whether any call is StreamedInRun, so that
// a run without calls need not be read at its end.
type FreshCaller interface {
	MayHaveFreshCalls() bool
}

// MayHaveFreshCalls reports whether a call of the transcript may be StreamedInRun.
func MayHaveFreshCalls(t Transcript) bool {
	fresh, ok := t.(FreshCaller)
	return !ok || fresh.MayHaveFreshCalls()
}

// CallOf returns the call with the id, and false if there is none.
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
	Parent   string // parentMessageId
	Ended    bool
	Answered bool // its result was streamed
	// StreamedInRun reports that the call was streamed in this run: the messages at the beginning of
	// the run lack it, or the stream began it again.
	StreamedInRun bool
}

// Parts returns the texts that distinguish a call: its id, its tool, and its arguments in canonical
// form.
func (c Call) Parts() []string {
	text := []byte(c.Args)
	switch {
	case strings.TrimSpace(c.Args) == "" || c.Args == "null":
		text = []byte("{}") // clients write any of the three for a call without arguments
	case ValidJSON(text):
		text = Canonical(text)
	}
	return []string{c.ID, c.Name, string(text)}
}
