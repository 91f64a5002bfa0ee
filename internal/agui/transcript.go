package agui

import (
	"encoding/json"
	"strings"
)

// A Transcript is what the client of a run has been shown so far: the messages of its request, and
// all that was streamed since. proxy keeps it, and dialects read it. A read may fold what was kept
// raw, so it is for pauses and not for every event.
type Transcript interface {
	// Calls are the tool calls that the client has seen, in order.
	Calls() []Call
	// Messages are what a MESSAGES_SNAPSHOT would hold now. It is false if they are not all known
	// (over the bound).
	Messages() ([]json.RawMessage, bool)
	// State is what a STATE_SNAPSHOT would hold now, and nil if none was seen or sent. It is false
	// if the state is not known.
	State() (json.RawMessage, bool)
}

// A CallFinder is a Transcript that finds one call without making a list of all.
type CallFinder interface {
	Call(id string) (Call, bool)
}

// A FreshCaller is a Transcript that knows cheaply whether a call may be Fresh. At the end of a run
// that had no calls nobody has to read what was said.
type FreshCaller interface {
	MayHaveFreshCalls() bool
}

// MayHaveFreshCalls reports whether a call of the transcript may be Fresh.
func MayHaveFreshCalls(t Transcript) bool {
	fresh, ok := t.(FreshCaller)
	return !ok || fresh.MayHaveFreshCalls()
}

// CallOf returns a call as the transcript has it. It is false if there is none of that id.
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

// A Call is a tool call as the client has seen it.
type Call struct {
	ID, Name string
	Args     string // the arguments' JSON text, joined from the deltas
	Parent   string // parentMessageId
	Ended    bool
	Answered bool // a result was seen
	// Fresh says that it came in this run's stream: the messages that the run began with lack it,
	// or the stream has begun it again.
	Fresh bool
}

// Parts returns what tells a call from others: its id, its tool, and its arguments in canonical
// form.
func (c Call) Parts() []string {
	text := []byte(c.Args)
	switch {
	case strings.TrimSpace(c.Args) == "" || c.Args == "null":
		text = []byte("{}") // clients write each of the three for a call without arguments
	case ValidJSON(text):
		text = Canonical(text)
	}
	return []string{c.ID, c.Name, string(text)}
}
