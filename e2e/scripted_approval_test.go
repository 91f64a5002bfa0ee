//go:build e2e

package e2e

import (
	"encoding/json"
	"holdpoint/e2e/scripted"
	"slices"
	"strings"
	"testing"
)

// approvals returns the backends that ask by a call of request_approval, one for each layout of
// ids, and the .NET host that sends the interrupt outcome.
func approvals() []actor { return append(layouts(), dotnet()) }

func processed(what string) string {
	return "Expense report " + what + " has been approved and processed."
}

func TestRequestApproval(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		s.says(t, "user: approve E-1", `assistant: 1=ApproveExpenseReport({"expenseReportId":"E-1"})`)
		asked := "Approve execution of 'ApproveExpenseReport'?"
		if s.p.name == "dotnet" {
			asked = "Approval required for tool call: ApproveExpenseReport"
		}
		if i := s.pending[0]; i.str("message") != asked || !strings.Contains(indented(i["responseSchema"]), `"approved"`) {
			t.Errorf("interrupt %v", i)
		}
		s.executed(t)
		s.ends(t, step{resume: s.answers(accept)}, "Done: "+processed("E-1"))
		s.says(t, "user: approve E-1", `assistant: 1=ApproveExpenseReport({"expenseReportId":"E-1"})`,
			`tool: "`+processed("E-1")+`" (for 1)`, "assistant: Done: "+processed("E-1"))
		s.executed(t, "E-1")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t, "E-1")
		s.runs(t, 3)
	})
}

func TestRequestApprovalAfterASentence(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		s.asks(t, "explain E-1", "E-1")
		s.ends(t, step{resume: s.answers(accept)}, "Done: "+processed("E-1"))
		s.asks(t, "explain E-2", "E-2")
		s.ends(t, step{resume: s.answers(accept)}, "Done: "+processed("E-2"))
		s.executed(t, "E-1", "E-2")
	})
}

func TestRequestApprovalDenied(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(string) entry{"denied": reject, "cancelled": cancelled} {
		t.Run(name, func(t *testing.T) {
			scenes(t, approvals(), func(t *testing.T, s scene) {
				s.asks(t, "approve E-1", "E-1")
				s.ends(t, step{resume: s.answers(answer)}, "Done: "+denial(s))
				s.says(t, "user: approve E-1", `assistant: 1=ApproveExpenseReport({"expenseReportId":"E-1"})`,
					"tool: "+denial(s)+" (for 1)", "assistant: Done: "+denial(s))
				s.ends(t, step{say: "plain and later"}, "echo: plain and later")
				s.executed(t)
			})
		})
	}
}

func TestRequestApprovalsAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers  [2]func(string) entry
		executed []string
	}{
		"both":            {[2]func(string) entry{accept, accept}, []string{"E-1", "E-2"}},
		"the first":       {[2]func(string) entry{accept, reject}, []string{"E-1"}},
		"the second":      {[2]func(string) entry{reject, accept}, []string{"E-2"}},
		"neither":         {[2]func(string) entry{reject, cancelled}, nil},
		"one, one closed": {[2]func(string) entry{cancelled, accept}, []string{"E-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			scenes(t, approvals(), func(t *testing.T, s scene) {
				s.asks(t, "approve E-1 E-2", "E-1", "E-2")
				s.refused(t, step{resume: []entry{accept(s.pending[1].str("id"))}, empty: true}, "PARTIAL_RESUME", true)
				s.executed(t)
				answers := []entry{test.answers[0](s.pending[0].str("id")), test.answers[1](s.pending[1].str("id"))}
				slices.Reverse(answers) // the order of the answers does not matter
				s.finish(t, step{resume: answers})
				s.sound(t)
				s.executed(t, test.executed...)
				s.ends(t, step{say: "plain and later"}, "echo: plain and later")
				s.asks(t, "approve E-3 E-4", "E-3", "E-4")
				s.finish(t, step{resume: s.answers(accept)})
				s.sound(t)
				s.executed(t, append([]string{"E-3", "E-4"}, test.executed...)...)
			})
		})
	}
}

// denial returns the text that the model gets for a denied call. It depends on the backend's
// version of Microsoft.Extensions.AI.
func denial(s scene) string {
	if s.p.name == "request-approval-"+string(scripted.LayoutA1) {
		return "Error: Tool call invocation was rejected by user."
	}
	return "Tool call invocation rejected."
}

func TestRequestApprovalBesideAPlainCall(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		ran := []string{"E-1.look", "E-1"}
		if s.p.name == "request-approval-"+string(scripted.LayoutA2New) {
			// this host keeps the other call in the agent's session; without a session the call is
			// lost
			ran = ran[1:]
		}
		s.asks(t, "mixed E-1", ran...)
		s.finish(t, step{resume: s.answers(accept)})
		s.sound(t)
		s.executed(t, ran...)
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
	})
}

func TestRequestApprovalOfACallWithoutArguments(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		a := s.run(t, step{say: "reset"}).answer(t)
		if len(a.outcome()) != 1 {
			t.Fatal(terminal(a))
		}
		args := "{}"
		if s.p.name == "dotnet" {
			args = "null" // the host writes missing arguments as null
		}
		s.says(t, "user: reset", "assistant: 1=ResetLedger("+args+")")
		s.ends(t, step{resume: s.answers(accept)}, "Done: The ledger is empty.")
		s.executed(t, "reset")
	})
}

// TestRequestApprovalAgainAndAgain: the agent asks three questions, one after the other, in one
// turn.
func TestRequestApprovalAgainAndAgain(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		s.asks(t, "chain 3 E", "E.1")
		s.resumes(t, accept, "E.2")
		s.executed(t, "E.1")
		s.resumes(t, reject, "E.3")
		s.ends(t, step{resume: s.answers(accept)}, "Done: "+processed("E.1")+" | "+denial(s)+" | "+processed("E.3"))
		s.executed(t, "E.1", "E.3")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.asks(t, "approve E.4", "E.4")
		s.ends(t, step{resume: s.answers(accept)}, "Done: "+processed("E.4"))
		s.executed(t, "E.1", "E.3", "E.4")
	})
}

// TestRequestApprovalBackendsOwnCall: the model makes a call that needs no approval. The server
// itself runs it, in the same run and without a question.
func TestRequestApprovalBackendsOwnCall(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		s.ends(t, step{say: "look E-1"}, "Done: Expense report E-1 is of Tuesday.")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t, "E-1")
	})
}

// TestRequestApprovalOfWhatFails: a person approves a tool, and the tool fails. As after any other
// tool, the model must get a result.
func TestRequestApprovalOfWhatFails(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		s.asks(t, "approve boom-1", "boom-1")
		s.ends(t, step{resume: s.answers(accept)}, "Done: Error: Function failed.")
		s.ends(t, step{say: "plain and later"}, "echo: plain and later")
		s.executed(t)
	})
}

// TestRequestApprovalBackendFails: the provider fails in a run without a question, and then after
// an approved tool has run. The client must get an error each time.
func TestRequestApprovalBackendFails(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		if a := s.run(t, step{say: "fail", loose: true}).answer(t); a.code() == "" || a.outcome() != nil {
			t.Errorf("a failed run was told as %s", terminal(a))
		}
		s.asks(t, "approve late-1", "late-1")
		r := s.run(t, step{resume: s.answers(accept)})
		if a := r.answer(t); a.code() == "" || a.outcome() != nil {
			t.Errorf("a failed resume was told as %s", terminal(a))
		}
		s.executed(t, "late-1")
		// Whatever the client sends now, the tool does not run a second time, and the thread
		// continues.
		s.post(t, r.Sent[0])
		s.goesOn(t, nil)
		s.executed(t, "late-1")
	})
}

// TestRequestApprovalBackendRestarted: the backend is restarted between the question and its
// answer. This backend stores nothing, so the answer must work as before.
func TestRequestApprovalBackendRestarted(t *testing.T) {
	t.Parallel()
	scenes(t, approvals(), func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		s.p.restart()
		s.ends(t, step{resume: s.answers(accept)}, "Done: "+processed("E-1"))
		s.executed(t, "E-1")
	})
}

// TestScriptedContract checks the rules of docs/contract.md with these backends.
func TestScriptedContract(t *testing.T) {
	t.Parallel()
	scenes(t, slices.Concat(approvals(), drafts()), func(t *testing.T, s scene) {
		s.asks(t, "approve E-1", "E-1")
		// New input is refused, and the open question is reported again.
		early := s.another(t)
		early.run(t, step{empty: true})
		early.refused(t, step{say: "plain, but too early", empty: true}, "PENDING_INTERRUPTS", true)
		early.refused(t, step{resume: []entry{accept("nobody~knowsthisid")}, empty: true}, "UNKNOWN_INTERRUPT_ID", true)
		s.runs(t, 1)
		// A reloaded page gets the question again.
		page := s.another(t)
		if a := page.run(t, step{empty: true}).answer(t); a.code() != "" || ids(a.outcome()) != ids(s.pending) {
			t.Fatalf("a reloaded page was told %s, open is %s", terminal(a), ids(s.pending))
		}
		page.soundHistory(t)
		// The new page answers. If it sends the same answers again, the run must end as before.
		// Changed answers must be refused.
		answers := page.answers(accept)
		r := page.run(t, step{resume: answers})
		if a := r.answer(t); a.code() != "" || a.outcome() != nil {
			t.Fatal(terminal(a))
		}
		s.executed(t, "E-1")
		if again := page.post(t, r.Sent[0]); again.code() != "" || again.outcome() != nil || len(again.of("RUN_FINISHED")) != 1 {
			t.Errorf("replay: %s", terminal(again))
		}
		other := s.another(t)
		other.refused(t, step{resume: []entry{reject(answers[0].ID)}, empty: true}, "RESUME_CONFLICT", false)
		s.runs(t, 2)
		s.executed(t, "E-1")
		page.goesOn(t, nil)
		page.sound(t)
		s.executed(t, "E-1")
		for n, body := range s.p.Requests(s.thread) {
			var keys map[string]json.RawMessage
			if err := json.Unmarshal(body, &keys); err != nil {
				t.Fatal(err)
			}
			replay := strings.HasPrefix(s.p.name, "request-approval")
			if n > 0 && keys["protocolVersion"] != nil && s.p.name != "dotnet" || keys["resume"] != nil && (n != 1 || replay) {
				t.Errorf("request %d has a protocolVersion or a resume: %s", n, body)
			}
		}
	})
}
