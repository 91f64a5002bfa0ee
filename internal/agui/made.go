package agui

import (
	"encoding/json"
	"slices"
)

// MakeEvent returns an event of the type whose members are texts. members are pairs of a key, which
// must not need escaping, and a text.
func MakeEvent(t Type, members ...string) Event {
	o := append([]byte(`{"type":"`), t...)
	o = append(o, '"')
	for n := 0; n+1 < len(members); n += 2 {
		o = append(append(append(o, `,"`...), members[n]...), `":`...)
		o = AppendString(o, members[n+1])
	}
	return Event{Type: t, JSON: append(o, '}')}
}

// StartedEvent returns a RUN_STARTED event. If version is empty, the event has no protocolVersion.
func StartedEvent(thread, run, version string) Event {
	if version == "" {
		return MakeEvent(RunStarted, "threadId", thread, "runId", run)
	}
	return MakeEvent(RunStarted, "threadId", thread, "runId", run, "protocolVersion", version)
}

// FinishedEvent returns a RUN_FINISHED event without an outcome.
func FinishedEvent(thread, run string) Event {
	return MakeEvent(RunFinished, "threadId", thread, "runId", run)
}

// MessagesEvent returns a MESSAGES_SNAPSHOT with the messages, without white space between tokens,
// because a client may have sent them in any layout.
func MessagesEvent(list []Message) Event { return SnapshotEvent(AppendCompact(nil, MessageList(list))) }

// SnapshotEvent returns a MESSAGES_SNAPSHOT event. list is a JSON array of messages, without line
// breaks between its tokens.
func SnapshotEvent(list json.RawMessage) Event {
	return NewEvent(slices.Concat([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":`), list, []byte("}")))
}
