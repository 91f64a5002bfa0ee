//go:build e2e

package e2e

import (
	"testing"
)

// In these tests, two ordinary runs of one thread reach a real LangGraph at the same time, and both
// ask a question. LangGraph then waits only for the question that was asked last. But a client may
// have received only the question that was asked first.

// twoRuns makes two runs of one thread ask. The run of another client starts first, and is held.
// Then the run of c asks whether to do "shown". Then the held run continues, and asks whether to do
// "hidden". twoRuns returns the report of the run that was held.
func twoRuns(t *testing.T, b *backend, c *client) report {
	t.Helper()
	gate := fresh("gate")
	late := c.another(t)
	done := late.start(t, step{say: "do hidden " + gate})
	b.reached(t, gate)
	c.run(t, step{say: "do shown"})
	b.open(t, gate)
	return <-done
}

// TestDirectAnswerMeetsTheOtherRunsQuestion: the client has the question "shown", and LangGraph
// waits for the answer to "hidden". Without Holdpoint, if the client's answer has no id, the
// adapter uses it for "hidden". So Holdpoint must send an answer with the id of its question.
func TestDirectAnswerMeetsTheOtherRunsQuestion(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		c := bare(t, b, newest, "byname")
		twoRuns(t, b, c)
		c.run(t, command(yes))
		if l := b.ledger(t, c.thread); l.Counts["hidden"] != 1 || l.Counts["shown"] != 0 {
			t.Errorf("an answer without an id did %v", l.Counts)
		}
	})
}

// TestTwoRealRunsAtOnce: the client approves "shown", while LangGraph waits for the answer to
// "hidden". Nothing else than "shown" may run. If the adapter's stream has ids, Holdpoint sends the
// approval with the id of "shown". LangGraph does not find that id, and asks about "hidden" at the
// next message. If the stream has no ids, Holdpoint must refuse an approval and accept a denial.
// The thread must continue.
func TestTwoRealRunsAtOnce(t *testing.T) {
	t.Parallel()
	everyLangGraph(t, func(t *testing.T, w world) {
		c := w.client(t, "byname")
		if a := twoRuns(t, w.b, c).answer(t); a.code() != "THREAD_BUSY" {
			t.Fatalf("the other run ended with %s", terminal(a))
		}
		if len(c.pending) != 1 || c.pending[0].str("message") != "Do shown?" {
			t.Fatalf("shown is %v", c.pending)
		}
		if !w.b.showsIDs() {
			c.refused(t, step{resume: c.answers(accept)}, "APPROVAL_AMBIGUOUS", true)
			c.run(t, step{resume: c.answers(reject)})
			w.effects(t, c, nil)
			c.goesOn(t, nil)
			return
		}
		c.refused(t, step{resume: c.answers(accept)}, "BACKEND_LOST_INTERRUPT", false)
		w.effects(t, c, nil)
		c.run(t, step{say: "plain and simple"})
		if len(c.pending) != 1 || c.pending[0].str("message") != "Do hidden?" {
			t.Fatalf("open is %v", c.pending)
		}
		c.finish(t, step{resume: c.answers(accept)})
		w.effects(t, c, map[string]int{"hidden": 1})
		c.goesOn(t, nil)
	})
}
