package dotnetclient

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// An sdkReading turns the events of a run into updates as AGUI.Client does. It checks the order of
// the events. It holds each call back until the call has its result or the run ends.
type sdkReading struct {
	throwsRunError bool
	yield          func(Update)

	began, running, failed bool
	thread                 string
	texts                  map[string]string // roles of the open text messages
	calls                  map[string]*sdkCall
	steps                  map[string]bool
	held                   []Update // calls without a result, and all updates after them
	waiting                []string // ids of calls in held that lack a result
	finishedCalls          []string // ids of calls in held that have a result
}

type sdkCall struct{ name, arguments string }

// sdkEvents are the types of events that AGUI.Client can read.
var sdkEvents = []string{
	"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED",
	"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
	"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
	"STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT",
	"REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END",
	"REASONING_MESSAGE_CHUNK", "REASONING_END", "REASONING_ENCRYPTED_VALUE",
	"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "CUSTOM", "RAW",
}

// sdkRoles are the roles that messages of a snapshot may have.
var sdkRoles = []string{"developer", "system", "user", "assistant", "tool", "reasoning", "activity"}

func (r *sdkReading) event(e event) error {
	if !slices.Contains(sdkEvents, e.Type) {
		return unknown(e.Type)
	}
	if err := r.verify(e); err != nil {
		return err
	}
	switch e.Type {
	case "RUN_STARTED":
		r.thread, r.running = e.ThreadID, true
		r.texts, r.calls, r.steps = map[string]string{}, map[string]*sdkCall{}, map[string]bool{}
		r.held, r.waiting, r.finishedCalls = nil, nil, nil
		r.yield(Update{Role: "assistant", event: e.Type, thread: r.thread})
	case "RUN_ERROR":
		if r.throwsRunError {
			return throw("InvalidOperationException", e.Message)
		}
		r.failed = true
		r.yield(Update{Role: "assistant", Contents: []Content{Failure{e.Message, e.Code}}})
	case "RUN_FINISHED":
		return r.finish(e)
	case "TEXT_MESSAGE_START":
		if _, open := r.texts[e.MessageID]; open || e.Role == "reasoning" {
			return outOfOrder(e, "a text message "+e.MessageID)
		}
		r.texts[e.MessageID] = e.Role
	case "TEXT_MESSAGE_CONTENT":
		role, open := r.texts[e.MessageID]
		if !open {
			return outOfOrder(e, "a text message "+e.MessageID)
		}
		r.hold(Update{Role: role, MessageID: e.MessageID, Contents: []Content{Text{e.Delta}}})
	case "TEXT_MESSAGE_END":
		if _, open := r.texts[e.MessageID]; !open {
			return outOfOrder(e, "a text message "+e.MessageID)
		}
		delete(r.texts, e.MessageID)
	case "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END":
		return r.call(e)
	case "TOOL_CALL_RESULT":
		r.result(e)
	case "STEP_STARTED", "STEP_FINISHED":
		if r.steps[e.StepName] == (e.Type == "STEP_STARTED") {
			return outOfOrder(e, "the step "+e.StepName)
		}
		if r.steps[e.StepName] = true; e.Type == "STEP_FINISHED" {
			delete(r.steps, e.StepName)
		}
		r.hold(Update{Role: "assistant"})
	case "REASONING_MESSAGE_CONTENT":
		r.hold(Update{Role: "assistant", MessageID: e.MessageID, Contents: []Content{Reasoning{e.Delta}}})
	case "MESSAGES_SNAPSHOT":
		for _, m := range e.Messages {
			if !slices.Contains(sdkRoles, m.Role) {
				return throw("JsonException", "Unknown AGUIMessage role discriminator: '"+m.Role+"'")
			}
		}
		r.hold(Update{Role: "assistant"})
	default: // the application gets the event as it is
		r.hold(Update{Role: "assistant"})
	}
	return nil
}

// verify checks that the event may come at this point of the run.
func (r *sdkReading) verify(e event) error {
	starts := e.Type == "RUN_STARTED"
	switch {
	case r.failed:
		return throw("InvalidOperationException", "Cannot send event type '"+e.Type+"': The run has already errored with 'RUN_ERROR'. No further events can be sent.")
	case !r.began && !starts && e.Type != "RUN_ERROR":
		return throw("InvalidOperationException", "First event must be 'RUN_STARTED'.")
	case r.began && starts && r.running:
		return throw("InvalidOperationException", "Cannot send 'RUN_STARTED' while a run is still active. The previous run must be finished with 'RUN_FINISHED' before starting a new run.")
	case r.began && !r.running && !starts && e.Type != "RUN_ERROR":
		return throw("InvalidOperationException", "Cannot send event type '"+e.Type+"': The run has already finished with 'RUN_FINISHED'. Start a new run with 'RUN_STARTED'.")
	}
	r.began = true
	return nil
}

func outOfOrder(e event, what string) error {
	return throw("InvalidOperationException", "Cannot send '"+e.Type+"' event: "+what+" is in the wrong state.")
}

// hold yields an update at once, unless some call still lacks its result. In that case it stores
// the update.
func (r *sdkReading) hold(u Update) {
	if len(r.waiting) > 0 {
		r.held = append(r.held, u)
		return
	}
	r.yield(u)
}

func (r *sdkReading) call(e event) error {
	open := r.calls[e.ToolCallID]
	if (open == nil) != (e.Type == "TOOL_CALL_START") {
		return outOfOrder(e, "the tool call "+e.ToolCallID)
	}
	switch e.Type {
	case "TOOL_CALL_START":
		r.calls[e.ToolCallID] = &sdkCall{name: e.ToolCallName}
	case "TOOL_CALL_ARGS":
		open.arguments += e.Delta
	case "TOOL_CALL_END":
		delete(r.calls, e.ToolCallID)
		arguments, err := arguments(open.arguments)
		if err != nil {
			return err
		}
		r.waiting = append(r.waiting, e.ToolCallID)
		r.held = append(r.held, Update{Role: "assistant", thread: r.thread,
			Contents: []Content{&Call{ID: e.ToolCallID, Name: open.name, Arguments: arguments}}})
	}
	return nil
}

// result handles the result of a call. If the call is held back, its result is held back too. When
// no held call lacks a result any more, all held updates are yielded.
func (r *sdkReading) result(e event) {
	u := Update{Role: "tool", Contents: []Content{Result{e.ToolCallID, e.content()}}}
	if len(r.waiting) == 0 || !slices.Contains(r.waiting, e.ToolCallID) {
		r.yield(u)
		return
	}
	r.waiting = without(r.waiting, e.ToolCallID)
	r.finishedCalls = append(r.finishedCalls, e.ToolCallID)
	r.held = append(r.held, u)
	if len(r.waiting) == 0 {
		r.release()
	}
}

func (r *sdkReading) release() {
	held := r.held
	r.held, r.waiting, r.finishedCalls = nil, nil, nil
	for _, u := range held {
		r.yield(u)
	}
}

func (r *sdkReading) finish(e event) error {
	if open := slices.Concat(slices.Collect(maps.Keys(r.texts)), slices.Collect(maps.Keys(r.calls)), slices.Collect(maps.Keys(r.steps))); len(open) > 0 {
		return throw("InvalidOperationException", "Cannot send 'RUN_FINISHED' while these are still active: "+strings.Join(open, ", "))
	}
	r.running = false
	interrupts, interrupted, err := outcome(e)
	if err != nil {
		return err
	}
	if !interrupted {
		r.release()
		r.yield(Update{Role: "assistant"})
		return nil
	}
	var inputs []Content
	asked := map[string]*interrupt{}
	for n, i := range interrupts {
		if strings.EqualFold(i.Reason, "tool_call") && i.ToolCallID != nil {
			asked[*i.ToolCallID] = &interrupts[n]
			continue
		}
		request := &InputRequest{ID: i.ID, Reason: i.Reason, Message: i.Message, ResponseSchema: i.ResponseSchema}
		if i.ToolCallID != nil {
			request.ToolCallID = *i.ToolCallID
		}
		inputs = append(inputs, request)
	}
	for n, u := range r.held {
		if len(u.Contents) != 1 {
			continue
		}
		if call, ok := u.Contents[0].(*Call); ok && asked[call.ID] != nil && !slices.Contains(r.finishedCalls, call.ID) {
			r.held[n].Contents = []Content{&ApprovalRequest{ID: asked[call.ID].ID, Call: call}}
		}
	}
	r.release()
	if inputs != nil {
		r.yield(Update{Role: "assistant", Contents: inputs})
	}
	return nil
}

type interrupt struct {
	ID, Reason, Message string
	ToolCallID          *string
	ResponseSchema      json.RawMessage
}

// outcome parses the outcome of a RUN_FINISHED. interrupted reports whether it is an interrupt
// outcome.
func outcome(e event) (list []interrupt, interrupted bool, err error) {
	if isNull(e.Outcome) {
		return nil, false, nil
	}
	var o struct {
		Type       string
		Interrupts []interrupt
	}
	if json.Unmarshal(e.Outcome, &o) != nil || o.Type != "interrupt" && o.Type != "success" {
		return nil, false, throw("JsonException", "Unknown RunFinishedOutcome: "+string(e.Outcome))
	}
	return o.Interrupts, o.Type == "interrupt", nil
}
