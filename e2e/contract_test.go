//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

// TestARefusalLeavesAWayOn plays every refusal that a client can cause. The backend must not be
// called, and the open questions must stay open and be sent again. Neither this client nor a new
// client of the thread may be stuck afterwards.
func TestARefusalLeavesAWayOn(t *testing.T) {
	t.Parallel()
	rejections := map[string]any{"decisions": []any{map[string]any{"type": "reject"}, map[string]any{"type": "reject"}}}
	one := map[string]any{"count": 1} // the schema accepts only this answer, which is not a denial
	const stray = "nobody~knowsthisid"
	opened := func(n int, s func(c *client) step) func(*testing.T, *client) step {
		return func(t *testing.T, c *client) step { c.pause(t, n); return s(c) }
	}
	for _, test := range []struct {
		name    string
		graph   string
		arrange func(t *testing.T, c *client) step // plays what precedes the refusal, and returns the step that is refused
		code    string
		asked   bool // whether open questions are sent again
		deny    any  // an answer in the command form by which an old client closes the open questions
	}{
		{"an id that was never published", "approve", opened(1, func(c *client) step {
			return step{resume: []entry{accept(stray)}}
		}), "UNKNOWN_INTERRUPT_ID", true, no},
		{"an id that was never published, beside the right one", "approve", opened(1, func(c *client) step {
			return step{resume: []entry{accept(c.pending[0].str("id")), accept(stray)}}
		}), "UNKNOWN_INTERRUPT_ID", true, no},
		{"the native id", "truthy", opened(1, func(c *client) step {
			return step{resume: []entry{resolved(cmp.Or(nativeID(c.pending[0]), "none"), true)}}
		}), "UNKNOWN_INTERRUPT_ID", true, false},
		{"an answer on a thread that waits for nothing", "truthy", func(*testing.T, *client) step {
			return step{say: "go", resume: []entry{resolved(stray, true)}}
		}, "UNKNOWN_INTERRUPT_ID", false, false},
		{"a command on a thread that waits for nothing", "truthy", func(*testing.T, *client) step {
			return step{say: "go", command: true}
		}, "UNKNOWN_INTERRUPT_ID", false, false},
		{"one of two answered", "hitl", opened(2, func(c *client) step {
			return step{resume: []entry{accept(c.pending[0].str("id"))}}
		}), "PARTIAL_RESUME", true, rejections},
		{"an empty resume", "approve", opened(1, func(c *client) step {
			return step{patch: map[string]any{"resume": []any{}}}
		}), "PARTIAL_RESUME", true, no},
		{"new input", "approve", opened(1, func(c *client) step {
			return step{say: "plain, but too early"}
		}), "PENDING_INTERRUPTS", true, no},
		{"a payload against the schema", "schema", opened(1, func(c *client) step {
			return step{resume: c.answers(func(id string) entry { return resolved(id, map[string]any{"count": "two"}) })}
		}), "INVALID_PAYLOAD", true, one},
		{"no payload where the schema wants one", "schema", opened(1, func(c *client) step {
			return step{resume: c.answers(func(id string) entry { return entry{ID: id, Status: "resolved"} })}
		}), "INVALID_PAYLOAD", true, one},
		{"a payload against the schema in the command form", "schema", opened(1, func(c *client) step {
			return step{command: map[string]any{"count": "two"}}
		}), "INVALID_PAYLOAD", true, one},
		{"a decision that is none", "hitl", opened(2, func(c *client) step {
			return step{resume: c.answers(func(id string) entry { return resolved(id, map[string]any{"approved": "yes"}) })}
		}), "INVALID_PAYLOAD", true, rejections},
		{"an edit where none is allowed", "hitl", opened(2, func(c *client) step {
			return step{resume: c.answers(func(id string) entry {
				return resolved(id, map[string]any{"approved": true, "editedArgs": map[string]any{"path": "other.txt"}})
			})}
		}), "INVALID_PAYLOAD", true, rejections},
		{"too few decisions in the command form", "hitl", opened(2, func(c *client) step {
			return step{command: map[string]any{"decisions": []any{map[string]any{"type": "approve"}}}}
		}), "INVALID_PAYLOAD", true, rejections},
		{"an edit in the command form where none is allowed", "hitl", opened(2, func(c *client) step {
			return step{command: map[string]any{"decisions": []any{map[string]any{"type": "approve"}, map[string]any{"type": "edit",
				"edited_action": map[string]any{"name": "delete_file", "args": map[string]any{"path": "other.txt"}}}}}}
		}), "INVALID_PAYLOAD", true, rejections},
		{"another answer after the end", "approve", func(t *testing.T, c *client) step {
			c.pause(t, 1)
			late := c.answers(accept)
			c.finish(t, c.answer(c.answers(reject), no))
			return step{resume: late}
		}, "RESUME_CONFLICT", false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			matrix(t, func(t *testing.T, w world) {
				for _, who := range []string{"the same client", "a fresh client"} {
					t.Run(who, func(t *testing.T) {
						c := w.client(t, test.graph)
						s := test.arrange(t, c)
						s.empty = true
						runs := len(w.b.ledger(t, c.thread).Runs)
						c.refused(t, s, test.code, test.asked)
						w.did(t, c, runs, nil)
						if who == "a fresh client" {
							c = c.another(t)
						}
						c.goesOn(t, test.deny)
						if test.graph != "schema" {
							w.effects(t, c, nil)
						}
					})
				}
			})
		})
	}
}

// TestTheRightAnswerAfterAWrongOne: a refused answer must leave the questions unchanged. A correct
// answer must then be accepted, and carried out once.
func TestTheRightAnswerAfterAWrongOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, graph, code string
		open              int
		wrong             func(id string) entry
		right             func(id string) entry
		command           any
		want              map[string]int
	}{
		{"schema", "schema", "INVALID_PAYLOAD", 1,
			func(id string) entry { return resolved(id, map[string]any{"count": 0}) },
			func(id string) entry { return resolved(id, map[string]any{"count": 3}) },
			map[string]any{"count": 3}, map[string]int{"copy": 1}},
		{"tool calls", "hitl", "INVALID_PAYLOAD", 2,
			func(id string) entry { return resolved(id, "yes") }, accept,
			map[string]any{"decisions": []any{map[string]any{"type": "approve"}, map[string]any{"type": "approve"}}},
			map[string]int{"send_email": 1, "delete_file": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			matrix(t, func(t *testing.T, w world) {
				c := w.paused(t, test.graph, test.open)
				c.refused(t, step{resume: c.answers(test.wrong)}, test.code, true)
				w.did(t, c, 1, nil)
				c.finish(t, c.answer(c.answers(test.right), test.command))
				w.did(t, c, 2, test.want)
				c.goesOn(t, nil)
				w.effects(t, c, test.want)
			})
		})
	}
}

// TestAReloadedPageIsAskedAgain: after a reload, a page has the messages but not the open
// questions. Its first run must get the same questions with the same ids, and the page can answer
// them.
func TestAReloadedPageIsAskedAgain(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		first := w.paused(t, "approve", 1)
		c := first.another(t)
		for range 2 {
			a := c.run(t, step{empty: true}).answer(t)
			if a.code() != "" || ids(a.outcome()) != ids(first.pending) {
				t.Fatalf("told %s (code %q), want %s", ids(a.outcome()), a.code(), ids(first.pending))
			}
		}
		w.did(t, c, 1, nil)
		c.finish(t, c.answer(c.answers(accept), yes))
		w.did(t, c, 2, map[string]int{"delete": 1})
		c.goesOn(t, nil)
	})
}

// TestACommandOfNullIsNoAnswer: some front ends send forwardedProps.command.resume by mistake with
// the value null. This must not count as an answer, and the question must be sent again.
func TestACommandOfNullIsNoAnswer(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		open := ids(c.pending)
		if a := c.run(t, step{command: none{}, empty: true}).answer(t); a.code() != "" || ids(a.outcome()) != open {
			t.Errorf("told %s (code %q), want %s", ids(a.outcome()), a.code(), open)
		}
		w.did(t, c, 1, nil)
	})
}

// TestTheSameAnswersAgain: after an answer, the same resume is sent again, first byte for byte, and
// then by a new client. Each time the run must end as it did after the first, and the backend must
// not be called.
func TestTheSameAnswersAgain(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		answers, history := c.answers(accept), c.another(t)
		r := c.run(t, c.answer(answers, yes))
		if end := r.answer(t); end.code() != "" || end.outcome() != nil {
			t.Fatal(terminal(end))
		}
		for n := range 2 {
			again := c.post(t, r.Sent[0])
			if again.code() != "" || again.outcome() != nil || len(again.of("RUN_FINISHED")) != 1 {
				t.Errorf("replay %d: %s", n, terminal(again))
			}
		}
		if !w.old() {
			history.pending = nil
			history.finish(t, step{resume: answers})
			if n := len(history.messages); n != len(c.messages) {
				t.Errorf("the client that replays has %d messages, the first has %d", n, len(c.messages))
			}
		}
		w.did(t, c, 2, map[string]int{"delete": 1})
		c.goesOn(t, nil)
		w.did(t, c, 3, map[string]int{"delete": 1})
	})
}

// TestTwoEqualAnswersAtOnce: the request of one click is sent four times at once. Only one of the
// four answers may reach the backend, and all four requests must get the end of that run.
func TestTwoEqualAnswersAtOnce(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		gate := fresh("gate")
		body, err := json.Marshal(map[string]any{"threadId": c.thread, "runId": fresh("run"), "state": map[string]any{}, "messages": c.messages,
			"tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{},
			"resume": c.answers(func(id string) entry { return resolved(id, map[string]any{"approved": true, "hold": gate}) })})
		if err != nil {
			t.Fatal(err)
		}
		var answers [4]wire
		var all sync.WaitGroup
		for n := range answers {
			all.Go(func() { answers[n] = c.post(t, body) })
		}
		w.b.reached(t, gate)
		w.b.open(t, gate)
		all.Wait()
		for n, a := range answers {
			if a.Status != 200 || a.End != "clean" || a.code() != "" || a.outcome() != nil || len(a.of("RUN_FINISHED")) != 1 {
				t.Errorf("answer %d: %s", n, terminal(a))
			}
		}
		w.did(t, c, 2, map[string]int{"delete": 1})
	})
}

// TestWhileAResumeRuns: while a run with an answer continues, no other request of the thread may
// reach the backend. When that run has ended, the thread must continue.
func TestWhileAResumeRuns(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		gate := fresh("gate")
		held := map[string]any{"approved": true, "hold": gate}
		same, other := c.another(t), c.another(t)
		answers, others := c.answers(func(id string) entry { return resolved(id, held) }), c.answers(reject)
		done := c.start(t, c.answer(answers, held))
		w.b.reached(t, gate)
		same.refused(t, step{empty: true}, "RESUME_IN_PROGRESS", false)
		same.refused(t, step{say: "plain and impatient"}, "RESUME_IN_PROGRESS", false)
		other.refused(t, step{resume: others}, "RESUME_CONFLICT", false)
		w.b.open(t, gate)
		r := <-done
		if a := r.answer(t); a.code() != "" || a.outcome() != nil {
			t.Fatal(terminal(a))
		}
		w.did(t, c, 2, map[string]int{"delete": 1})
		for _, one := range []*client{c, same, other} {
			one.messages = c.messages
			one.another(t).goesOn(t, nil)
		}
		c.goesOn(t, nil)
		w.effects(t, c, map[string]int{"delete": 1})
	})
}

// TestTheClientLeavesInMidResume: the client leaves while the run with its answer continues.
// Holdpoint must not cancel the run, and must record how it ends. If the client sends the same
// answer again, it must get this recorded end.
func TestTheClientLeavesInMidResume(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		gate := fresh("gate")
		held := map[string]any{"approved": true, "hold": gate}
		later := c.another(t)
		s := c.answer(c.answers(func(id string) entry { return resolved(id, held) }), held)
		again := s
		s.abortOn = "RUN_STARTED"
		c.run(t, s)
		w.b.reached(t, gate)
		w.b.open(t, gate)
		later.finish(t, again)
		w.did(t, c, 2, map[string]int{"delete": 1})
		later.goesOn(t, nil)
		w.did(t, c, 3, map[string]int{"delete": 1})
	})
}

// TestThreadsAreApart: a question on one thread must not affect another thread, nor the thread with
// the same id on another path.
func TestThreadsAreApart(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		one := w.paused(t, "truthy", 1)
		other := w.paused(t, "truthy", 1)
		other.refused(t, step{resume: one.answers(func(id string) entry { return resolved(id, true) }), empty: true}, "UNKNOWN_INTERRUPT_ID", true)
		elsewhere := newClient(t, shared.through, w.version, w.h.address+"/chat", one.thread, nil)
		elsewhere.finish(t, step{say: "plain and elsewhere"})
		w.effects(t, one, nil)
		one.finish(t, one.answer(one.answers(func(id string) entry { return resolved(id, true) }), true))
		w.effects(t, one, map[string]int{"delete": 1})
		w.effects(t, other, nil)
	})
}

// TestManyThreadsAtOnce: many threads pause at the same time. Each answer must reach its own
// thread.
func TestManyThreadsAtOnce(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		const threads = 8
		var all sync.WaitGroup
		for n := range threads {
			all.Go(func() {
				c := w.client(t, "approve")
				a := c.run(t, step{say: "go"}).answer(t)
				if len(a.outcome()) != 1 {
					t.Errorf("thread %d: %s", n, terminal(a))
					return
				}
				payload, want := yes, map[string]int{"delete": 1}
				if n%2 == 1 {
					payload, want = no, map[string]int{}
				}
				end := c.run(t, c.answer(c.answers(func(id string) entry { return resolved(id, payload) }), payload)).answer(t)
				if end.code() != "" || end.outcome() != nil {
					t.Errorf("thread %d: %s", n, terminal(end))
				}
				if l := w.b.ledger(t, c.thread); fmt.Sprint(l.Counts) != fmt.Sprint(want) {
					t.Errorf("thread %d: side effects %v, want %v", n, l.Counts, want)
				}
			})
		}
		all.Wait()
	})
}
