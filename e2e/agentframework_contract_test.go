//go:build e2e

package e2e

import (
	"slices"
	"testing"
)

// agentPauses has one pause of each kind that agent-framework-ag-ui can make: the agent that
// pauses, the number of its questions, the answer that approves, and the calls that run after it.
var agentPauses = []struct {
	agent string
	open  int
	yes   answer
	does  []string
}{
	{"approve", 1, accept, []string{deleteA}},
	{"parallel", 2, accept, []string{deleteA, deleteB}},
	{"drift", 1, accept, []string{deleteA}},
	{"predictive", 1, accept, nil},
	{"workflow", 1, chooses("a"), []string{chosen("a")}},
	{"workflow-both", 2, chooses("a"), []string{chosen("a"), chosen("a")}},
}

// eachPause runs test for each pause in agentPauses, with each version and client of eachAgent.
func eachPause(t *testing.T, test func(t *testing.T, w world, agent string, open int, yes answer, does []string)) {
	t.Helper()
	for _, p := range agentPauses {
		t.Run(p.agent, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) { test(t, w, p.agent, p.open, p.yes, p.does) })
		})
	}
}

// settled sends the answer yes to all open questions. If the agent then asks another question,
// settled denies it. The run must end without an error.
func (c *client) settled(t *testing.T, yes answer) {
	t.Helper()
	a := c.run(t, step{resume: c.answers(yes)}).answer(t)
	if len(a.outcome()) > 0 && a.code() == "" {
		a = c.run(t, step{resume: c.answers(reject)}).answer(t)
	}
	if a.code() != "" || a.outcome() != nil {
		t.Fatalf("the answers were met with %s", terminal(a))
	}
}

// TestAgentsKeepTheContract: the client sends requests that the contract forbids. The backend would
// accept most of them, so Holdpoint must refuse them. The questions must stay as they are and be
// sent to the client again. Then they must accept a correct answer.
func TestAgentsKeepTheContract(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		name, code string
		wrong      func(c *client) (s step, applies bool)
	}{
		{"one of two answered", "PARTIAL_RESUME", func(c *client) (step, bool) {
			return step{resume: []entry{accept(c.pending[0].str("id"))}}, len(c.pending) > 1
		}},
		{"the other of two answered", "PARTIAL_RESUME", func(c *client) (step, bool) {
			return step{resume: []entry{cancelled(c.pending[len(c.pending)-1].str("id"))}}, len(c.pending) > 1
		}},
		{"no answer", "PARTIAL_RESUME", func(*client) (step, bool) {
			return step{patch: map[string]any{"resume": []any{}}}, true
		}},
		{"new input", "PENDING_INTERRUPTS", func(*client) (step, bool) {
			return step{say: "plain, but too early"}, true
		}},
		{"an id that was never told", "UNKNOWN_INTERRUPT_ID", func(c *client) (step, bool) {
			return step{resume: append(c.answers(accept), accept("nobody~knowsthisid"))}, true
		}},
		{"the backend's own id", "UNKNOWN_INTERRUPT_ID", func(c *client) (step, bool) {
			return step{resume: c.answers(func(id string) entry { return accept(publishedID.FindStringSubmatch(id)[1]) })}, true
		}},
		{"an approval that is no boolean", "INVALID_PAYLOAD", func(c *client) (step, bool) {
			return step{resume: c.answers(func(id string) entry { return resolved(id, map[string]any{"approved": "yes"}) })}, c.pending[0]["toolCallId"] != nil
		}},
		{"nothing as the approval", "INVALID_PAYLOAD", func(c *client) (step, bool) {
			return step{resume: c.answers(func(id string) entry { return entry{ID: id, Status: "resolved"} })}, c.pending[0]["toolCallId"] != nil
		}},
	} {
		t.Run(refusal.name, func(t *testing.T) {
			eachPause(t, func(t *testing.T, w world, agent string, open int, yes answer, does []string) {
				c := w.client(t, agent)
				c.asks(t, step{say: "go"}, open)
				s, applies := refusal.wrong(c)
				if !applies {
					return
				}
				s.empty = true
				c.plain(t, c.refused(t, s, refusal.code, true))
				w.called(t, c, 1)
				c.settled(t, yes)
				w.proven(t, c, does...)
			})
		})
	}
}

// TestAgentsAskAReloadedPageAgain: after a reload, a page has the messages but not the open
// questions. Its first run must get the same questions with the same ids, and the page can answer
// them.
func TestAgentsAskAReloadedPageAgain(t *testing.T) {
	t.Parallel()
	eachPause(t, func(t *testing.T, w world, agent string, open int, yes answer, does []string) {
		first := w.client(t, agent)
		first.asks(t, step{say: "go"}, open)
		c := first.another(t)
		for range 2 {
			a := c.asks(t, step{empty: true}, open)
			if ids(a.outcome()) != ids(first.pending) {
				t.Fatalf("told %s, want %s", ids(a.outcome()), ids(first.pending))
			}
		}
		w.called(t, c, 1)
		c.settled(t, yes)
		w.proven(t, c, does...)
	})
}

// TestAgentsAreNotToldTheSameAnswersTwice: answers are sent again, byte for byte or by a new
// client. The client must get the same end of the run as the first time, and Holdpoint must not
// call the backend. Most of these backends would not recognize the repeated answer, and one would
// call its model again.
func TestAgentsAreNotToldTheSameAnswersTwice(t *testing.T) {
	t.Parallel()
	eachPause(t, func(t *testing.T, w world, agent string, open int, yes answer, does []string) {
		c := w.client(t, agent)
		c.asks(t, step{say: "go"}, open)
		answers, history := c.answers(yes), c.another(t)
		r := c.run(t, step{resume: answers})
		end := r.answer(t)
		if end.code() != "" {
			t.Fatal(terminal(end))
		}
		runs := len(w.b.ledger(t, c.thread).Runs)
		for n := range 2 {
			if again := c.post(t, r.Sent[0]); again.code() != "" || ids(again.outcome()) != ids(end.outcome()) || len(again.of("RUN_FINISHED")) != 1 {
				t.Errorf("replay %d: %s", n, terminal(again))
			}
		}
		history.run(t, step{resume: answers})
		if one, two := spoken(history), spoken(c); one != two {
			t.Errorf("the client that replays has %s, the first has %s", one, two)
		}
		w.called(t, c, runs)
		if len(end.outcome()) > 0 {
			c.settled(t, reject)
		}
		w.proven(t, c, does...)
	})
}

// spoken returns those messages of the client that a model would get, as indented JSON. It leaves
// out the activities of a workflow.
func spoken(c *client) string {
	return indented(slices.DeleteFunc(slices.Clone(c.messages), func(m event) bool { return m.str("role") == "activity" }))
}

// TestAgentsTakeTheFirstAnswer: after the end of the run, the client sends another answer to the
// same question. The late answer must change nothing. A denial does not undo an approval, and an
// approval does not undo a denial.
func TestAgentsTakeTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		first, late answer
		want        []string
	}{{"denied after all", accept, reject, []string{deleteA}}, {"approved after all", reject, accept, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) {
				c := w.client(t, "approve")
				c.asks(t, step{say: "go"}, 1)
				late := c.answers(test.late)
				c.finish(t, step{resume: c.answers(test.first)})
				c.refused(t, step{resume: late}, "RESUME_CONFLICT", false)
				w.proven(t, c, test.want...)
			})
		})
	}
}

// TestAgentsTakeAMessageBesideTheAnswers: a new message comes in the same request as the answers.
// It must not be lost. In the histories of the client and of the model, it must follow the approved
// action.
func TestAgentsTakeAMessageBesideTheAnswers(t *testing.T) {
	t.Parallel()
	eachPause(t, func(t *testing.T, w world, agent string, open int, yes answer, does []string) {
		c := w.client(t, agent)
		c.asks(t, step{say: "go"}, open)
		if agent == "drift" {
			return // it asks again, which the next test covers
		}
		c.finish(t, step{resume: c.answers(yes), say: "plain and well"})
		if !c.echoed("plain and well") {
			t.Errorf("the message beside the answer was not answered: %v", indented(c.messages))
		}
		if said, echo := place(c, "plain and well"), place(c, "echo: plain and well"); said > echo {
			t.Errorf("the message stands behind its answer: %v", indented(c.messages))
		}
		w.proven(t, c, does...)
	})
}

// TestAgentsAskAgainBesideAMessage: an answer and a new message come in one request, and the agent
// asks another question. Holdpoint cannot send the message then. It must send it after the next
// answer.
func TestAgentsAskAgainBesideAMessage(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"again", "drift", "drift-each"} {
		t.Run(agent, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) {
				c := w.client(t, agent)
				c.asks(t, step{say: "go"}, 1)
				s := c.each(t, accept)
				s.say = "plain and patient"
				a := c.run(t, s).answer(t)
				if len(a.outcome()) != 1 || !contains(terminal(a), "MESSAGES_NOT_TAKEN") {
					t.Fatalf("after the first answer: %s", terminal(a))
				}
				w.ran(t, c, deleteA)
				c.finish(t, c.each(t, accept))
				if !c.echoed("plain and patient") {
					t.Errorf("the message was not answered: %v", indented(c.messages))
				}
				w.proven(t, c, deleteA, mail)
			})
		})
	}
}

// TestAgentsAndCopilotKitsResume: CopilotKit resumes with the run id of the interrupted run. For
// each call it also adds a tool message with the payload. These backends would read such a tool
// message as an answer in their own format, or as a second result of the call. So Holdpoint must
// keep it from them.
func TestAgentsAndCopilotKitsResume(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, w world) {
		c := w.client(t, "parallel")
		run := "run-of-" + c.thread
		c.asks(t, step{say: "go", runID: run}, 2)
		messages, s := slices.Clone(c.messages), step{runID: run}
		for n, i := range c.pending {
			payload := []map[string]any{yes, no}[n]
			s.resume = append(s.resume, resolved(i.str("id"), payload))
			messages = append(messages, event{"id": fresh("tool"), "role": "tool", "toolCallId": i.str("toolCallId"), "content": text(payload)})
		}
		c.d.call(t, "set", map[string]any{"client": c.name, "messages": messages}, &struct{}{})
		c.finish(t, s)
		w.ran(t, c, deleteA)
		// The client keeps these tool messages. Later requests must not show them to the model.
		c.goesOn(t, nil)
		w.ran(t, c, deleteA)
		w.unblamed(t, c, 0)
	})
}

// TestAgentsRunEditedArguments: if the backend supports edited arguments, the call must run with
// them. Otherwise Holdpoint must refuse the edit.
func TestAgentsRunEditedArguments(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, w world) {
		c := w.client(t, "approve")
		c.asks(t, step{say: "go"}, 1)
		edited := map[string]any{"approved": true, "editedArgs": map[string]any{"path": "edited.txt"}}
		taken := w.since("1.7.0")
		if w.since("1.0.0rc8") && !taken {
			edited, taken = map[string]any{"accepted": true, "path": "edited.txt"}, true
		}
		edit := func(id string) entry { return resolved(id, edited) }
		if !taken {
			c.refused(t, c.each(t, edit), "INVALID_PAYLOAD", true)
			w.called(t, c, 1)
			c.finish(t, c.each(t, reject))
			w.proven(t, c)
			return
		}
		c.finish(t, c.each(t, edit))
		w.proven(t, c, `delete_file {"path":"edited.txt"}`)
	})
}
