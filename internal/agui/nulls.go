package agui

import (
	"encoding/json"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Some backends write null for members without a value (Agent Framework's .NET hosting of August
// 2026, on AGUI.* after 0.0.5). In AG-UI such members are left out, and every version of
// @ag-ui/client fails at a null in most of them.

// The optional members of events that have a type in AG-UI 1.0's schemas. rawEvent and result may
// have any value, even null. The dialects handle the outcome of a RUN_FINISHED.
var (
	typedMembers       = []string{"timestamp", "metadata"}
	typedMembersInside = []string{"timestamp", "metadata", "subagentRunId"} // of events inside a run
	typedMembersOf     = map[Type][]string{
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

// typedMembers returns the names of the optional members that events of the type have, and that
// have a type.
func (t Type) typedMembers() (own, common []string) {
	switch t {
	case Unknown:
		return nil, nil
	case RunStarted, RunFinished, RunErrored, MessagesSnapshot, SubagentStarted, SubagentFinished, SubagentErrored:
		return typedMembersOf[t], typedMembers
	}
	return typedMembersOf[t], typedMembersInside
}

// hasTypedMember reports whether a member of an event is optional and has a type.
func (t Type) hasTypedMember(name string) bool {
	own, common := t.typedMembers()
	return slices.Contains(common, name) || slices.Contains(own, name)
}

// longestTyped is the most bytes that the key of such a member can have, if each letter is an
// escape.
const longestTyped = len("parentSubagentRunId") * len(`\u0000`)

// WithoutNulls returns the event without members that must not be null, at its root and in its
// interrupts. Without such members, or if ev is not valid JSON, it returns ev and allocates
// nothing.
func (ev Event) WithoutNulls() Event {
	if ev.Type == Unknown || !ev.mayHaveTypedNull() {
		return ev
	}
	object := withoutNulls(ev.JSON, ev.Type.hasTypedMember)
	if ev.Type == RunFinished && object != nil {
		object = withoutNullsOfInterrupts(object)
	}
	if object == nil || len(object) == len(ev.JSON) {
		return ev
	}
	return ev.WithJSON(object)
}

// mayHaveTypedNull reports whether a null in the event follows the key of an optional member that
// has a type. The null may be deeper in the event: RAW events have many that are content. So only
// the few events with such a key are parsed.
func (ev Event) mayHaveTypedNull() bool {
	var own, common []string
	found := false
	eachNull(ev.JSON, func(colon int) bool {
		if common == nil {
			own, common = ev.Type.typedMembers()
		}
		key := keyBefore(ev.JSON, colon, longestTyped)
		name := unsafe.String(unsafe.SliceData(key), len(key))
		found = slices.Contains(common, name) || slices.Contains(own, name) || strings.IndexByte(name, '\\') >= 0 ||
			ev.Type == RunFinished && slices.Contains(typedMembersOfInterrupt, name)
		return !found
	})
	return found
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
	case !m.IsComplete() || found && !ValidJSON(object):
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
