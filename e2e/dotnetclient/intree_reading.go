package dotnetclient

import (
	"encoding/json"
	"slices"
	"strings"
)

// An inTreeReading turns the events of a run into updates as the client of Agent Framework does,
// one event at a time. It knows few types of events. Only one text and one call can be open at a
// time.
type inTreeReading struct {
	reasoning bool
	yield     func(Update)

	thread, run string
	text, role  string // the open text message
	call        *Call  // the open call
	arguments   string
}

// inTreeEvents are the types of events that every version of the client reads. inTreeReasoning are
// the types that 1.5.0 added.
var (
	inTreeEvents = []string{
		"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
		"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "STATE_SNAPSHOT", "STATE_DELTA",
	}
	inTreeReasoning = []string{
		"REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END",
		"REASONING_MESSAGE_CHUNK", "REASONING_END", "REASONING_ENCRYPTED_VALUE",
	}
)

func (r *inTreeReading) event(e event) error {
	if !slices.Contains(inTreeEvents, e.Type) && !(r.reasoning && slices.Contains(inTreeReasoning, e.Type)) {
		return unknown(e.Type)
	}
	switch e.Type {
	case "RUN_STARTED":
		r.thread, r.run = e.ThreadID, e.RunID
		r.yield(Update{Role: "assistant", event: e.Type, thread: e.ThreadID})
	case "RUN_FINISHED":
		if e.ThreadID != r.thread || e.RunID != r.run {
			return throw("InvalidOperationException", "The run finished event didn't match the run started event: "+e.ThreadID+", "+e.RunID)
		}
		u := Update{Role: "assistant"}
		if !isNull(e.Result) {
			u.Contents = []Content{Text{string(e.Result)}}
		}
		r.yield(u)
	case "RUN_ERROR":
		r.yield(Update{Role: "assistant", Contents: []Content{Failure{e.Message, e.Code}}})
	case "TEXT_MESSAGE_START":
		if r.text != "" {
			return throw("InvalidOperationException", "Received TextMessageStartEvent while another message is being processed.")
		}
		r.text, r.role = e.MessageID, e.Role
	case "TEXT_MESSAGE_CONTENT":
		r.yield(Update{Role: r.role, MessageID: e.MessageID, Contents: []Content{Text{e.Delta}}})
	case "TEXT_MESSAGE_END":
		if e.MessageID != r.text {
			return throw("InvalidOperationException", "Received TextMessageEndEvent for a different message than the current one.")
		}
		r.text = ""
	case "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END":
		return r.toolCall(e)
	case "TOOL_CALL_RESULT":
		value, err := resultValue(e.content())
		if err != nil {
			return err
		}
		r.yield(Update{Role: "tool", MessageID: e.MessageID, Contents: []Content{Result{e.ToolCallID, value}}})
	case "STATE_SNAPSHOT":
		r.yield(Update{Role: "assistant", Contents: []Content{State{e.Snapshot}}})
	case "REASONING_MESSAGE_CONTENT":
		r.yield(Update{Role: "assistant", MessageID: e.MessageID, Contents: []Content{Reasoning{e.Delta}}})
	}
	return nil
}

// toolCall reads an event of a call. The update for the call has the call's id as its message id,
// whatever message the call belongs to.
func (r *inTreeReading) toolCall(e event) error {
	if e.Type == "TOOL_CALL_START" {
		if r.call != nil {
			return throw("InvalidOperationException", "Received ToolCallStartEvent while another tool call is being processed.")
		}
		r.call, r.arguments = &Call{ID: e.ToolCallID, Name: e.ToolCallName}, ""
		return nil
	}
	if r.call == nil || r.call.ID != e.ToolCallID {
		return throw("InvalidOperationException", "Received "+e.Type+" for a different tool call than the current one.")
	}
	if e.Type == "TOOL_CALL_ARGS" {
		r.arguments += e.Delta
		return nil
	}
	call := r.call
	r.call = nil
	var err error
	if call.Arguments, err = arguments(r.arguments); err != nil {
		return err
	}
	r.yield(Update{Role: "assistant", MessageID: call.ID, Contents: []Content{call}})
	return nil
}

// resultValue parses a tool result as JSON. It throws if the text is not JSON. The text of a denial
// never is.
func resultValue(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		first := strings.TrimLeft(text, " ")[:1]
		return nil, throw("JsonException", "'"+first+"' is an invalid start of a value. Path: $ | LineNumber: 0 | BytePositionInLine: 0.")
	}
	return json.RawMessage(text), nil
}
