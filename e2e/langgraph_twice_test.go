//go:build e2e

package e2e

import (
	"testing"
)

// Tests of two ordinary runs of one thread at a real LangGraph at the same time, which both ask.
// LangGraph waits for the question of the run that asked last. A client may have got the other
// question.

// twoRuns makes the thread of c ask whether to do "shown". A run that has started earlier then asks
// whether to do "hidden". It returns the end of that run.
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

// TestDirectAnswerMeetsTheOtherRunsQuestion shows why an answer must be sent with its id: without
// it the adapter uses the answer for the other question.
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

// TestTwoRealRunsAtOnce: an approval of the shown question does nothing else. If the adapter sends
// ids, the answer has the question's id. LangGraph does not find it, and the next message brings
// the other question. If the adapter sends none, an approval is refused and a denial is accepted.
// The thread continues.
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
