package agui

import (
	"bytes"
	"encoding/json"
	"slices"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Type is the `type` of an event. It is Unknown for a type that this package does not list.
type Type string

// The types of events that Holdpoint reads. AG-UI 1.0 has 31 types. Events of the other types have
// the type Unknown, and are forwarded unchanged. The type of a RUN_ERROR is RunErrored, because
// RunError is the error of a refused run.
const (
	Unknown            Type = ""
	RunStarted         Type = "RUN_STARTED"
	RunFinished        Type = "RUN_FINISHED"
	RunErrored         Type = "RUN_ERROR"
	StepStarted        Type = "STEP_STARTED"
	StepFinished       Type = "STEP_FINISHED"
	TextStart          Type = "TEXT_MESSAGE_START"
	TextContent        Type = "TEXT_MESSAGE_CONTENT"
	TextEnd            Type = "TEXT_MESSAGE_END"
	TextChunk          Type = "TEXT_MESSAGE_CHUNK"
	CallStart          Type = "TOOL_CALL_START"
	CallArgs           Type = "TOOL_CALL_ARGS"
	CallEnd            Type = "TOOL_CALL_END"
	CallChunk          Type = "TOOL_CALL_CHUNK"
	CallResult         Type = "TOOL_CALL_RESULT"
	StateSnapshot      Type = "STATE_SNAPSHOT"
	StateDelta         Type = "STATE_DELTA"
	MessagesSnapshot   Type = "MESSAGES_SNAPSHOT"
	Raw                Type = "RAW"
	Custom             Type = "CUSTOM"
	ReasoningStart     Type = "REASONING_START"
	ReasoningEnd       Type = "REASONING_END"
	ReasoningMsgStart  Type = "REASONING_MESSAGE_START"
	ReasoningContent   Type = "REASONING_MESSAGE_CONTENT"
	ReasoningMsgEnd    Type = "REASONING_MESSAGE_END"
	ReasoningMsgChunk  Type = "REASONING_MESSAGE_CHUNK"
	ReasoningEncrypted Type = "REASONING_ENCRYPTED_VALUE"
	ThinkingStart      Type = "THINKING_START"
	ThinkingEnd        Type = "THINKING_END"
	ThinkingTextStart  Type = "THINKING_TEXT_MESSAGE_START"
	ThinkingTextEnd    Type = "THINKING_TEXT_MESSAGE_END"
	ActivitySnapshot   Type = "ACTIVITY_SNAPSHOT"
	ActivityDelta      Type = "ACTIVITY_DELTA"
	SubagentStarted    Type = "SUBAGENT_STARTED"
	SubagentFinished   Type = "SUBAGENT_FINISHED"
	SubagentErrored    Type = "SUBAGENT_ERROR"
	maxTypeLen              = 40
	typePrefix              = `{"type":"`
	typePrefixSpaced        = `{"type": "`
)

// OnInterrupt is the name of the CUSTOM event by which the adapters of LangGraph, Mastra and CrewAI
// announce a pause.
const OnInterrupt = "on_interrupt"

// typeOf returns the constant that equals s, so that the memory of s can be freed. It returns
// Unknown if there is no such constant.
func typeOf(s string) Type {
	switch Type(s) {
	case RunStarted:
		return RunStarted
	case RunFinished:
		return RunFinished
	case RunErrored:
		return RunErrored
	case StepStarted:
		return StepStarted
	case StepFinished:
		return StepFinished
	case TextStart:
		return TextStart
	case TextContent:
		return TextContent
	case TextEnd:
		return TextEnd
	case TextChunk:
		return TextChunk
	case CallStart:
		return CallStart
	case CallArgs:
		return CallArgs
	case CallEnd:
		return CallEnd
	case CallChunk:
		return CallChunk
	case CallResult:
		return CallResult
	case StateSnapshot:
		return StateSnapshot
	case StateDelta:
		return StateDelta
	case MessagesSnapshot:
		return MessagesSnapshot
	case Raw:
		return Raw
	case Custom:
		return Custom
	case ReasoningStart:
		return ReasoningStart
	case ReasoningEnd:
		return ReasoningEnd
	case ReasoningMsgStart:
		return ReasoningMsgStart
	case ReasoningContent:
		return ReasoningContent
	case ReasoningMsgEnd:
		return ReasoningMsgEnd
	case ReasoningMsgChunk:
		return ReasoningMsgChunk
	case ReasoningEncrypted:
		return ReasoningEncrypted
	case ThinkingStart:
		return ThinkingStart
	case ThinkingEnd:
		return ThinkingEnd
	case ThinkingTextStart:
		return ThinkingTextStart
	case ThinkingTextEnd:
		return ThinkingTextEnd
	case ActivitySnapshot:
		return ActivitySnapshot
	case ActivityDelta:
		return ActivityDelta
	case SubagentStarted:
		return SubagentStarted
	case SubagentFinished:
		return SubagentFinished
	case SubagentErrored:
		return SubagentErrored
	}
	return Unknown
}

// PeekType reads the type of an event without parsing the whole event. All known producers write
// `type` without escapes as the first key. In any other event, PeekType returns the first `type` at
// the root. Use the result only to choose who handles an event: whether Holdpoint may act on the
// event is decided by Valid.
func PeekType(data []byte) Type {
	rest, ok := bytes.CutPrefix(data, []byte(typePrefix))
	if !ok {
		rest, ok = bytes.CutPrefix(data, []byte(typePrefixSpaced))
	}
	if ok {
		rest = rest[:min(len(rest), maxTypeLen)]
		t := Unknown
		i := bytes.IndexByte(rest, '"')
		if i >= 0 {
			t, rest = typeOf(unsafe.String(unsafe.SliceData(rest), i)), rest[:i]
		}
		if t != Unknown || bytes.IndexByte(rest, '\\') < 0 {
			return t
		}
	}
	return typeOf(gjson.Get(unsafe.String(unsafe.SliceData(data), len(data)), "type").Str)
}

// An Event is one event of a stream, kept as the bytes of its JSON object.
type Event struct {
	Type Type
	// JSON is the event's JSON object, on one or several lines. The JSON of an event that Run.Event
	// or Run.End gets is valid only until the call returns.
	JSON []byte
	// Frame is the frame of the stream that contained the event, or nil for an event that Holdpoint
	// made. If an event is emitted with its Frame and Edited is false, the client gets exactly the
	// bytes of Frame.
	Frame []byte
	// Edited reports that JSON differs from the data in Frame. The client then gets JSON, with the
	// other parts of Frame (comments, ids).
	Edited bool
}

// NewEvent returns an event that Holdpoint made, with the given JSON.
func NewEvent(json []byte) Event { return Event{Type: PeekType(json), JSON: json} }

// WithJSON returns ev with the new JSON object, in the same frame.
func (ev Event) WithJSON(json []byte) Event {
	ev.JSON, ev.Edited, ev.Type = json, true, PeekType(json)
	return ev
}

// Clone returns a copy of ev that stays valid after the call that has passed ev.
func (ev Event) Clone() Event {
	ev.JSON, ev.Frame = slices.Clone(ev.JSON), slices.Clone(ev.Frame)
	return ev
}

// CloneTo is like Clone, but it appends the copy to buf and also returns the extended buf. If the
// JSON is a part of Frame, it stores the bytes once.
func (ev Event) CloneTo(buf []byte) (Event, []byte) {
	const prefix = len("data: ")
	json := ev.JSON
	if ev.Frame != nil {
		n := len(buf)
		buf = append(buf, ev.Frame...)
		frame := buf[n:len(buf):len(buf)]
		if end := prefix + len(json); len(json) > 0 && len(ev.Frame) >= end && &ev.Frame[prefix] == &json[0] {
			ev.Frame, ev.JSON = frame, frame[prefix:end:end]
			return ev, buf
		}
		ev.Frame = frame
	}
	n := len(buf)
	buf = append(buf, json...)
	ev.JSON = buf[n:len(buf):len(buf)]
	return ev, buf
}

// Get returns the value at a constant gjson path of the event's JSON object. Never pass a path with
// data of a client or a backend, because the data could contain gjson's modifiers and wildcards.
func (ev Event) Get(path string) gjson.Result { return gjson.GetBytes(ev.JSON, path) }

// Valid reports whether Holdpoint may act on the event. The event must be a valid JSON object with
// exactly one `type`. Of two equal keys, JSON.parse uses the last and gjson the first. So an event
// with two types is forwarded unchanged, and Holdpoint does not act on it.
func (ev Event) Valid() bool { return ev.Read(nil) }

// Read is like Valid, and also reads the values of some keys of the event's object into values, in
// the order of keys. A value is JSON text and shares the event's memory. It is "" if the key is
// missing. If a key is repeated, it is the first value. If Read returns false, values must not be
// used.
func (ev Event) Read(values []string, keys ...string) bool {
	types := 0
	m := MembersOf(ev.JSON)
	for m.Next() {
		name := m.Name()
		if name == "type" {
			types++
		}
		for n, key := range keys {
			if name == key && values[n] == "" {
				values[n] = m.Value
			}
		}
	}
	return types == 1 && m.IsComplete()
}

// View parses b without copying it. The result and all values read from it share the memory of b,
// so a string that outlives b must be cloned.
func View(b []byte) gjson.Result { return gjson.Parse(unsafe.String(unsafe.SliceData(b), len(b))) }

// bytesOf returns the JSON text of a result of View without copying it. Appending to the returned
// slice allocates a new one.
func bytesOf(v gjson.Result) json.RawMessage {
	return unsafe.Slice(unsafe.StringData(v.Raw), len(v.Raw))
}

// Terminal reports whether the event ends a run.
func (t Type) Terminal() bool { return t == RunFinished || t == RunErrored }
