//go:build e2e

package e2e

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStrandsModelFails: an exception in the model must become one RUN_ERROR, in each form of the
// stream, and the thread must continue.
func TestStrandsModelFails(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"sse/hook", "ndjson/hook", "agui/hook"}, func(t *testing.T, w world) {
		both(t, func(t *testing.T, next func(*client) *client) {
			c := w.person(t)
			if a := c.run(t, c.wants("fail")).answer(t); len(a.of("RUN_ERROR")) != 1 || a.outcome() != nil {
				t.Errorf("answer: %s", terminal(a))
			}
			c = next(c)
			c.goesOn(t, nil)
		})
	})
}

// TestStrandsToolFails: a tool fails. As any other tool, it must have a result.
func TestStrandsToolFails(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"sse/hook", "ndjson/hook", "agui/hook"}, func(t *testing.T, w world) {
		c := w.person(t)
		c.finish(t, c.wants("boom"))
		w.kept(t, c)
	})
}

// TestStrandsAnswersWithoutAStream: a server that does not stream loses the question. The client
// must get an error that says so, and never a success.
func TestStrandsAnswersWithoutAStream(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"json/hook"}, func(t *testing.T, w world) {
		c := w.person(t)
		if a := c.run(t, c.wants("delete a.txt")).answer(t); a.code() != "STRANDS_INTERRUPT_LOST" || a.outcome() != nil {
			t.Errorf("answer: %s", terminal(a))
		}
		w.deleted(t, c)
	})
}

// TestStrandsAgentForEachRequest: the server makes a new agent for each request, as in Strands'
// Express example. This agent does not know the question. It calls its model again, which looks
// like a success, so Holdpoint must report that the question is lost.
func TestStrandsAgentForEachRequest(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]answer{"approved": accept, "denied": reject, "cancelled": cancelled} {
		t.Run(name, func(t *testing.T) {
			eachStrands(t, []string{"fresh/hook"}, func(t *testing.T, w world) {
				both(t, func(t *testing.T, next func(*client) *client) {
					c := w.person(t)
					c.waits(t, c.wants("delete a.txt"), 1)
					a := c.run(t, step{resume: c.answers(answer)}).answer(t)
					if a.code() != "BACKEND_LOST_INTERRUPT" || a.outcome() != nil {
						t.Errorf("answer: %s", terminal(a))
					}
					c = next(c)
					c.goesOn(t, nil)
					w.deleted(t, c)
				})
			})
		})
	}
}

// Tests in which the backend dies.

// mortalStrands starts a server that the test may kill. It also starts a Holdpoint in front of this
// server's mode.
func mortalStrands(t *testing.T, mode string) world {
	t.Helper()
	s, err := startServer(shared.strands.server.stack, filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill() })
	w := world{b: &backend{name: mode + "-mortal", mode: mode, server: s}, version: newest}
	var env map[string]string
	if w.raw() {
		env = asStrands()
	}
	w.h = ownHoldpoint(t, s.base(), env)
	return w
}

// TestStrandsIsRestarted: the server is restarted between the pause and the answer. With a session
// manager the answer must work. Without one the question is lost: the client must be told this,
// nothing may run, and the thread must continue.
func TestStrandsIsRestarted(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"saved/hook", "sse/hook", "agui/hook"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := mortalStrands(t, mode)
			var clients []*client
			for _, w.version = range []string{newest, pinned} {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt and delete b.txt"), w.visible())
				clients = append(clients, c)
			}
			w.b.server.crash()
			w.b.server.back(t)
			for _, c := range clients {
				if mode == "saved/hook" {
					c.decides(t, reject, "a.txt")
					w.kept(t, c, "a.txt")
					continue
				}
				if a := c.run(t, step{resume: c.answers(accept)}).answer(t); a.code() != "BACKEND_LOST_INTERRUPT" || a.outcome() != nil {
					t.Errorf("client %s: the answer to a lost question was met with %s", c.version, terminal(a))
				}
				c.goesOn(t, nil)
				w.deleted(t, c)
			}
		})
	}
}

// TestStrandsDiesInMidResume: the backend dies while an approved tool runs, so it is unknown
// whether the tool did its work. The client must be told this. The answer must not be sent again,
// and the thread must continue.
func TestStrandsDiesInMidResume(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sse/hook", "ndjson/hook", "agui/hook"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := mortalStrands(t, mode)
			c := w.person(t)
			c.waits(t, c.wants("delete a.txt then wait slow"), 1)
			s := step{resume: c.answers(accept)}
			end := c.start(t, s)
			w.b.reached(t, "slow")
			w.b.server.crash()
			if a := (<-end).answer(t); a.code() != "UPSTREAM_EOF" || a.outcome() != nil {
				t.Errorf("answer: %s", terminal(a))
			}
			w.b.server.back(t)
			s.empty = true
			c.refused(t, s, "RESUME_IN_DOUBT", false)
			w.deleted(t, c, "a.txt")
			c.goesOn(t, nil)
			w.deleted(t, c, "a.txt")
		})
	}
}

// TestHoldpointForgetsWhatStrandsAsked: Holdpoint has its store in memory and is restarted while
// Strands waits. An answer must be refused, and nothing may run. If the agent refuses the next
// message with an event, Holdpoint must report the client's question as lost, and the client's
// cancel frees the chat. If the agent only cuts off its stream, the chat stays locked.
func TestHoldpointForgetsWhatStrandsAsked(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"sse/hook", "ndjson/hook", "agui/hook"}, func(t *testing.T, w world) {
		env := map[string]string{}
		if w.raw() {
			env = asStrands()
		}
		c := w.person(t)
		c.waits(t, c.wants("delete a.txt"), 1)
		after := ownHoldpoint(t, shared.strands.server.base(), env)
		n := newClient(t, c.d, c.version, after.address+"/"+w.b.mode, c.thread, c.messages)
		n.refused(t, step{resume: c.answers(accept), empty: true}, "UNKNOWN_INTERRUPT_ID", false)
		w.called(t, c, 1)
		if w.b.mode == "sse/hook" {
			n.goesOn(t, nil)
		} else if a := n.run(t, step{say: "plain"}).answer(t); a.code() != map[string]string{"ndjson/hook": "UPSTREAM_EOF", "agui/hook": "ADAPTER_BUG"}[w.b.mode] {
			t.Errorf("a new message was met with %s", terminal(a))
		}
		w.deleted(t, c)
	})
}

// Tests in which a client leaves.

// leaves sends the run s. When a tool waits at the gate, leaves closes the connection, and then
// opens the gate. When Holdpoint has finished the run, leaves returns a new client on the thread.
func (c *client) leaves(t *testing.T, w world, s step, gate string) *client {
	t.Helper()
	messages := slices.Clone(c.messages)
	if s.say != "" {
		messages = append(messages, event{"id": fresh("user"), "role": "user", "content": s.say})
	}
	run := fresh("run")
	body := map[string]any{"threadId": c.thread, "runId": run, "state": map[string]any{}, "messages": messages,
		"tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{}}
	if s.resume != nil {
		body["resume"] = s.resume
	}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(text(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if res, err := http.DefaultClient.Do(req); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}()
	w.b.reached(t, gate)
	hangUp()
	<-gone
	w.b.open(t, gate)
	if !eventually(func() bool {
		_, ended := w.h.log.find(func(line string) bool { return contains(line, `"run ended"`, run) })
		return ended
	}) {
		t.Fatal("Holdpoint is not done with the run that was left")
	}
	return newClient(t, c.d, c.version, c.url, c.thread, messages)
}

// TestStrandsAsksAClientThatLeft: the client leaves before the question arrives. A native server
// continues and asks, but has no endpoint that returns its open question. So Holdpoint must record
// the question, and the next client must get it.
func TestStrandsAsksAClientThatLeft(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"sse/hook", "ndjson/hook", "sse/graph"}, func(t *testing.T, w world) {
		first, gate := w.person(t), fresh("gate")
		c := first.leaves(t, w, first.wants("wait "+gate+" then delete a.txt"), gate)
		c.waits(t, step{empty: true}, 1)
		w.deleted(t, c)
		c.decides(t, reject, "a.txt")
		w.deleted(t, c, "a.txt")
		c.goesOn(t, nil)
	})
}

// TestAwsStrandsRunsNothingForAClientThatLeft: the client leaves, and the adapter stops the run.
// Nothing may run without a question. If the adapter is too late to stop its agent, the agent waits
// for an answer that the adapter cannot send to it. Then the thread accepts nothing any more.
func TestAwsStrandsRunsNothingForAClientThatLeft(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"agui/hook", "agui/sequential"}, func(t *testing.T, w world) {
		first, gate := w.person(t), fresh("gate")
		c := first.leaves(t, w, first.wants("wait "+gate+" and delete a.txt"), gate)
		c.run(t, step{say: "plain", loose: true})
		w.deleted(t, c)
	})
}

// TestStrandsGoesOnWithoutTheClientThatAnswered: the client leaves after its answer was accepted.
// The run must continue, and the next client must get the next question.
func TestStrandsGoesOnWithoutTheClientThatAnswered(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"sse/hook", "ndjson/hook", "saved/hook", "agui/hook"}, func(t *testing.T, w world) {
		first, gate := w.person(t), fresh("gate")
		first.waits(t, first.wants("delete a.txt then wait "+gate+" then delete b.txt"), 1)
		c := first.leaves(t, w, step{resume: first.answers(accept)}, gate)
		c.waits(t, step{empty: true}, 1)
		w.deleted(t, c, "a.txt")
		c.decides(t, cancelled)
		w.deleted(t, c, "a.txt")
		c.goesOn(t, nil)
		w.deleted(t, c, "a.txt")
	})
}

// TestStrandsIsAnsweredTwiceAtOnce: two pages send the same answer at the same time. The approved
// action must run once.
func TestStrandsIsAnsweredTwiceAtOnce(t *testing.T) {
	t.Parallel()
	eachStrands(t, []string{"sse/hook", "ndjson/hook", "agui/hook"}, func(t *testing.T, w world) {
		one := w.person(t)
		one.waits(t, one.wants("delete a.txt then delete b.txt"), 1)
		two := one.another(t)
		s := step{resume: one.answers(accept)}
		first, second := one.start(t, s), two.start(t, s)
		<-first
		<-second
		w.deleted(t, one, "a.txt")
	})
}
