package scripted

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"holdpoint/e2e/netjson"
)

// aguiServer is a port of AGUI.Server (ag-ui sdks/dotnet/src/AGUI.Server). agent-framework uses it
// from dotnet-1.14.0 on, and so do the samples of the SDK. It turns updates into events that
// contain the update as rawEvent, and an approval in an update into an interrupt in the outcome. It
// does not catch exceptions.
type aguiServer struct {
	// agent name, set for Agent Framework, whose host makes thread ids and does not escape
	// quotation marks
	agent *string
	// true: writes unset members as null, as Agent Framework's hosting of August 2026 does, on
	// AGUI.* after 0.0.5
	nulls bool
	// true: a version after 0.0.5. It sends usage. In a continuation it hides only the calls of the
	// last message that has calls
	newest bool
}

var aguiRoles = []string{"developer", "system", "user", "assistant", "tool", "reasoning", "activity"}

func (h aguiServer) serve(w http.ResponseWriter, body []byte, ask agent) {
	in, ok := parse(body, aguiRoles, true)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	in = in.identified(h.agent != nil)
	r := &aguiRun{host: h, in: in, s: &stream{w: w, encode: netjson.Escaped}, names: map[string]string{}}
	if h.agent != nil {
		r.s.encode = netjson.Relaxed
	}
	messages, err := in.chatMessages(reading{coalesce: true})
	if err == nil {
		messages, err = in.resumed(messages)
	}
	if err == nil {
		r.last = lastCalls(messages)
		messages, r.continuation = in.continued(messages)
		err = ask(in, messages, r.update)
	}
	switch {
	case err != nil && !r.s.began:
		w.WriteHeader(http.StatusInternalServerError)
	case err != nil:
		// cuts the connection off, without RUN_ERROR and without the last chunk
		panic(http.ErrAbortHandler)
	default:
		r.finish()
	}
}

// An aguiRun is a port of ChatResponseUpdateAGUIExtensions.AsAGUIEventStreamAsync.
type aguiRun struct {
	host         aguiServer
	in           input
	s            *stream
	open         string
	continuation bool
	// calls of the last message that has calls, and the calls in resume
	last       []*functionCall
	names      map[string]string // names of the calls of this run
	interrupts []object
	spent      []object
}

// send sends an event. raw is the update that the event was made from, or nil.
func (r *aguiRun) send(event object, raw any) {
	switch {
	case r.host.nulls:
		event = event.With("timestamp", nil, "rawEvent", raw, "metadata", nil)
	case raw != nil:
		event = event.With("rawEvent", raw)
	}
	r.s.send(event)
}

// unset returns o with keys added as null members, if the host writes unset members.
func (r *aguiRun) unset(o object, keys ...string) object {
	for _, key := range keys {
		if r.host.nulls {
			o = o.With(key, nil)
		}
	}
	return o
}

func (r *aguiRun) start() {
	if !r.s.began {
		r.send(r.unset(obj("type", "RUN_STARTED", "threadId", r.in.ThreadID, "runId", r.in.RunID), "parentRunId", "input"), nil)
	}
}

func (r *aguiRun) closeText(raw any) {
	if r.open != "" {
		r.send(obj("type", "TEXT_MESSAGE_END", "messageId", r.open), raw)
		r.open = ""
	}
}

func (r *aguiRun) update(u *update) {
	r.start()
	if u.event != nil {
		r.s.send(u.event)
		return
	}
	raw := u.raw()
	if u.usage != nil && r.host.newest {
		r.spent = []object{u.usage}
	}
	for _, c := range u.contents {
		switch c := c.(type) {
		case textContent:
			if r.open != *u.message {
				r.closeText(raw)
				r.open = *u.message
				begin := obj("type", "TEXT_MESSAGE_START", "messageId", r.open, "role", u.role)
				if r.host.agent != nil {
					begin = begin.With("name", r.host.agent)
				}
				r.send(begin, raw)
			}
			if c.text != "" {
				r.send(obj("type", "TEXT_MESSAGE_CONTENT", "messageId", r.open, "delta", c.text), raw)
			}
		case *functionCall:
			r.names[c.id] = c.name
			if r.continuation && (!r.host.newest || slices.ContainsFunc(r.last, func(l *functionCall) bool { return l.id == c.id })) {
				continue // the host assumes that the client has the call
			}
			r.call(c, u, raw)
		case functionResult:
			if r.continuation && slices.Contains(r.in.names(), r.calledAs(c.callID)) {
				continue // the client sent this result
			}
			r.send(r.unset(obj("type", "TOOL_CALL_RESULT", "messageId", c.callID, "toolCallId", c.callID, "content", c.serialized()), "role"), raw)
		case interruptRequest:
			r.interrupts = append(r.interrupts, r.unset(obj("id", c.id, "reason", c.reason, "message", c.message, "responseSchema", c.schema), "expiresAt", "metadata"))
		case *toolApprovalRequest:
			r.names[c.call.id] = c.call.name
			r.call(c.call, u, raw)
			names := r.in.names()
			if slices.Contains(names, c.call.name) || len(names) > 0 && !r.continuation {
				// a declared tool suppresses the interrupts of all tools (ag-ui issues 2393 and
				// 2820)
				continue
			}
			r.interrupts = append(r.interrupts, r.unset(obj("id", c.id, "reason", "tool_call", "message", "Approval required for tool call: "+c.call.name,
				"toolCallId", c.call.id, "responseSchema", json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`)), "expiresAt", "metadata"))
		}
	}
}

func (r *aguiRun) call(c *functionCall, u *update, raw object) {
	r.closeText(raw)
	start := obj("type", "TOOL_CALL_START")
	if u.message != nil || r.host.nulls {
		start = start.With("parentMessageId", u.message)
	}
	r.send(start.With("toolCallId", c.id, "toolCallName", c.name), raw)
	r.send(obj("type", "TOOL_CALL_ARGS", "toolCallId", c.id, "delta", string(text(c.args))), raw)
	r.send(obj("type", "TOOL_CALL_END", "toolCallId", c.id), raw)
}

func (r *aguiRun) finish() {
	r.start()
	r.closeText(nil)
	end := r.unset(obj("type", "RUN_FINISHED", "threadId", r.in.ThreadID, "runId", r.in.RunID), "result")
	if len(r.interrupts) > 0 {
		end = end.With("outcome", obj("type", "interrupt", "interrupts", r.interrupts))
	} else {
		end = end.With("outcome", obj("type", "success"))
	}
	if r.spent != nil {
		end = end.With("usage", r.spent)
	} else {
		end = r.unset(end, "usage")
	}
	r.send(end, nil)
}

// lastCalls returns the calls of the last assistant message that has calls. It also counts a call
// inside a request for approval.
func lastCalls(messages []*chatMessage) []*functionCall {
	for _, m := range slices.Backward(messages) {
		list := m.calls()
		for _, c := range *m.contents {
			if request, ok := c.(*toolApprovalRequest); ok {
				list = append(list, request.call)
			}
		}
		if m.role == "assistant" && len(list) > 0 {
			return list
		}
	}
	return nil
}

// calledAs returns the tool name of a call in this run. After 0.0.5 it also finds the calls in
// r.last. It returns "" if it does not find the call.
func (r *aguiRun) calledAs(id string) string {
	if name := r.names[id]; name != "" || !r.host.newest {
		return name
	}
	for _, c := range r.last {
		if c.id == id {
			return c.name
		}
	}
	return ""
}

// resumed is a port of that part of RunAgentInputExtensions.ToChatRequestContext that reads resume.
// If the payload of an entry has toolCall, the entry is an approval or a denial of that call,
// whatever was asked. Otherwise the application gets the entry. The key toolCall must match in
// letter case, because the original looks it up itself. The status of an entry is ignored.
func (in input) resumed(messages []*chatMessage) ([]*chatMessage, error) {
	var generic []content
	for _, e := range in.Resume {
		if strings.TrimSpace(e.InterruptID) == "" {
			return nil, throw("ArgumentException", "The value cannot be an empty string or composed entirely of whitespace. (Parameter 'requestId')")
		}
		var members map[string]json.RawMessage
		var payload struct{ Approved bool }
		var toolCall *struct {
			CallID    string
			Name      string
			Arguments orderedArguments
		}
		// the error does not matter: a payload that is not an object has no toolCall
		_ = json.Unmarshal(e.Payload, &members)
		if json.Unmarshal(members["toolCall"], &toolCall) != nil || toolCall == nil || json.Unmarshal(e.Payload, &payload) != nil {
			generic = append(generic, interruptResponse{e.InterruptID, e.Payload})
			continue
		}
		call := &functionCall{id: toolCall.CallID, name: toolCall.Name}
		if toolCall.Arguments != nil {
			call.args = text(json.RawMessage(toolCall.Arguments))
		}
		messages = append(messages,
			newMessage("assistant", nil, &toolApprovalRequest{id: e.InterruptID, call: call}),
			newMessage("user", nil, &toolApprovalResponse{e.InterruptID, payload.Approved, call}))
	}
	if len(generic) > 0 {
		messages = append(messages, newMessage("user", nil, generic...))
	}
	return messages, nil
}

// orderedArguments are the arguments of a call: nil, or the text of an object, which keeps the
// order of its members.
type orderedArguments json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (a *orderedArguments) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil || members == nil {
		return err
	}
	*a = slices.Clone(b)
	return nil
}

// continued is a port of ConfigureForMixedInvocation. It acts if the history contains the result of
// a declared tool. Then it takes the last assistant message with open calls, and turns each of
// these calls into an approved one.
func (in input) continued(messages []*chatMessage) ([]*chatMessage, bool) {
	names := in.names()
	asked, answered := map[string]bool{}, map[string]bool{}
	is := false
	for _, m := range messages {
		for _, c := range *m.contents {
			switch c := c.(type) {
			case *functionCall:
				asked[c.id] = slices.Contains(names, c.name)
			case functionResult:
				answered[c.callID] = true
				is = is || asked[c.callID]
			}
		}
	}
	if !is {
		return messages, false
	}
	open := func(c content) bool {
		call, ok := c.(*functionCall)
		return ok && !answered[call.id]
	}
	var approved []content
	for n := len(messages) - 1; n >= 0; n-- {
		m := messages[n]
		if m.role != "assistant" || !slices.ContainsFunc(*m.contents, open) {
			continue
		}
		contents := slices.Clone(*m.contents)
		for i, c := range contents {
			if open(c) {
				call := c.(*functionCall)
				contents[i] = &toolApprovalRequest{id: "approval_" + call.id, call: call}
				approved = append(approved, &toolApprovalResponse{"approval_" + call.id, true, call})
			}
		}
		messages = clone(messages)
		messages[n] = newMessage(m.role, nil, contents...) // the new message has no id
		break
	}
	if len(approved) > 0 {
		messages = append(messages, newMessage("user", nil, approved...))
	}
	return messages, true
}
