//go:build e2e

package e2e

import (
	"testing"
)

// strandsPauses has a pause of each kind. The message command, sent to the agent at place, causes
// the pause. open is the number of its questions, yes is the answer that approves, and deletes has
// the files that an approval deletes.
var strandsPauses = []struct {
	place, command string
	open           int
	yes            answer
	deletes        []string
}{
	{"agentcore/docs", "delete a.txt", 1, accept, []string{"a.txt"}},
	{"kept/docs", "pair a.txt b.txt", 2, accept, []string{"a.txt", "b.txt"}},
	{"fastapi/ndjson", "pair a.txt b.txt", 2, accept, []string{"a.txt", "b.txt"}},
	{"agentcore/docs", "ask", 1, gives("production"), nil},
	{"agentcore/batch", "pair a.txt b.txt", 1, gives("y"), []string{"a.txt", "b.txt"}},
	// Two agents ask, and each of them deletes the file.
	{"agentcore/branches", "delete a.txt", 2, accept, nil},
}

// eachStrandsPause runs test for each of strandsPauses.
func eachStrandsPause(t *testing.T, test func(t *testing.T, w world, c *client, yes answer, finish func())) {
	t.Helper()
	for _, p := range strandsPauses {
		t.Run(p.place+" "+p.command, func(t *testing.T) {
			eachStrandsPython(t, []string{p.place}, func(t *testing.T, w world) {
				c := w.clerk(t)
				if a := c.run(t, c.wants(p.command)).answer(t); len(a.outcome()) != p.open || a.code() != "" {
					t.Fatalf("asked with %s", terminal(a))
				}
				test(t, w, c, p.yes, func() {
					t.Helper()
					if p.place == "agentcore/branches" {
						complete(t, c.messages, nil)
						return
					}
					w.done(t, c, p.deletes...)
				})
			})
		})
	}
}

// TestStrandsPythonKeepTheContract: a request that the contract forbids must never reach the
// backend, which would accept most of them. The pause must stay unchanged and be reported again,
// and then a correct answer must be accepted.
func TestStrandsPythonKeepTheContract(t *testing.T) {
	t.Parallel()
	eachStrandsPause(t, func(t *testing.T, w world, c *client, yes answer, finish func()) {
		refusals := []struct {
			code  string
			wrong step
		}{
			{"PARTIAL_RESUME", step{patch: map[string]any{"resume": []any{}}}},
			{"UNKNOWN_INTERRUPT_ID", step{resume: append(c.answers(yes), accept("nobody~knowsthisid"))}},
			{"UNKNOWN_INTERRUPT_ID", step{resume: c.answers(func(id string) entry { return yes(publishedID.FindStringSubmatch(id)[1]) })}},
			{"INVALID_PAYLOAD", step{resume: c.answers(func(id string) entry { return entry{ID: id, Status: "resolved"} })}},
			{"INVALID_PAYLOAD", step{patch: nulls(c)}},
			{"INVALID_PAYLOAD", step{resume: c.answers(gives(map[string]any{"approved": true, "editedArgs": map[string]any{"paths": []string{"/etc/passwd"}}}))}},
		}
		if len(c.pending) > 1 {
			for _, i := range c.pending {
				refusals = append(refusals, struct {
					code  string
					wrong step
				}{"PARTIAL_RESUME", step{resume: []entry{yes(i.str("id"))}}})
			}
		}
		for _, refusal := range refusals {
			refusal.wrong.empty = true
			c.refused(t, refusal.wrong, refusal.code, true)
		}
		w.called(t, c, 1)
		c.finish(t, step{resume: c.answers(yes)})
		w.called(t, c, 2)
		finish()
	})
}

// TestStrandsPythonNewInputWhileAQuestionIsOpen: a new message without an answer must be refused.
// The client sends it again with its answers. Then the backend must get the message after the
// answers, in a request of its own.
func TestStrandsPythonNewInputWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	eachStrandsPause(t, func(t *testing.T, w world, c *client, yes answer, finish func()) {
		early := c.wants("plain, but too early")
		early.empty = true
		c.refused(t, early, "PENDING_INTERRUPTS", true)
		w.called(t, c, 1)
		c.finish(t, step{resume: c.answers(yes)})
		w.called(t, c, 3)
		finish()
	})
}

// nulls returns a resume whose payloads are null. The real clients do not send such payloads.
func nulls(c *client) map[string]any {
	var list []any
	for _, i := range c.pending {
		list = append(list, map[string]any{"interruptId": i.str("id"), "status": "resolved", "payload": nil})
	}
	return map[string]any{"resume": list}
}

// TestStrandsPythonRefuseWhatTheHookFailsAt: some answers make the documented hook fail, or count
// as a denial without notice. Holdpoint must refuse them. A correct answer must then work.
func TestStrandsPythonRefuseWhatTheHookFailsAt(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs", "entrypoint"}, func(t *testing.T, w world) {
		c := w.clerk(t)
		c.asks(t, c.wants("pair a.txt b.txt"), 2)
		for _, payload := range []any{
			1, []any{}, []any{"y"}, map[string]any{}, "", map[string]any{"answer": "y"},
			map[string]any{"approved": "true"}, map[string]any{"approved": true, "comment": "go"},
		} {
			c.refused(t, c.each(t, accept, gives(payload)), "INVALID_PAYLOAD", true)
		}
		w.gone(t, c)
		w.called(t, c, 1)
		c.finish(t, c.each(t, accept, reject))
		w.done(t, c, "a.txt")
	})
}

// TestStrandsPythonAskAReloadedPageAgain: a reloaded page has the messages but not the open
// questions. It must get the questions again, with the same ids, and be able to answer them.
func TestStrandsPythonAskAReloadedPageAgain(t *testing.T) {
	t.Parallel()
	eachStrandsPause(t, func(t *testing.T, w world, first *client, yes answer, _ func()) {
		c := first.another(t)
		for range 2 {
			a := c.run(t, step{empty: true}).answer(t)
			if ids(a.outcome()) != ids(first.pending) || a.code() != "" {
				t.Fatalf("told %s, want %s", terminal(a), ids(first.pending))
			}
		}
		w.called(t, c, 1)
		c.finish(t, step{resume: c.answers(yes)})
		w.called(t, c, 2)
		complete(t, c.messages, nil)
	})
}

// TestStrandsPythonAreNotToldTheSameAnswersTwice: answers are sent again, byte for byte or by a new
// client. Their run must end as the first run did, and the backend must not be called.
func TestStrandsPythonAreNotToldTheSameAnswersTwice(t *testing.T) {
	t.Parallel()
	eachStrandsPause(t, func(t *testing.T, w world, c *client, yes answer, finish func()) {
		answers, history := c.answers(yes), c.another(t)
		r := c.run(t, step{resume: answers})
		if end := r.answer(t); end.code() != "" || end.outcome() != nil {
			t.Fatal(terminal(end))
		}
		for n := range 2 {
			if again := c.post(t, r.Sent[0]); again.code() != "" || again.outcome() != nil || len(again.of("RUN_FINISHED")) != 1 {
				t.Errorf("replay %d: %s", n, terminal(again))
			}
		}
		history.run(t, step{resume: answers})
		// The order may differ: while two agents write at the same time, a client places each
		// result after its own call.
		if one, two := unordered(history), unordered(c); one != two {
			t.Errorf("the client that replays has %s, the first has %s", one, two)
		}
		w.called(t, c, 2)
		finish()
	})
}

// TestStrandsPythonTakeTheFirstAnswer: a question has been answered and its run has ended. A late
// answer to this question must change nothing: a denial must not undo an approval, and an approval
// must not undo a denial.
func TestStrandsPythonTakeTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		first, late answer
		want        []string
	}{{"denied after all", accept, reject, []string{"a.txt"}}, {"approved after all", cancelled, accept, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachStrandsPython(t, []string{"agentcore/docs", "kept/docs"}, func(t *testing.T, w world) {
				c := w.clerk(t)
				c.asks(t, c.wants("delete a.txt"), 1)
				late := c.answers(test.late)
				c.finish(t, step{resume: c.answers(test.first)})
				c.refused(t, step{resume: late}, "RESUME_CONFLICT", false)
				w.done(t, c, test.want...)
			})
		})
	}
}

// TestStrandsPythonTakeAMessageBesideTheAnswers: a request has answers and a new message. The
// backend accepts no message together with an answer. So Holdpoint must send the message in a
// second request, after the approved action.
func TestStrandsPythonTakeAMessageBesideTheAnswers(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, documented, func(t *testing.T, w world) {
		c := w.clerk(t)
		c.asks(t, c.wants("delete a.txt"), 1)
		s := c.each(t, accept)
		s.say = "plain and well"
		c.finish(t, s)
		if !c.echoed("plain and well") {
			t.Errorf("the message beside the answer was not answered: %v", indented(c.messages))
		}
		if said, echo := place(c, "plain and well"), place(c, "echo: plain and well"); said > echo {
			t.Errorf("the message stands behind its answer: %v", indented(c.messages))
		}
		w.done(t, c, "a.txt")
	})
}

// TestStrandsPythonAskAgainBesideAMessage: a request has an answer and a new message, and the
// answer leads to a second question. The backend must get the message after the answer to the
// second question.
func TestStrandsPythonAskAgainBesideAMessage(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs"}, func(t *testing.T, w world) {
		c := w.clerk(t)
		c.asks(t, c.wants("each a.txt b.txt"), 1)
		s := c.each(t, accept)
		s.say = "plain and patient"
		a := c.run(t, s).answer(t)
		if len(a.outcome()) != 1 || !contains(terminal(a), "MESSAGES_NOT_TAKEN") {
			t.Fatalf("after the first answer: %s", terminal(a))
		}
		w.gone(t, c, "a.txt")
		c.finish(t, c.each(t, accept))
		if !c.echoed("plain and patient") {
			t.Errorf("the message was not answered: %v", indented(c.messages))
		}
		w.done(t, c, "a.txt", "b.txt")
	})
}

// TestStrandsPythonAnsweredByTwoAtOnce: two tabs send the same approval. The second tab sends it
// while the tool that the first tab approved still runs. The tool must run once, and both tabs must
// get an ordinary end.
func TestStrandsPythonAnsweredByTwoAtOnce(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs"}, func(t *testing.T, w world) {
		c, gate := w.clerk(t), fresh("gate")
		c.asks(t, c.wants("slow "+gate+" a.txt"), 1)
		s, other, another := c.each(t, accept), c.another(t), c.another(t)
		end := c.start(t, s)
		w.b.reached(t, gate)
		another.refused(t, step{say: "plain and impatient"}, "RESUME_IN_PROGRESS", false)
		late := other.start(t, s)
		w.b.open(t, gate)
		for _, end := range []<-chan report{end, late} {
			if a := (<-end).answer(t); a.code() != "" || a.outcome() != nil || len(a.of("RUN_FINISHED")) != 1 {
				t.Errorf("an answer was met with %s", terminal(a))
			}
		}
		w.called(t, c, 2)
		w.done(t, c, "a.txt")
	})
}
