//go:build e2e

package e2e

import (
	"encoding/json"
	"slices"
	"testing"
)

// Tests of histories with parts that are not from the conversation with the agent, such as calls of
// the client's own tools, or messages that somebody else has added or changed.

// TestRequestApprovalAnswerLost: a gateway in front of the program fails while Holdpoint sends the
// answer, so it is unknown whether the call ran. The client must be told this once. Holdpoint must
// not send the answer again, and the call without a result must not lock the thread.
func TestRequestApprovalAnswerLost(t *testing.T) {
	t.Parallel()
	for _, a := range approvals() {
		for _, version := range []string{newest, pinned} {
			t.Run(a.name+"/client-"+version, func(t *testing.T) {
				a := a
				a.name += "-lost-" + version // its own actor, because the test takes it offline
				s := newScene(t, theStage().play(a), version, must(before()))
				s.asks(t, "approve E-1", "E-1")
				s.p.away.Store(true)
				s.run(t, step{resume: s.answers(accept), loose: true})
				s.p.away.Store(false)
				s.goesOn(t, nil)
				s.executed(t)
				for _, c := range s.p.Complaints(s.thread) {
					t.Errorf("the backend complained: %s", c)
				}
			})
		}
	}
}

var (
	locating = map[string]any{"name": "get_location", "description": "where the person is", "parameters": map[string]any{"type": "object", "properties": map[string]any{}}}
	asking   = map[string]any{"name": "request_approval", "description": "asks the person", "parameters": map[string]any{"type": "object", "properties": map[string]any{}}}
)

// TestRequestApprovalBesideAClientsTool: the model calls a tool that the client has declared. The
// call and its result must be forwarded without a question.
func TestRequestApprovalBesideAClientsTool(t *testing.T) {
	t.Parallel()
	tools := map[string]any{"tools": []any{locating}}
	scenes(t, approvals(), func(t *testing.T, s scene) {
		a := s.run(t, step{say: "locate", patch: tools}).answer(t)
		starts := a.of("TOOL_CALL_START")
		if a.outcome() != nil || len(starts) != 1 || starts[0].str("toolCallName") != "get_location" {
			t.Fatal(terminal(a))
		}
		s.adds(t, message{"id": fresh("tool"), "role": "tool", "toolCallId": starts[0].str("toolCallId"), "content": "Tuesday Street"})
		s.ends(t, step{patch: tools}, "Done: Tuesday Street")
		s.asks(t, "approve E-1", "E-1")
		s.ends(t, step{resume: s.answers(accept), patch: tools}, "Done: "+processed("E-1"))
		s.executed(t, "E-1")
	})
}

// TestDeclaredRequestApprovalOnAKnownPath: if Holdpoint knows that the backend of the path asks by
// request_approval, calls of this tool must become questions, even if the client declares the tool.
func TestDeclaredRequestApprovalOnAKnownPath(t *testing.T) {
	t.Parallel()
	tools := map[string]any{"tools": []any{asking}}
	scenes(t, layouts(), func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		s.ends(t, step{resume: s.answers(accept)}, "Done: "+processed("E-1"))
		s.asked(t, s.run(t, step{say: "approve E-2", patch: tools}).answer(t), "E-2")
		s.executed(t, "E-1")
		s.ends(t, step{resume: s.answers(accept), patch: tools}, "Done: "+processed("E-2"))
		s.executed(t, "E-1", "E-2")
	})
}

// TestRequestApprovalOfAClientsOwn: the client declares the tool request_approval, as the client of
// the sample does. While the dialect of the path is unknown, Holdpoint must forward the stream and
// the client's tool message unchanged.
func TestRequestApprovalOfAClientsOwn(t *testing.T) {
	t.Parallel()
	tools := map[string]any{"tools": []any{asking}}
	unknown := layouts()
	for n := range unknown {
		unknown[n].name += "-declared" // a path that no other test uses
	}
	scenes(t, unknown, func(t *testing.T, s scene) {
		a := s.run(t, step{say: "approve E-1", patch: tools}).answer(t)
		requests := asked(a)
		if a.outcome() != nil || len(requests) != 1 {
			t.Fatal(terminal(a))
		}
		var args struct {
			Request struct {
				ID string `json:"approval_id"`
			}
		}
		if err := json.Unmarshal([]byte(requests[0][1]), &args); err != nil {
			t.Fatal(err)
		}
		s.adds(t, message{"id": fresh("tool"), "role": "tool", "toolCallId": requests[0][0], "content": `{"approval_id":"` + args.Request.ID + `","approved":true}`})
		if a := s.run(t, step{patch: tools, loose: true}).answer(t); a.code() != "" || a.outcome() != nil {
			t.Error(terminal(a))
		}
		if got := s.p.Executed(s.thread); got["E-1"] != 1 {
			t.Errorf("executed %v", got)
		}
		s.messages = nil // do not check the history of such a client
	})
}

// asked returns the id and the arguments of each request_approval call in a stream.
func asked(w wire) (list [][2]string) {
	for _, e := range w.Events {
		switch {
		case e.kind() == "TOOL_CALL_START" && e.str("toolCallName") == "request_approval":
			list = append(list, [2]string{e.str("toolCallId")})
		case e.kind() == "TOOL_CALL_ARGS" && len(list) > 0 && list[len(list)-1][0] == e.str("toolCallId"):
			list[len(list)-1][1] += e.str("delta")
		}
	}
	return list
}

// adds adds a message to the client's history.
func (c *client) adds(t *testing.T, m message) {
	t.Helper()
	c.messages = append(c.messages, m)
	c.d.call(t, "set", map[string]any{"client": c.name, "messages": c.messages}, &struct{}{})
}

func must(h *holdpoint, err error) *holdpoint {
	if err != nil {
		panic(err)
	}
	return h
}

// TestScriptedWithAnOldClient: a client that does not read interrupts gets the CUSTOM event
// on_interrupt from Holdpoint, and answers in forwardedProps.command.resume.
func TestScriptedWithAnOldClient(t *testing.T) {
	t.Parallel()
	h := must(before())
	for _, a := range slices.Concat(layouts(), drafts()) {
		if a.name == "request-approval-A1" || a.name == "request-approval-A2-new" {
			continue // this client does not accept null as parentMessageId
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, theStage().play(a), oldest, h)
			s.asks(t, "approve E-1", "E-1")
			if len(s.customs) != 1 {
				t.Errorf("%d CUSTOM on_interrupt, want one", len(s.customs))
			}
			s.finish(t, step{command: yes})
			s.executed(t, "E-1")
			s.asks(t, "approve E-2", "E-2")
			s.finish(t, step{command: no})
			s.executed(t, "E-1")
			s.sound(t)
		})
	}
}

// TestRequestApprovalWithCopilotKitsMessage: CopilotKit also adds its answer to the history, as a
// tool message for the call, and keeps it there. The backend must never get this message: it could
// not read it as an answer, and it must not get it as a second result.
func TestRequestApprovalWithCopilotKitsMessage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer   func(string) entry
		content  string
		executed []string
	}{
		"approved":  {accept, `{"approved":true}`, []string{"E-1"}},
		"denied":    {reject, `{"approved":false}`, nil},
		"cancelled": {cancelled, `{"status":"cancelled"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			scenes(t, approvals(), func(t *testing.T, s scene) {
				s.asks(t, "approve E-1", "E-1")
				answers := s.answers(test.answer)
				s.adds(t, message{"id": fresh("copilot"), "role": "tool", "toolCallId": s.pending[0].str("toolCallId"), "content": test.content})
				s.finish(t, step{resume: answers})
				s.executed(t, test.executed...)
				s.finish(t, step{say: "plain and later"})
				if !s.echoed("plain and later") {
					t.Errorf("no answer: %s", s.told())
				}
				// The snapshot does not contain the message that CopilotKit added.
				if a := s.run(t, step{say: "approve E-2", loose: true}).answer(t); len(a.outcome()) != 1 {
					t.Error(terminal(a))
				}
				s.executed(t, test.executed...)
				s.messages = nil // do not check the history: it has two results for one call
			})
		})
	}
}

// TestRequestApprovalOfAnotherHistory: when the client answers, its history has a changed call, or
// lacks the call. The call that Holdpoint recorded must run.
func TestRequestApprovalOfAnotherHistory(t *testing.T) {
	t.Parallel()
	for name, history := range map[string]func(list []event) []event{
		"other arguments": func(list []event) []event {
			for _, m := range list {
				if calls, ok := m["toolCalls"].([]any); ok {
					calls[0].(map[string]any)["function"] = map[string]any{"name": "ApproveExpenseReport", "arguments": `{"expenseReportId":"E-9"}`}
				}
			}
			return list
		},
		"another name": func(list []event) []event {
			for _, m := range list {
				if calls, ok := m["toolCalls"].([]any); ok {
					calls[0].(map[string]any)["function"] = map[string]any{"name": "ResetLedger", "arguments": "{}"}
				}
			}
			return list
		},
		"no call": func(list []event) []event { return list[:1] },
		"nothing": func([]event) []event { return []event{} },
	} {
		t.Run(name, func(t *testing.T) {
			scenes(t, approvals(), func(t *testing.T, s scene) {
				s.asks(t, "approve E-1", "E-1")
				s.d.call(t, "set", map[string]any{"client": s.name, "messages": history(s.messages)}, &struct{}{})
				s.finish(t, step{resume: s.answers(accept)})
				s.executed(t, "E-1")
				s.messages = nil // do not check the client's changed history
			})
		})
	}
}

// TestRequestApprovalBesideNewWords: a request has an answer and a new message. The backend must
// get the message, but not between the call and its result.
func TestRequestApprovalBesideNewWords(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		s.finish(t, step{resume: s.answers(accept), say: "plain and beside"})
		s.executed(t, "E-1")
		if !s.echoed("plain and beside") {
			t.Errorf("no answer: %s", s.told())
		}
		s.sound(t)
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t, "E-1")
	})
}
