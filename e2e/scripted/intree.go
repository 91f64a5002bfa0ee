package scripted

import (
	"errors"
	"net/http"
)

// inTree is the host of agent-framework up to dotnet-1.13.0,
// Microsoft.Agents.AI.Hosting.AGUI.AspNetCore: a run begins before the agent is asked, nulls are
// written, type comes last, an exception becomes RUN_ERROR.
type inTree struct {
	coalesce bool
	resultID func(*update, functionResult) string // the messageId of a result, which three versions make three ways
}

// roles that this host has a type for (reasoning from 44381c051, 2026-05-07).
var inTreeRoles = []string{"developer", "system", "user", "assistant", "tool", "reasoning"}

func (h inTree) serve(w http.ResponseWriter, body []byte, ask agent) {
	in, ok := parse(body, inTreeRoles, false)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if in.ThreadID == nil {
		in.ThreadID = of(guid())
	}
	if in.RunID == nil {
		in.RunID = of(guid())
	}
	thread, run := in.ThreadID, in.RunID
	s := &stream{w: w, encode: netText}
	s.send(obj("threadId", thread, "runId", run, "type", "RUN_STARTED"))
	var open *string
	closeText := func() {
		if open != nil {
			s.send(obj("messageId", open, "type", "TEXT_MESSAGE_END"))
			open = nil
		}
	}
	messages, err := in.chatMessages(h.coalesce)
	if err == nil {
		err = ask(in, messages, func(u *update) {
			if u.event != nil {
				s.send(u.event)
			}
			for _, c := range u.contents {
				switch c := c.(type) {
				case textContent:
					if open == nil || *open != *u.message {
						closeText()
						open = u.message
						s.send(obj("messageId", open, "role", u.role, "type", "TEXT_MESSAGE_START"))
					}
					if c.text != "" {
						s.send(obj("messageId", open, "delta", c.text, "type", "TEXT_MESSAGE_CONTENT"))
					}
				case *functionCall:
					closeText()
					s.send(obj("toolCallId", c.id, "toolCallName", c.name, "parentMessageId", u.message, "type", "TOOL_CALL_START"))
					s.send(obj("toolCallId", c.id, "delta", string(netText(c.args)), "type", "TOOL_CALL_ARGS"))
					s.send(obj("toolCallId", c.id, "type", "TOOL_CALL_END"))
				case functionResult:
					closeText()
					s.send(obj("messageId", h.resultID(u, c), "toolCallId", c.callID, "content", c.serialized(), "role", "tool", "type", "TOOL_CALL_RESULT"))
				}
				// An approval that no wrapper made a call of is dropped without a word.
			}
		})
	}
	closeText()
	var e *exception
	if errors.As(err, &e) {
		s.send(obj("message", e.message, "code", "StreamingError", "type", "RUN_ERROR"))
		return
	}
	s.send(obj("threadId", thread, "runId", run, "result", nil, "type", "RUN_FINISHED"))
}
