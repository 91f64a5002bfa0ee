package agui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Some backends write null for members without a value (Agent Framework's .NET hosting of August
// 2026, on AGUI.* after 0.0.5). In AG-UI such members are left out, and every version of
// @ag-ui/client fails at a null in most of them.

// The optional members of events that have a type in AG-UI 1.0's schemas. rawEvent and result may
// have any value, even null. The dialects handle the outcome of a RUN_FINISHED.
var (
	typedMembers   = []string{"timestamp", "metadata"}
	typedMembersOf = map[Type][]string{
		RunStarted:        {"protocolVersion", "parentRunId", "input"},
		RunFinished:       {"usage"},
		RunErrored:        {"code", "usage"},
		TextStart:         {"role", "name"},
		TextChunk:         {"messageId", "role", "delta", "name"},
		CallStart:         {"parentMessageId"},
		CallChunk:         {"toolCallId", "toolCallName", "parentMessageId", "delta"},
		CallResult:        {"role"},
		ActivitySnapshot:  {"replace"},
		Raw:               {"source"},
		ReasoningMsgChunk: {"messageId", "delta"},
		SubagentStarted:   {"description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"},
		SubagentFinished:  {"outcome"},
		SubagentErrored:   {"code"},
	}
	typedMembersOfInterrupt = []string{"subagentRunId", "message", "toolCallId", "responseSchema", "expiresAt", "metadata"}
)

// hasTypedMember reports whether a member of an event is optional and has a type.
func (t Type) hasTypedMember(name string) bool {
	if t == Unknown {
		return false
	}
	if slices.Contains(typedMembers, name) || slices.Contains(typedMembersOf[t], name) {
		return true
	}
	switch t {
	case RunStarted, RunFinished, RunErrored, MessagesSnapshot, SubagentStarted, SubagentFinished, SubagentErrored:
		return false
	}
	return name == "subagentRunId"
}

var nullText = []byte("null")

// WithoutNulls returns the event without members that must not be null, at its root and in its
// interrupts. Without such members, or if ev is not valid JSON, it returns ev and allocates
// nothing.
func (ev Event) WithoutNulls() Event {
	if !bytes.Contains(ev.JSON, nullText) || ev.Type == Unknown {
		return ev
	}
	object := withoutNulls(ev.JSON, ev.Type.hasTypedMember)
	if ev.Type == RunFinished && object != nil {
		object = withoutNullsOfInterrupts(object)
	}
	if object == nil || len(object) == len(ev.JSON) {
		return ev
	}
	return ev.With(object)
}

// withoutNulls returns an object without the members that are null and for which typed returns
// true. It returns nil if the object is not valid JSON.
func withoutNulls(object []byte, typed func(string) bool) []byte {
	found := false
	m := MembersOf(object)
	for m.Next() {
		found = found || m.Value == "null" && typed(m.Name())
	}
	switch {
	case !m.Whole() || found && !ValidJSON(object):
		return nil
	case !found:
		return object
	}
	out := append(make([]byte, 0, len(object)), '{')
	for m = MembersOf(object); m.Next(); {
		if m.Value == "null" && typed(m.Name()) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.Key...), ':'), m.Value...)
	}
	return append(out, '}')
}

// withoutNullsOfInterrupts returns a RUN_FINISHED without the nulls of its interrupts.
func withoutNullsOfInterrupts(finish []byte) []byte {
	list := gjson.GetBytes(finish, "outcome.interrupts")
	if !list.IsArray() || !strings.Contains(list.Raw, "null") {
		return finish
	}
	typed := func(name string) bool { return slices.Contains(typedMembersOfInterrupt, name) }
	var interrupts []json.RawMessage
	size := 0
	for _, i := range list.Array() {
		object := []byte(i.Raw)
		if i.IsObject() {
			object = withoutNulls(object, typed)
		}
		if object == nil {
			return finish
		}
		interrupts, size = append(interrupts, object), size+len(object)-len(i.Raw)
	}
	if size == 0 {
		return finish
	}
	return SetKey(finish, "outcome.interrupts", List(interrupts))
}
