package scripted

import (
	"encoding/json"
	"net/http"
	"slices"
)

// aguiServer is AGUI.Server, as agent-framework has it from dotnet-1.14.0 on and the samples of the
// SDK: updates become events with the update as rawEvent, an approval that is left in one becomes
// an interrupt of the outcome, and nothing catches an exception (ag-ui
// sdks/dotnet/src/AGUI.Server).
type aguiServer struct {
	nulls bool // 0.0.3 on net10: what is not set is written as null
	usage bool // from b7b678dd5, 2026-08-07
}

var aguiRoles = []string{"developer", "system", "user", "assistant", "tool", "reasoning", "activity"}

func (h aguiServer) serve(w http.ResponseWriter, body []byte, ask agent) {
	in, ok := parse(body, aguiRoles, true)
	if !ok || in.ThreadID == nil || in.RunID == nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r := &aguiRun{host: h, in: in, s: &stream{w: w, encode: netText}}
	messages, err := in.chatMessages(true)
	if err == nil {
		messages, err = in.resumed(messages)
	}
	if err == nil {
		messages, r.continuation = in.continued(messages)
		err = ask(in, messages, r.update)
	}
	switch {
	case err != nil && !r.s.began:
		w.WriteHeader(http.StatusInternalServerError)
	case err != nil:
		panic(http.ErrAbortHandler) // the connection breaks: no RUN_ERROR, no last chunk
	default:
		r.finish()
	}
}

// An aguiRun is ChatResponseUpdateAGUIExtensions.AsAGUIEventStreamAsync.
type aguiRun struct {
	host         aguiServer
	in           input
	s            *stream
	open         string
	continuation bool
	interrupts   []object
	spent        []object
}

func (r *aguiRun) send(event object, raw any) {
	if raw != nil || r.host.nulls {
		event = event.with("rawEvent", raw)
	}
	r.s.send(event)
}

func (r *aguiRun) start() {
	if !r.s.began {
		r.send(obj("type", "RUN_STARTED", "threadId", r.in.ThreadID, "runId", r.in.RunID), nil)
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
	if u.usage != nil && r.host.usage {
		r.spent = []object{u.usage}
	}
	for _, c := range u.contents {
		switch c := c.(type) {
		case textContent:
			if r.open != *u.message {
				r.closeText(raw)
				r.open = *u.message
				r.send(obj("type", "TEXT_MESSAGE_START", "messageId", r.open, "role", u.role), raw)
			}
			if c.text != "" {
				r.send(obj("type", "TEXT_MESSAGE_CONTENT", "messageId", r.open, "delta", c.text), raw)
			}
		case *functionCall:
			if r.continuation && r.in.called(c.id) {
				continue // the client has it
			}
			r.call(c, u, raw)
		case functionResult:
			if r.continuation && slices.Contains(r.in.names(), r.in.calledAs(c.callID)) {
				continue // it came from the client
			}
			r.send(obj("type", "TOOL_CALL_RESULT", "messageId", c.callID, "toolCallId", c.callID, "content", c.serialized()), raw)
		case *toolApprovalRequest:
			r.call(c.call, u, raw)
			names := r.in.names()
			if slices.Contains(names, c.call.name) || len(names) > 0 && !r.continuation {
				continue // a declared tool switches the interrupt off, for the others too (ag-ui issues 2393 and 2820)
			}
			r.interrupts = append(r.interrupts, obj("id", c.id, "reason", "tool_call", "message", "Approval required for tool call: "+c.call.name,
				"toolCallId", c.call.id, "responseSchema", json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`)))
		}
	}
}

func (r *aguiRun) call(c *functionCall, u *update, raw object) {
	r.closeText(raw)
	start := obj("type", "TOOL_CALL_START")
	if u.message != nil || r.host.nulls {
		start = start.with("parentMessageId", u.message)
	}
	r.send(start.with("toolCallId", c.id, "toolCallName", c.name), raw)
	r.send(obj("type", "TOOL_CALL_ARGS", "toolCallId", c.id, "delta", string(netText(c.args))), raw)
	r.send(obj("type", "TOOL_CALL_END", "toolCallId", c.id), raw)
}

func (r *aguiRun) finish() {
	r.start()
	r.closeText(nil)
	end := obj("type", "RUN_FINISHED", "threadId", r.in.ThreadID, "runId", r.in.RunID)
	if len(r.interrupts) > 0 {
		end = end.with("outcome", obj("type", "interrupt", "interrupts", r.interrupts))
	} else {
		end = end.with("outcome", obj("type", "success"))
	}
	if r.spent != nil {
		end = end.with("usage", r.spent)
	}
	r.send(end, nil)
}

// called says whether the last batch of calls in the request has that one.
func (in input) called(id string) bool {
	for n := len(in.Messages) - 1; n >= 0; n-- {
		m := in.Messages[n]
		if len(m.ToolCalls) == 0 {
			continue
		}
		for ; n >= 0 && len(in.Messages[n].ToolCalls) > 0; n-- {
			for _, c := range in.Messages[n].ToolCalls {
				if c.ID == id {
					return true
				}
			}
		}
		return false
	}
	return false
}

// calledAs is the name of a call of the request.
func (in input) calledAs(id string) string {
	for _, m := range in.Messages {
		for _, c := range m.ToolCalls {
			if c.ID == id {
				return c.Function.Name
			}
		}
	}
	return ""
}

// resumed is the part of RunAgentInputExtensions.ToChatRequestContext that reads resume: with a
// toolCall in the payload it is an approval of what that says, whatever was asked; without one it
// is left to the application. The status is not looked at.
func (in input) resumed(messages []*chatMessage) ([]*chatMessage, error) {
	var generic []content
	for _, e := range in.Resume {
		if e.InterruptID == "" {
			return nil, throw("ArgumentException", "The value cannot be an empty string or composed entirely of whitespace. (Parameter 'requestId')")
		}
		var members map[string]json.RawMessage
		var payload struct {
			Approved bool
			ToolCall *struct {
				CallID    string
				Name      string
				Arguments map[string]json.RawMessage
			}
		}
		_ = json.Unmarshal(e.Payload, &members) // no object: generic
		if members["toolCall"] == nil || json.Unmarshal(e.Payload, &payload) != nil || payload.ToolCall == nil {
			generic = append(generic, interruptResponse{e.InterruptID, e.Payload})
			continue
		}
		call := &functionCall{id: payload.ToolCall.CallID, name: payload.ToolCall.Name}
		if payload.ToolCall.Arguments != nil {
			call.args = text(payload.ToolCall.Arguments)
		}
		messages = append(messages,
			newMessage("assistant", nil, &toolApprovalRequest{e.InterruptID, call}),
			newMessage("user", nil, &toolApprovalResponse{e.InterruptID, payload.Approved, call}))
	}
	if len(generic) > 0 {
		messages = append(messages, newMessage("user", nil, generic...))
	}
	return messages, nil
}

// continued is ConfigureForMixedInvocation: once the history holds the result of a declared tool,
// the open calls of the last batch that has any count as approved.
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
				contents[i] = &toolApprovalRequest{"approval_" + call.id, call}
				approved = append(approved, &toolApprovalResponse{"approval_" + call.id, true, call})
			}
		}
		messages = clone(messages)
		messages[n] = newMessage(m.role, m.id, contents...)
		break
	}
	if len(approved) > 0 {
		messages = append(messages, newMessage("user", nil, approved...))
	}
	return messages, true
}
