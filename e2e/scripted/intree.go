package scripted

import (
	"errors"
	"net/http"
	"slices"

	"holdpoint/e2e/netjson"
)

// inTree is a port of agent-framework's own host up to dotnet-1.13.0,
// Microsoft.Agents.AI.Hosting.AGUI.AspNetCore. It sends RUN_STARTED before it calls the agent,
// writes unset members as null and the member type last, and turns an exception into RUN_ERROR.
type inTree struct {
	coalesce  bool
	reasoning bool // has a type for the role reasoning (from 44381c051, 2026-05-07)
	// messageId of a TOOL_CALL_RESULT; three versions differ here
	resultID func(*update, functionResult) string
}

// inTreeRoles are the roles for which this host has a type. A version that reads reasoning also has
// a type for "reasoning".
var inTreeRoles = []string{"developer", "system", "user", "assistant", "tool"}

func (h inTree) serve(w http.ResponseWriter, body []byte, ask agent) {
	roles := inTreeRoles
	if h.reasoning {
		roles = append(slices.Clone(roles), "reasoning")
	}
	in, ok := parse(body, roles, false)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	in = in.identified(true)
	thread, run := in.ThreadID, in.RunID
	s := &stream{w: w, encode: netjson.Escaped}
	s.send(obj("threadId", thread, "runId", run, "type", "RUN_STARTED"))
	var open *string
	closeText := func() {
		if open != nil {
			s.send(obj("messageId", open, "type", "TEXT_MESSAGE_END"))
			open = nil
		}
	}
	messages, err := in.chatMessages(reading{h.coalesce, h.reasoning, true})
	if err == nil {
		err = ask(in, messages, func(u *update) {
			if u.event != nil {
				s.send(u.event)
			}
			for _, c := range withoutServers(u, in.names()) {
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
				case *functionCall: // a text message that is open stays open
					s.send(obj("toolCallId", c.id, "toolCallName", c.name, "parentMessageId", u.message, "type", "TOOL_CALL_START"))
					s.send(obj("toolCallId", c.id, "delta", string(text(c.args)), "type", "TOOL_CALL_ARGS"))
					s.send(obj("toolCallId", c.id, "type", "TOOL_CALL_END"))
				case functionResult:
					s.send(obj("messageId", h.resultID(u, c), "toolCallId", c.callID, "content", c.serialized(), "role", "tool", "type", "TOOL_CALL_RESULT"))
				}
				// This host drops an approval silently, unless a wrapper has turned it into a call.
			}
		})
	}
	var e *exception
	if errors.As(err, &e) {
		s.send(obj("message", e.message, "code", "StreamingError", "type", "RUN_ERROR"))
		return
	}
	closeText()
	s.send(obj("threadId", thread, "runId", run, "result", nil, "type", "RUN_FINISHED"))
}

// withoutServers returns the contents of an update that the host sends. If the finish reason is
// tool_calls and the update has a call of a declared tool, the host drops the calls of the server's
// tools.
func withoutServers(u *update, declared []string) []content {
	is := func(clients bool) func(content) bool {
		return func(c content) bool {
			call, ok := c.(*functionCall)
			return ok && slices.Contains(declared, call.name) == clients
		}
	}
	if u.finish == nil || *u.finish != "tool_calls" || !slices.ContainsFunc(u.contents, is(true)) {
		return u.contents
	}
	return slices.DeleteFunc(slices.Clone(u.contents), is(false))
}
