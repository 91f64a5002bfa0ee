//go:build e2e

package e2e

import (
	"testing"
)

// In these tests, two ordinary runs of one thread reach a real LangGraph at the same time, and both
// ask a question. LangGraph then waits only for the question of the run that asked last. A client
// may have received the other question.

// twoRuns makes the thread of c ask whether to do "shown". Another run of the thread has started
// before. It asks afterwards whether to do "hidden". twoRuns returns the report of that other run.
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

// TestDirectAnswerMeetsTheOtherRunsQuestion: without Holdpoint, the adapter uses an answer without
// an id for the other question. So Holdpoint must send an answer with its id.
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

// TestTwoRealRunsAtOnce: an approval of the shown question must not run anything else. If the
// adapter's stream has ids, Holdpoint sends the answer with the question's id. LangGraph does not
// find that id, and the next message brings the other question. If the stream has no ids, Holdpoint
// must refuse an approval and accept a denial. The thread must continue.
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
