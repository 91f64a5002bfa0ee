//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// These tests run AG2 with its AG-UI stream, behind a Holdpoint without settings for AG2. After a
// question, AG2 keeps the turn in the memory of its process. AG2 refuses a wrong answer before the
// run begins, and the turn still waits. It also refuses every run that does not answer the
// question.

const answerA = `ask {"answer":"Ann"}`

// eachAG2 runs test with each client that reads the interrupt outcome. The clients use AG2 in the
// given mode.
func eachAG2(t *testing.T, mode string, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "ag2", "1.2.1")
	h := ownHoldpoint(t, s.base()+"/"+mode, nil)
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			test(t, world{b: &backend{name: "ag2 " + mode, mode: mode, server: s}, h: h, version: version})
		})
	}
}

// bareAG2 returns a client that talks to AG2 directly, without Holdpoint.
func bareAG2(t *testing.T, mode string) (world, *client) {
	t.Helper()
	w := world{b: &backend{name: "ag2 " + mode, mode: mode, server: need(t, "ag2", "1.2.1")}}
	return w, newClient(t, shared.direct, newest, w.b.url()+"/agent", fresh("bare"), nil)
}

// proof returns a step that answers the first open question. If right is true, the answer contains
// the proof from the question, otherwise a wrong proof.
func (c *client) proof(t *testing.T, answer answer, right bool) step {
	t.Helper()
	metadata := c.pending[0]["metadata"]
	if text(metadata) == "null" || !right {
		metadata = map[string]any{"ag2": map[string]any{"proof": "wrong"}}
	}
	e := answer(c.pending[0].str("id"))
	e.Metadata = metadata
	return step{resume: []entry{e}}
}

// TestAG2Approvals: an approved call must run once, and no other call may run.
func TestAG2Approvals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, order string
		answers     []answer // one for each question, in order
		want        []string
	}{
		{"approved", "delete a.txt", []answer{gives(true)}, []string{deleteA}},
		{"denied", "delete a.txt", []answer{gives(false)}, nil},
		{"cancelled", "delete a.txt", []answer{cancelled}, nil},
		{"approved in a word", "delete a.txt", []answer{gives("y")}, []string{deleteA}},
		{"denied in a word", "delete a.txt", []answer{gives("no")}, nil},
		{"both", "delete a.txt, delete b.txt", []answer{gives(true), gives(true)}, []string{deleteA, deleteB}},
		{"the first of two", "delete a.txt; delete b.txt", []answer{gives(true), gives(false)}, []string{deleteA}},
		{"the first of two, then cancelled", "delete a.txt; delete b.txt", []answer{gives(true), cancelled}, []string{deleteA}},
		{"one after the other", "delete a.txt; delete b.txt", []answer{gives(true), gives(true)}, []string{deleteA, deleteB}},
		{"beside a free call", "delete a.txt, search x", []answer{gives(false)}, []string{search}},
		{"a free question", "ask name", []answer{gives("Ann")}, []string{answerA}},
		{"a tool that fails", "break a.txt", []answer{gives(true)}, []string{`break_file {"path":"a.txt"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachAG2(t, "held", func(t *testing.T, w world) {
				c := w.client(t, "agent")
				s := step{say: test.order}
				for _, answer := range test.answers {
					c.asksAbout(t, s, 1)
					s = step{resume: c.answers(answer)}
				}
				c.finish(t, s)
				w.ran(t, c, test.want...)
				c.goesOn(t, nil)
				w.ran(t, c, test.want...)
			})
		})
		t.Run(test.name+", without Holdpoint", func(t *testing.T) {
			w, c := bareAG2(t, "held")
			s := step{say: test.order}
			for _, answer := range test.answers {
				c.run(t, s)
				s = step{resume: c.answers(answer)}
			}
			c.run(t, s)
			w.ran(t, c, test.want...)
		})
	}
}

// TestAG2AfterARefusal: each question of AG2 contains a proof, which the answer must repeat. AG2
// refuses an answer without the proof before the run begins. Then the question must stay open, and
// a correct answer must be accepted.
func TestAG2AfterARefusal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode  string
		wrong func(t *testing.T, c *client) step
		then  answer
		want  []string
	}{
		"no proof, then approved":  {"proof", func(_ *testing.T, c *client) step { return step{resume: c.answers(gives(true))} }, gives(true), []string{deleteA}},
		"no proof, then denied":    {"proof", func(_ *testing.T, c *client) step { return step{resume: c.answers(gives(true))} }, gives(false), nil},
		"no proof, then cancelled": {"proof", func(_ *testing.T, c *client) step { return step{resume: c.answers(cancelled)} }, cancelled, nil},
		"a wrong one, then approved": {
			"held", func(t *testing.T, c *client) step { return c.proof(t, gives(true), false) }, gives(true), []string{deleteA},
		},
		"a wrong one, then cancelled": {
			"held", func(t *testing.T, c *client) step { return c.proof(t, gives(true), false) }, cancelled, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachAG2(t, c.mode, func(t *testing.T, w world) {
				cl := w.client(t, "agent")
				cl.asksAbout(t, step{say: "delete a.txt"}, 1)
				right := cl.proof(t, c.then, true)
				for range 2 {
					cl.refused(t, c.wrong(t, cl), "INTERRUPT_NOT_PROVEN", true)
				}
				w.ran(t, cl)
				cl.finish(t, right)
				w.ran(t, cl, c.want...)
				cl.goesOn(t, nil)
				w.ran(t, cl, c.want...)
			})
			t.Run("without Holdpoint", func(t *testing.T) {
				w, cl := bareAG2(t, c.mode)
				cl.run(t, step{say: "delete a.txt"})
				right, wrong := cl.proof(t, c.then, true), c.wrong(t, cl)
				cl.run(t, wrong)
				w.ran(t, cl)
				cl.run(t, right)
				w.ran(t, cl, c.want...)
			})
		})
	}
}

// TestAG2TakesAMessageAfterTheAnswer: if a request has an answer and a new message, Holdpoint must
// send the message after the answer, because the waiting turn of AG2 would never see it.
func TestAG2TakesAMessageAfterTheAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]answer{"approved": gives(true), "denied": gives(false), "cancelled": cancelled} {
		t.Run(name, func(t *testing.T) {
			eachAG2(t, "held", func(t *testing.T, w world) {
				c := w.client(t, "agent")
				c.asksAbout(t, step{say: "delete a.txt"}, 1)
				said := "plain " + fresh("n")
				c.finish(t, step{say: said, resume: c.answers(answer)})
				if !c.echoed(said) {
					t.Errorf("the message was not answered: %v", c.messages)
				}
				w.called(t, c, 3)
				want := []string{}
				if name == "approved" {
					want = []string{deleteA}
				}
				w.ran(t, c, want...)
			})
		})
	}
}

// TestAG2ForgetsThePause: AG2 is restarted between the question and its answer, and has lost the
// turn that asked. It ignores the answer and runs the thread again, as if nothing had been asked.
// The client must learn that the question is lost, or get a new question.
func TestAG2ForgetsThePause(t *testing.T) {
	t.Parallel()
	need(t, "ag2", "1.2.1")
	s, err := startServer(stack{"ag2", "1.2.1"}, filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill() })
	w := world{b: &backend{name: "ag2", mode: "held", server: s}, h: ownHoldpoint(t, s.base()+"/held", nil)}
	for name, answer := range map[string]answer{"approved": gives(true), "denied": gives(false)} {
		for _, version := range []string{newest, pinned} {
			t.Run(name+"/client-"+version, func(t *testing.T) {
				w.version = version
				c := w.client(t, "agent")
				c.asksAbout(t, step{say: "delete a.txt"}, 1)
				s.crash()
				s.back(t)
				a := c.run(t, step{resume: c.answers(answer)}).answer(t)
				w.ran(t, c) // the history says that the call was made, and the model comments on it
				if code := a.code(); code != "BACKEND_LOST_INTERRUPT" && len(a.outcome()) != 1 {
					t.Errorf("the client was not told: %v\n%s", a.kinds(), terminal(a))
				}
				c.goesOn(t, nil)
				w.ran(t, c)
			})
		}
	}
}

// TestAG2WaitsForALostQuestion: Holdpoint is restarted with its store in memory, so it does not
// know the open question. AG2 still waits for the answer, and refuses every run. Holdpoint must
// turn this refusal into a question that can only be cancelled. Then the thread must continue.
func TestAG2WaitsForALostQuestion(t *testing.T) {
	t.Parallel()
	type way struct {
		name  string
		comes func(t *testing.T, c *client) // plays what happens between restart and question
		free  func(t *testing.T, c *client, said string)
	}
	approves := func(t *testing.T, c *client) {
		c.refused(t, step{resume: c.answers(gives(true))}, "UNKNOWN_INTERRUPT_ID", false)
	}
	cancels := func(t *testing.T, c *client) { c.finish(t, step{resume: c.answers(cancelled)}) }
	asked := func(t *testing.T, c *client) {
		a := c.run(t, step{say: "plain hello", empty: true}).answer(t)
		if len(a.outcome()) != 1 || !strings.Contains(terminal(a), "holdpoint:lost_question") {
			t.Fatalf("nobody was asked: %v\n%s", a.kinds(), terminal(a))
		}
		c.refused(t, step{resume: c.answers(gives(map[string]any{"approved": true}))}, "INVALID_PAYLOAD", true)
	}
	byCancel := func(t *testing.T, c *client, said string) {
		c.finish(t, step{resume: c.answers(cancelled), say: said})
	}
	byNo := func(t *testing.T, c *client, said string) {
		c.finish(t, step{resume: c.answers(gives(map[string]any{"approved": false})), say: said})
	}
	byMessage := func(t *testing.T, c *client, said string) { c.finish(t, step{empty: true, say: said}) }
	for _, way := range []way{
		{"an approval that is refused, then a cancel", approves, byCancel},
		{"an approval that is refused, then a no", approves, byNo},
		{"an approval that is refused, then a message", approves, byMessage},
		{"a cancel that is not handed on, then a cancel", cancels, byCancel},
		{"a cancel that is not handed on, then a message", cancels, byMessage},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := need(t, "ag2", "1.2.1")
			before, after := ownHoldpoint(t, s.base()+"/held", nil), ownHoldpoint(t, s.base()+"/held", nil)
			for _, version := range []string{newest, pinned} {
				t.Run("client-"+version, func(t *testing.T) {
					w := world{b: &backend{name: "ag2", mode: "held", server: s}, h: before, version: version}
					c := w.client(t, "agent")
					c.asksAbout(t, step{say: "delete a.txt"}, 1)
					c.moves(t, after, "agent")
					way.comes(t, c)
					asked(t, c)
					w.ran(t, c)
					said := "plain " + fresh("n")
					way.free(t, c, said)
					if !c.echoed(said) {
						t.Errorf("the message was not answered: %v", c.messages)
					}
					w.ran(t, c)
					c.goesOn(t, nil)
					w.ran(t, c)
				})
			}
		})
	}
}

// moves makes the client send its next requests to another Holdpoint, the parameter to. The client
// keeps its messages and its list of open questions.
func (c *client) moves(t *testing.T, to *holdpoint, agent string) {
	t.Helper()
	pending := c.pending
	c.d.call(t, "new", map[string]any{"client": c.name, "version": c.version, "url": to.address + "/" + agent, "threadId": c.thread, "messages": c.messages}, &struct{}{})
	c.pending = pending
}
