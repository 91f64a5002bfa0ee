package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// custom returns a backend that is not LangGraph. The message "approve X" makes it ask, and resume
// or forwardedProps.command.resume answers it. It stores nothing.
//
// If value is not nil, the backend announces the pause by the CUSTOM event on_interrupt with that
// value. If told is set, the outcome contains the interrupt that the function outcome returns.
func custom(value any, outcome func(call string) object, told bool, l *Ledger) *Server {
	return newServer(l, func(w http.ResponseWriter, body []byte) {
		var in struct {
			ThreadID, RunID string
			Messages        []inputMessage
			Resume          []resumeEntry
			ForwardedProps  struct {
				Command struct{ Resume json.RawMessage }
			}
		}
		if json.Unmarshal(body, &in) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s := &stream{w: w, encode: text}
		s.send(obj("type", "RUN_STARTED", "threadId", in.ThreadID, "runId", in.RunID))
		end := obj("type", "RUN_FINISHED", "threadId", in.ThreadID, "runId", in.RunID)
		words := []string{"nothing"}
		for _, m := range in.Messages {
			if said := strings.Fields(m.text()); m.Role == "user" && len(said) > 0 {
				words = said
			}
		}
		call := "call-" + in.ThreadID
		say := func(parts ...string) {
			id := "msg-" + guid()[:12]
			s.send(obj("type", "TEXT_MESSAGE_START", "messageId", id, "role", "assistant"))
			s.send(obj("type", "TEXT_MESSAGE_CONTENT", "messageId", id, "delta", strings.Join(parts, "")))
			s.send(obj("type", "TEXT_MESSAGE_END", "messageId", id))
		}
		approved := func(payload json.RawMessage) bool {
			var p struct{ Approved bool }
			return json.Unmarshal(payload, &p) == nil && p.Approved
		}
		switch command := in.ForwardedProps.Command.Resume; {
		case len(in.Resume) > 0 || len(command) > 0:
			yes := approved(command)
			for _, e := range in.Resume {
				yes = yes || e.Status == "resolved" && e.InterruptID == outcome(call)[0].Value && approved(e.Payload)
			}
			if yes {
				l.execute(in.ThreadID, words[1])
			}
			s.send(obj("type", "TOOL_CALL_RESULT", "messageId", "res-"+call, "toolCallId", call, "content", fmt.Sprint(yes), "role", "tool"))
			say("Done: ", fmt.Sprint(yes))
		case words[0] == "approve":
			s.send(obj("type", "TOOL_CALL_START", "toolCallId", call, "toolCallName", gatedTool, "parentMessageId", "ai-"+call))
			s.send(obj("type", "TOOL_CALL_ARGS", "toolCallId", call, "delta", string(arguments(words[1]))))
			s.send(obj("type", "TOOL_CALL_END", "toolCallId", call))
			if value != nil {
				s.send(obj("type", "CUSTOM", "name", "on_interrupt", "value", value))
			}
			if told {
				end = end.With("outcome", obj("type", "interrupt", "interrupts", []object{outcome(call)}))
			}
		default:
			say("echo: ", strings.Join(words, " "))
		}
		s.send(end)
	})
}

// Mastra returns a backend that announces a suspended tool by a CUSTOM event whose value is JSON
// text, as @ag-ui/mastra does. If outcome is set, the interrupt outcome contains the suspension
// too.
func Mastra(outcome bool, l *Ledger) *Server {
	value := string(text(obj("type", "mastra_suspend", "toolCallId", "call-1", "toolName", gatedTool, "suspendPayload", obj("reason", "sure?"), "runId", "run-7")))
	return custom(value, func(call string) object {
		return obj("id", "run-7::"+call, "reason", "mastra:tool_suspend", "message", "Approve?", "toolCallId", call)
	}, outcome, l)
}

// CrewAI returns a backend that announces a pause by a CUSTOM event whose value is an Interrupt
// object, as ag-ui-crewai does. If outcome is set, the interrupt outcome contains the same object.
func CrewAI(outcome bool, l *Ledger) *Server {
	asks := obj("id", "crew-1", "reason", "crewai:human_feedback", "message", "Good?")
	return custom(asks, func(string) object { return asks }, outcome, l)
}

// Outcome returns a backend of AG-UI 1.0. It sends the interrupt outcome, and no CUSTOM event.
func Outcome(l *Ledger) *Server {
	return custom(nil, func(call string) object {
		return obj("id", "int-"+call, "reason", "tool_call", "message", "Approve?", "toolCallId", call,
			"responseSchema", json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`))
	}, true, l)
}
