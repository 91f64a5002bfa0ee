package scripted

import (
	"errors"
	"net/http"
	"slices"

	"holdpoint/e2e/netjson"
)

// inTree is the host of agent-framework up to dotnet-1.13.0,
// Microsoft.Agents.AI.Hosting.AGUI.AspNetCore: it starts the run before the agent is called, writes
// nulls, writes type last, and turns an exception into RUN_ERROR.
type inTree struct {
	coalesce  bool
	reasoning bool                                 // it has a type for reasoning (from 44381c051, 2026-05-07)
	resultID  func(*update, functionResult) string // the messageId of a result, which differs between three versions
}

// inTreeRoles are the roles for which this host has a type. A version that reads reasoning has one
// more.
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
				case *functionCall: // an open text stays open
					s.send(obj("toolCallId", c.id, "toolCallName", c.name, "parentMessageId", u.message, "type", "TOOL_CALL_START"))
					s.send(obj("toolCallId", c.id, "delta", string(text(c.args)), "type", "TOOL_CALL_ARGS"))
					s.send(obj("toolCallId", c.id, "type", "TOOL_CALL_END"))
				case functionResult:
					s.send(obj("messageId", h.resultID(u, c), "toolCallId", c.callID, "content", c.serialized(), "role", "tool", "type", "TOOL_CALL_RESULT"))
				}
				// An approval that no wrapper has turned into a call is dropped silently.
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

// withoutServers returns the contents of an update. In a turn with calls of both sides the server's
// calls are dropped, if the update has the finish reason tool_calls.
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
