// Package aguiwriter makes AG-UI events for backends that do not speak AG-UI: texts, reasoning,
// calls and results, each with its start and end events. The dialect chooses the ids, and must
// leave out what a backend sends twice.
package aguiwriter

import "holdpoint/internal/agui"

// An Emit is a function that sends an event to the client.
type Emit = func(agui.Event)

// Quoted returns a text as a JSON string.
func Quoted(s string) string { return string(agui.AppendString(nil, s)) }

// Send emits an event. The parameter members has pairs of a key and the JSON of its value. If that
// JSON is "", the pair is left out.
func Send(emit Emit, t agui.Type, members ...string) {
	size := len(`{"type":""}`) + len(t)
	for _, text := range members {
		size += len(text) + len(`"",`)
	}
	o := append(make([]byte, 0, size), `{"type":"`...)
	o = append(append(o, t...), '"')
	for n := 0; n+1 < len(members); n += 2 {
		if members[n+1] != "" {
			o = append(append(append(o, `,"`...), members[n]...), `":`...)
			o = append(o, members[n+1]...)
		}
	}
	emit(agui.Event{Type: t, JSON: append(o, '}')})
}

// Result emits the TOOL_CALL_RESULT of a call. The parameter metadata is a JSON object, or "".
func Result(emit Emit, id, call, content, metadata string) {
	Send(emit, agui.CallResult, "messageId", Quoted(id), "role", `"tool"`, "toolCallId", Quoted(call), "content", Quoted(content), "metadata", metadata)
}

// Custom emits a CUSTOM event, for data that no other AG-UI event can have. The parameter value is
// JSON on one line.
func Custom(emit Emit, name, value string) {
	Send(emit, agui.Custom, "name", Quoted(name), "value", value)
}

// A Lane is the part of a stream that one speaker sends. At any time at most one text, reasoning or
// call is open in it.
type Lane struct {
	// NoArgs is the JSON string that is sent as the arguments of a call without arguments. If it is
	// "", such a call gets no TOOL_CALL_ARGS.
	NoArgs string

	open         agui.Type // type of the event that opened the text, reasoning or call, or Unknown
	id           string    // id of the open text, reasoning or call
	quoted       string    // the id as JSON
	hasArguments bool      // the open call has arguments
}

// Open returns the type of the event that opened the open text, reasoning or call: TextStart,
// ReasoningStart or CallStart. It returns Unknown if nothing is open.
func (l *Lane) Open() agui.Type { return l.open }

// Call returns the id of the open call, or "" if no call is open.
func (l *Lane) Call() string {
	if l.open != agui.CallStart {
		return ""
	}
	return l.id
}

// HasArguments reports whether the open call has arguments.
func (l *Lane) HasArguments() bool { return l.hasArguments }

// begin closes the open text, reasoning or call, and notes the one that is opened.
func (l *Lane) begin(emit Emit, open agui.Type, id string) {
	l.Close(emit)
	l.open, l.id, l.quoted, l.hasArguments = open, id, Quoted(id), false
}

// Text emits a piece of text. The parameter delta is a JSON string. It must not be empty, because
// clients before 0.0.55 fail at an empty delta. If no text is open, Text opens one whose id is the
// result of the function id.
func (l *Lane) Text(emit Emit, id func() string, delta string) {
	if l.open != agui.TextStart {
		l.begin(emit, agui.TextStart, id())
		Send(emit, agui.TextStart, "messageId", l.quoted, "role", `"assistant"`)
	}
	Send(emit, agui.TextContent, "messageId", l.quoted, "delta", delta)
}

// Reasoning emits a piece of reasoning, in the same way as Text.
func (l *Lane) Reasoning(emit Emit, id func() string, delta string) {
	if l.open != agui.ReasoningStart {
		l.begin(emit, agui.ReasoningStart, id())
		Send(emit, agui.ReasoningStart, "messageId", l.quoted)
		Send(emit, agui.ReasoningMsgStart, "messageId", l.quoted, "role", `"reasoning"`)
	}
	Send(emit, agui.ReasoningContent, "messageId", l.quoted, "delta", delta)
}

// Begin opens a call. The parameter parent is the id of the message that the call belongs to, or
// "".
func (l *Lane) Begin(emit Emit, id, name, parent string) {
	l.begin(emit, agui.CallStart, id)
	if parent != "" {
		parent = Quoted(parent)
	}
	Send(emit, agui.CallStart, "toolCallId", l.quoted, "toolCallName", Quoted(name), "parentMessageId", parent)
}

// Args emits a piece of the arguments of the open call. The parameter delta is a JSON string.
func (l *Lane) Args(emit Emit, delta string) {
	if l.open == agui.CallStart && delta != `""` {
		l.hasArguments = true
		Send(emit, agui.CallArgs, "toolCallId", l.quoted, "delta", delta)
	}
}

// Close ends the open text, reasoning or call, if any.
func (l *Lane) Close(emit Emit) {
	switch l.open {
	case agui.TextStart:
		Send(emit, agui.TextEnd, "messageId", l.quoted)
	case agui.ReasoningStart:
		Send(emit, agui.ReasoningMsgEnd, "messageId", l.quoted)
		Send(emit, agui.ReasoningEnd, "messageId", l.quoted)
	case agui.CallStart:
		if !l.hasArguments && l.NoArgs != "" {
			l.Args(emit, l.NoArgs)
		}
		Send(emit, agui.CallEnd, "toolCallId", l.quoted)
	}
	l.open, l.hasArguments = agui.Unknown, false
}
