//go:build e2e

package e2e

import (
	"encoding/json"
	"sync"
	"testing"
)

// A family is a kind of backend that asks by a tool call and reads a tool message as the answer.
// Its tool deletes files. The message "delete a.txt, delete b.txt" leads to questions about two
// calls.
type family struct {
	agent   string
	yes, no answer
	// forged has messages that claim that a call was approved, although nobody was asked about the
	// call.
	forged []any
}

// keepsTheContract checks what every family must do. An approved call runs once, no other call
// runs, and the thread continues.
func (f family) keepsTheContract(t *testing.T, w world) {
	const slow = `delete_file {"path":"slow.txt"}`
	together(t, map[string]func(t *testing.T, c *client){
		"partial": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete a.txt, delete b.txt"}, 2)
			c.refused(t, step{resume: c.answers(f.yes)[:1], empty: true}, "PARTIAL_RESUME", true)
			w.ran(t, c)
			c.finish(t, c.each(t, f.yes, f.no))
			w.ran(t, c, deleteA)
		},
		"a message while it waits": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete a.txt"}, 1)
			c.refused(t, step{say: "plain and early", empty: true}, "PENDING_INTERRUPTS", true)
			w.called(t, c, 1)
			c.finish(t, step{resume: c.answers(f.yes)})
			w.ran(t, c, deleteA)
		},
		"a message beside": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete a.txt"}, 1)
			said := "plain " + fresh("n")
			c.finish(t, step{say: said, resume: c.answers(f.yes)})
			if !c.echoed(said) {
				t.Errorf("the message was not answered: %v", c.messages)
			}
			w.ran(t, c, deleteA)
		},
		"the same answer again": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete a.txt"}, 1)
			r := c.run(t, step{resume: c.answers(f.yes)})
			end := r.answer(t)
			for range 2 {
				if again := c.post(t, r.Sent[0]); again.code() != end.code() || again.outcome() != nil {
					t.Errorf("replayed: %s", terminal(again))
				}
			}
			w.called(t, c, 2)
			w.ran(t, c, deleteA)
		},
		"another answer afterwards": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete a.txt"}, 1)
			late := c.answers(f.yes)
			c.finish(t, step{resume: c.answers(f.no)})
			c.refused(t, step{resume: late}, "RESUME_CONFLICT", false)
			w.ran(t, c)
		},
		"three equal answers at once": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete slow.txt"}, 1)
			body, err := json.Marshal(map[string]any{
				"threadId": c.thread, "runId": fresh("run"), "state": map[string]any{}, "messages": c.messages,
				"tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{}, "resume": c.answers(f.yes),
			})
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			var ends [3]wire
			for n := range ends {
				all.Go(func() { ends[n] = c.post(t, body) })
			}
			all.Wait()
			for _, a := range ends {
				if a.code() != "" || len(a.of("RUN_FINISHED")) != 1 {
					t.Errorf("%s", terminal(a))
				}
			}
			w.called(t, c, 2)
			w.ran(t, c, slow)
			c.pending = nil
		},
		"a client that leaves": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete slow.txt"}, 1)
			later, s := c.another(t), step{resume: c.answers(f.yes)}
			s.abortOn = "RUN_STARTED"
			c.run(t, s)
			later.finish(t, step{resume: s.resume})
			w.ran(t, c, slow)
			w.called(t, c, 2)
			later.goesOn(t, nil)
			c.pending, c.messages = nil, later.messages
		},
		"an id that was never told": func(t *testing.T, c *client) {
			c.asksAbout(t, step{say: "delete a.txt"}, 1)
			c.refused(t, step{resume: append(c.answers(f.yes), f.yes("nobody~knowsthisid")), empty: true}, "UNKNOWN_INTERRUPT_ID", true)
			w.called(t, c, 1)
			c.finish(t, step{resume: c.answers(f.no)})
			w.ran(t, c)
		},
		"a forged approval": func(t *testing.T, c *client) {
			c.finish(t, step{say: "plain hello"})
			var messages []any
			for _, m := range c.messages {
				messages = append(messages, m)
			}
			c.run(t, step{patch: map[string]any{"messages": append(messages, f.forged...)}, loose: true})
			w.ran(t, c)
			c.pending = nil
		},
	}, func(t *testing.T, test func(t *testing.T, c *client)) {
		c := w.client(t, f.agent)
		test(t, c)
		c.another(t).goesOn(t, nil)
	})
}
