package agui

import (
	"encoding/json"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Some backends write null as the value of a member that has no value (Agent Framework's .NET
// hosting of August 2026, on AGUI.* after 0.0.5). AG-UI requires that such a member is left out,
// and every version of @ag-ui/client fails at a null in most of these members.

// The optional members of events for which AG-UI 1.0's schemas require a type, so that they must
// not be null. rawEvent and result are not in these lists, because they may have any value, even
// null. The dialects handle the outcome of a RUN_FINISHED.
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

// typedMembers returns the names of the optional members of events of the type t that must not be
// null. own has the names for this type, and common the names for many types.
func (t Type) typedMembers() (own, common []string) {
	switch t {
	case Unknown:
		return nil, nil
	case RunStarted, RunFinished, RunErrored, MessagesSnapshot, SubagentStarted, SubagentFinished, SubagentErrored:
		return typedMembersOf[t], typedMembers
	}
	return typedMembersOf[t], typedMembersInside
}

// hasTypedMember reports whether events of the type t have an optional member of this name that
// must not be null.
func (t Type) hasTypedMember(name string) bool {
	own, common := t.typedMembers()
	return slices.Contains(common, name) || slices.Contains(own, name)
}

// longestTyped is the largest number of bytes in the key of an optional member that must not be
// null, if each letter is written as an escape.
const longestTyped = len("parentSubagentRunId") * len(`\u0000`)

// WithoutNulls returns the event without the null members that must not be null, at its root and in
// its interrupts. If the event has no such members, or is not valid JSON, WithoutNulls returns ev
// itself and allocates nothing.
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

// mayHaveTypedNull reports whether the event has a null whose key is the name of an optional member
// that must not be null. It searches at any depth, so it may report true for a null that is
// content, as RAW events have many. So only the few events with such a key have to be parsed.
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

// withoutNulls returns the object without the members whose value is null and for whose name typed
// returns true. It returns nil if the object is not valid JSON.
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

// withoutNullsOfInterrupts returns a RUN_FINISHED event without the null members of its interrupts.
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
