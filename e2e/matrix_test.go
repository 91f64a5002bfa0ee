//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
)

// A world is one case of the matrix: a backend, a Holdpoint in front of it, and a version of the
// client.
type world struct {
	b       *backend
	h       *holdpoint
	version string
}

// matrix runs test for every case of the matrix, in parallel.
func matrix(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	for _, b := range shared.backends {
		for _, version := range []string{newest, pinned, oldest} {
			t.Run(b.name+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				test(t, world{b: b, h: shared.proxies[b.name], version: version})
			})
		}
	}
}

// together runs the cases concurrently, at most eight at a time. The cases mostly wait for their
// backend. They are not parallel tests, so the limit of -parallel does not apply to them.
func together[T any](t *testing.T, cases map[string]T, run func(t *testing.T, c T)) {
	t.Helper()
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, 8)
	for name, c := range cases {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			t.Run(name, func(t *testing.T) { run(t, c) })
		})
	}
}

// client returns a new client on a new thread of a graph.
func (w world) client(t *testing.T, graph string) *client {
	t.Helper()
	return newClient(t, shared.through, w.version, w.h.address+"/"+graph, fresh("thread"), nil)
}

// old reports whether this version of the client cannot read interrupts. It gets the CUSTOM event
// on_interrupt instead, and answers in forwardedProps.command.resume.
func (w world) old() bool { return w.version == oldest }

// paused returns a new client after a run that asked n questions. They are still open.
func (w world) paused(t *testing.T, graph string, n int) *client {
	t.Helper()
	c := w.client(t, graph)
	c.pause(t, n)
	return c
}

// pause sends "go" and expects n interrupts.
func (c *client) pause(t *testing.T, n int) wire {
	t.Helper()
	a := c.run(t, step{say: "go"}).answer(t)
	if got := len(a.outcome()); got != n || a.code() != "" {
		t.Fatalf("paused with %d interrupts (code %q), want %d: %v", got, a.code(), n, a.kinds())
	}
	return a
}

// answer returns a step that answers in the form of this version of the client: the resume array,
// or forwardedProps.command.resume.
func (c *client) answer(entries []entry, command any) step {
	if c.version == oldest {
		return step{command: command}
	}
	return step{resume: entries}
}

// finish plays the step s, and expects that its run ends without an error and without interrupts.
func (c *client) finish(t *testing.T, s step) wire {
	t.Helper()
	a := c.run(t, s).answer(t)
	if a.code() != "" || a.outcome() != nil || len(a.of("RUN_FINISHED")) != 1 {
		t.Fatalf("the run ended with code %q and %d interrupts, want an ordinary end: %v\n%s", a.code(), len(a.outcome()), a.kinds(), terminal(a))
	}
	return a
}

// refused plays the step s, and expects a RUN_ERROR with this code. If asked is true, the same
// response must also report the interrupts that are open. If asked is false, it must report none.
func (c *client) refused(t *testing.T, s step, code string, asked bool) wire {
	t.Helper()
	before := ids(c.pending)
	a := c.run(t, s).answer(t)
	if a.code() != code {
		t.Fatalf("refused with code %q, want %s: %v\n%s", a.code(), code, a.kinds(), terminal(a))
	}
	if asked {
		if now := ids(a.outcome()); now != before {
			t.Errorf("the refusal asks for %s, open were %s", now, before)
		}
	} else if a.outcome() != nil {
		t.Errorf("the refusal asks for %s, nothing should be open", ids(a.outcome()))
	}
	return a
}

// goesOn checks that the thread still accepts messages. The client sends an ordinary message, and
// cancels each question that its library still lists as open. The backend must answer the message
// within two requests.
//
// deny is the payload with which the oldest client denies, because that client cannot cancel. If
// deny has the key "count", every client sends it instead of a cancel: the schema of that question
// accepts no denial, LangGraph has no cancel, and a value that does not fit would break the thread.
func (c *client) goesOn(t *testing.T, deny any) {
	t.Helper()
	said := "plain and simple " + fresh("n")
	first := c.run(t, c.denying(step{say: said}, deny)).answer(t)
	if c.echoed(said) {
		return
	}
	second := c.run(t, c.denying(step{}, deny)).answer(t)
	if !c.echoed(said) {
		t.Fatalf("an ordinary message was not answered within two requests:\n%s\n%s", terminal(first), terminal(second))
	}
}

// denying adds an answer to s that denies or cancels each open interrupt. For newer clients, the
// open interrupts are those in the list of the client's library. The oldest client has no such
// list: it denies if its last run ended with a question.
func (c *client) denying(s step, deny any) step {
	switch {
	case c.version == oldest && c.asked:
		s.command = deny
	case c.version != oldest && len(c.pending) > 0:
		s.resume = c.answers(cancelled)
		if m, ok := deny.(map[string]any); ok && m["count"] != nil {
			s.resume = c.answers(func(id string) entry { return resolved(id, deny) })
		}
	}
	return s
}

// echoed reports whether the client's messages contain the backend's reply to the message said.
func (c *client) echoed(said string) bool {
	for _, m := range c.messages {
		if m.str("role") == "assistant" && m.str("content") == "echo: "+said {
			return true
		}
	}
	return false
}

// did checks how many times the backend ran on the thread, and how often each side effect happened.
func (w world) did(t *testing.T, c *client, runs int, counts map[string]int) {
	t.Helper()
	l := w.b.ledger(t, c.thread)
	if len(l.Runs) != runs {
		t.Errorf("the backend was asked to run %d times, want %d", len(l.Runs), runs)
	}
	w.effects(t, c, counts)
}

// effects checks how often each side effect happened on the thread.
func (w world) effects(t *testing.T, c *client, counts map[string]int) {
	t.Helper()
	l := w.b.ledger(t, c.thread)
	if !maps.Equal(l.Counts, counts) {
		t.Errorf("side effects %v, want %v (nodes %v)", l.Counts, counts, l.Nodes)
	}
}

func ids(interrupts []event) string {
	var all []string
	for _, i := range interrupts {
		all = append(all, i.str("id"))
	}
	return fmt.Sprint(all)
}

func nativeID(i event) string {
	if m := publishedID.FindStringSubmatch(i.str("id")); m != nil {
		return m[1]
	}
	return ""
}

func terminal(w wire) string {
	var all []string
	for _, frame := range strings.Split(w.Text, "\n\n") {
		for _, kind := range []string{"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "CUSTOM"} {
			if strings.Contains(frame, `"type":"`+kind+`"`) {
				all = append(all, frame)
			}
		}
	}
	return fmt.Sprintf("%d %s: %s", w.Status, w.End, strings.Join(all, "\n  "))
}

// yes and no are the answers that the approval graphs expect.
var (
	yes = map[string]any{"approved": true}
	no  = map[string]any{"approved": false}
)

func accept(id string) entry { return resolved(id, yes) }
func reject(id string) entry { return resolved(id, no) }
