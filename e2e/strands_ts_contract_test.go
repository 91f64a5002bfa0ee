//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestStrandsKeepsTheContract: a request that the contract forbids must never reach Strands.
// Strands would accept some of them, and others would lock the thread. The pause must stay
// unchanged and be reported again, and then a correct answer must be accepted.
func TestStrandsKeepsTheContract(t *testing.T) {
	t.Parallel()
	for _, refusal := range []struct {
		name, code string
		wrong      func(c *client) (s step, applies bool)
	}{
		{"one of two answered", "PARTIAL_RESUME", func(c *client) (step, bool) {
			return step{resume: []entry{accept(c.pending[0].str("id"))}}, len(c.pending) > 1
		}},
		{"no answer", "PARTIAL_RESUME", func(*client) (step, bool) { return step{patch: map[string]any{"resume": []any{}}}, true }},
		{"new input", "PENDING_INTERRUPTS", func(*client) (step, bool) { return step{say: "plain, but too early"}, true }},
		{"an id that was never told", "UNKNOWN_INTERRUPT_ID", func(c *client) (step, bool) {
			return step{resume: append(c.answers(accept), accept("nobody~knowsthisid"))}, true
		}},
		{"the backend's own id", "UNKNOWN_INTERRUPT_ID", func(c *client) (step, bool) {
			return step{resume: c.answers(func(id string) entry { return accept(publishedID.FindStringSubmatch(id)[1]) })}, true
		}},
		{"nothing as the answer", "INVALID_PAYLOAD", func(c *client) (step, bool) {
			return step{resume: c.answers(func(id string) entry { return entry{ID: id, Status: "resolved"} })}, true
		}},
		{"edits that cannot be delivered", "INVALID_PAYLOAD", func(c *client) (step, bool) {
			return step{resume: c.answers(func(id string) entry {
				return resolved(id, map[string]any{"approved": true, "editedArgs": map[string]any{"paths": []any{"c.txt"}}})
			})}, true
		}},
	} {
		t.Run(refusal.name, func(t *testing.T) {
			eachStrands(t, strandsAll, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt and delete b.txt"), w.visible())
				s, applies := refusal.wrong(c)
				if !applies {
					return
				}
				s.empty = true
				c.refused(t, s, refusal.code, true)
				w.called(t, c, 1)
				c.decides(t, reject, "a.txt", "b.txt")
				w.kept(t, c, "a.txt", "b.txt")
			})
		})
	}
}

// TestStrandsAsksAReloadedPageAgain: a reloaded page has the messages but not the open questions.
// It must get the questions again, with the same ids.
func TestStrandsAsksAReloadedPageAgain(t *testing.T) {
	t.Parallel()
	eachStrands(t, strandsAll, func(t *testing.T, w world) {
		first := w.person(t)
		first.waits(t, first.wants("delete a.txt"), 1)
		c := first.another(t)
		for range 2 {
			if a := c.waits(t, step{empty: true}, 1); ids(a.outcome()) != ids(first.pending) {
				t.Fatalf("told %s, want %s", ids(a.outcome()), ids(first.pending))
			}
		}
		w.called(t, c, 1)
		c.decides(t, reject, "a.txt")
		w.kept(t, c, "a.txt")
	})
}

// TestStrandsIsNotToldTheSameAnswersTwice: answers are sent again, byte for byte or by a new
// client. Their run must end as the first run did. Strands must not be called, because it would
// call its model again.
func TestStrandsIsNotToldTheSameAnswersTwice(t *testing.T) {
	t.Parallel()
	eachStrands(t, append([]string{"sse/batch", "agui/batch", "sse/graph-hook"}, strandsAll...), func(t *testing.T, w world) {
		c := w.person(t)
		c.run(t, c.wants("delete a.txt and delete b.txt"))
		history, answers := c.another(t), c.answers(accept)
		r := c.run(t, step{resume: answers})
		end := r.answer(t)
		runs := len(w.b.ledger(t, c.thread).Runs)
		for n := range 2 {
			if again := c.post(t, r.Sent[0]); again.code() != end.code() || ids(again.outcome()) != ids(end.outcome()) {
				t.Errorf("replay %d: %s", n, terminal(again))
			}
		}
		history.run(t, step{resume: answers})
		// The order may differ: a new client places the results after both calls, and the first
		// client has placed each result after its own call.
		if one, two := unordered(history), unordered(c); one != two {
			t.Errorf("the client that replays has %s, the first has %s", one, two)
		}
		w.called(t, c, runs)
		if len(c.pending) > 0 {
			c.decides(t, reject, "a.txt", "b.txt")
		}
		w.deleted(t, c, "a.txt", "b.txt")
	})
}

// unordered returns a client's messages as text, sorted by id.
func unordered(c *client) string {
	messages := slices.Clone(c.messages)
	slices.SortFunc(messages, func(a, b event) int { return strings.Compare(a.str("id"), b.str("id")) })
	return indented(messages)
}

// TestStrandsTakesTheFirstAnswer: a question has been answered and its run has ended. A different
// answer to this question must change nothing.
func TestStrandsTakesTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		first, late answer
		files       []string
	}{{"denied after all", accept, reject, []string{"a.txt"}}, {"approved after all", reject, accept, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachStrands(t, strandsAll, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt"), 1)
				late := c.answers(test.late)
				c.finish(t, step{resume: c.answers(test.first)})
				c.refused(t, step{resume: late}, "RESUME_CONFLICT", false)
				w.kept(t, c, test.files...)
			})
		})
	}
}

// TestStrandsTakesAMessageBesideTheAnswers: a request has answers and a new message. The agent must
// get the message after the approved action. If the answers lead to a second question, the agent
// must get the message after the answer to the second question.
func TestStrandsTakesAMessageBesideTheAnswers(t *testing.T) {
	t.Parallel()
	eachStrands(t, strandsAll, func(t *testing.T, w world) {
		c := w.person(t)
		c.waits(t, c.wants("delete a.txt then delete b.txt"), 1)
		a := c.run(t, step{say: "plain and patient", resume: c.answers(accept)}).answer(t)
		if len(a.outcome()) != 1 || !contains(terminal(a), "MESSAGES_NOT_TAKEN") {
			t.Fatalf("beside the first answer: %s", terminal(a))
		}
		w.deleted(t, c, "a.txt")
		c.finish(t, step{resume: c.answers(reject)})
		if !c.echoed("plain and patient") {
			t.Errorf("the message was not answered: %s", indented(c.messages))
		}
		c.waits(t, c.wants("delete c.txt"), 1)
		c.finish(t, step{say: "plain and well", resume: c.answers(accept)})
		if !c.echoed("plain and well") {
			t.Errorf("the message beside the answer was not answered: %s", indented(c.messages))
		}
		w.kept(t, c, "a.txt", "c.txt")
	})
}

// TestStrandsSession: all runs of a thread must have the same session id. This id must differ from
// the session id of any other thread, and must not contain the thread id.
func TestStrandsSession(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		w := shared.strands.world("sse/hook", newest)
		c := w.person(t)
		c.waits(t, c.wants("delete a.txt"), 1)
		c.finish(t, step{resume: c.answers(accept)})
		runs := w.b.ledger(t, c.thread).Runs
		if len(runs) != 2 || runs[0].Session != runs[1].Session || seen[runs[0].Session] || len(runs[0].Session) < 33 || contains(runs[0].Session, c.thread) {
			t.Errorf("sessions %v", runs)
		}
		seen[runs[0].Session] = true
		if list, _ := runs[1].Prompt.([]any); len(list) != 1 {
			t.Errorf("answered with %v", runs[1].Prompt)
		}
	}
}

// TestStrandsOrdinaryRun: the events of a run without a question must be in an order that each
// client accepts. The client must get the model's reasoning only if Holdpoint is configured to send
// it.
func TestStrandsOrdinaryRun(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"sse/hook", "ndjson/hook", "saved/hook", "json/hook", "sse/graph"}, func(t *testing.T, w world) {
		c := w.person(t)
		for _, said := range []string{"plain one", "plain two"} {
			c.finish(t, c.wants(said))
			if !c.echoed(said) {
				t.Errorf("%q was not answered: %s", said, indented(c.messages))
			}
		}
		if a := c.finish(t, c.wants("think")); slices.ContainsFunc(a.kinds(), func(kind string) bool { return contains(kind, "REASONING") }) {
			t.Errorf("thoughts: %v", a.kinds())
		}
	})
}
