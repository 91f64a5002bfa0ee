//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStrandsPythonModelFails: an exception in the model must become one RUN_ERROR, and the thread
// must continue.
func TestStrandsPythonModelFails(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs", "fastapi/sse"}, func(t *testing.T, w world) {
		both(t, func(t *testing.T, next func(*client) *client) {
			c := w.clerk(t)
			if a := c.run(t, c.wants("boom")).answer(t); len(a.of("RUN_ERROR")) != 1 || a.outcome() != nil {
				t.Errorf("answer: %s", terminal(a))
			}
			c = next(c)
			c.goesOn(t, nil)
			w.gone(t, c)
		})
	})
}

// TestStrandsPythonModelFailsAfterTheTool: the approved action has run, and then the model fails.
// The run must end in an error, and no later request may repeat the action.
func TestStrandsPythonModelFailsAfterTheTool(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs"}, func(t *testing.T, w world) {
		both(t, func(t *testing.T, next func(*client) *client) {
			c := w.clerk(t)
			c.asks(t, c.wants("boom-after a.txt"), 1)
			s := c.each(t, accept)
			if a := c.run(t, s).answer(t); a.code() == "" || a.code() == "BACKEND_LOST_INTERRUPT" || a.outcome() != nil {
				t.Errorf("answer: %s", terminal(a))
			}
			w.gone(t, c, "a.txt")
			c = next(c)
			s.empty = true
			if a := c.run(t, s).answer(t); a.code() == "" {
				t.Errorf("the same answer again ended well: %s", terminal(a))
			}
			w.called(t, c, 2)
			c.goesOn(t, nil)
			w.gone(t, c, "a.txt")
		})
	})
}

// Tests in which the server or Holdpoint dies.

// mortalStrandsPython runs test for each version. Each test gets a server that it may kill, and a
// function that returns the world of the test: that server in the mode place, with a Holdpoint of
// its own in front of it.
func mortalStrandsPython(t *testing.T, test func(t *testing.T, s *server, at func(place, version string) world)) {
	t.Helper()
	t.Parallel() // these tests mostly wait for processes to start
	for _, one := range shared.strandsPy {
		t.Run(one.version, func(t *testing.T) {
			t.Parallel()
			s, err := startServer(one.stack, filepath.Join(t.TempDir(), "ledger"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.kill() })
			h := ownHoldpoint(t, s.base(), named(t, ""))
			test(t, s, func(place, version string) world {
				return world{b: &backend{name: s.version + " " + place + " (mortal)", mode: place, server: s}, h: h, version: version}
			})
		})
	}
}

// A waiting is a client on a thread with an open question.
type waiting struct {
	w     world
	c     *client
	place string
}

// waits makes two threads pause at each of these places, one for each version of the client.
func waits(t *testing.T, at func(place, version string) world, command string, open int, places ...string) []waiting {
	t.Helper()
	var all []waiting
	for _, name := range places {
		for _, version := range []string{newest, pinned} {
			w := at(name, version)
			c := w.clerk(t)
			c.asks(t, c.wants(command), open)
			all = append(all, waiting{w, c, name})
		}
	}
	return all
}

// TestStrandsPythonRestartBetweenPauseAndAnswer: a backend with a session manager is restarted
// while a question is open. The answer must work.
func TestStrandsPythonRestartBetweenPauseAndAnswer(t *testing.T) {
	mortalStrandsPython(t, func(t *testing.T, s *server, at func(place, version string) world) {
		one := waits(t, at, "delete a.txt", 1, "kept/docs", "entrypoint", "kept/trust")
		two := waits(t, at, "pair a.txt b.txt", 2, "kept/docs")
		asked := waits(t, at, "ask", 1, "kept/docs")
		node := waits(t, at, "delete a.txt", 1, "kept/graph")
		s.crash()
		s.back(t)
		for n, one := range one {
			one.c.finish(t, one.c.each(t, []answer{accept, cancelled}[n%2]))
			one.w.done(t, one.c, []string{"a.txt"}[:1-n%2]...)
		}
		for _, two := range two {
			two.c.finish(t, two.c.each(t, reject, accept))
			two.w.done(t, two.c, "b.txt")
		}
		for _, asked := range asked {
			asked.c.finish(t, asked.c.each(t, gives("production")))
			asked.w.ran(t, asked.c, `ask_user {"answer":"production"}`)
		}
		for _, node := range node {
			node.c.asks(t, node.c.each(t, accept), 1)
			node.c.finish(t, node.c.each(t, accept))
			node.w.gone(t, node.c, "a.txt")
		}
	})
}

// TestStrandsPythonForgetThePause: the backend has no session manager, so a restart loses the
// pause. The client must be told this, nothing may run, and the thread must continue.
func TestStrandsPythonForgetThePause(t *testing.T) {
	mortalStrandsPython(t, func(t *testing.T, s *server, at func(place, version string) world) {
		answers := []answer{accept, cancelled}
		one := slices.Concat(waits(t, at, "delete a.txt", 1, "agentcore/docs"), waits(t, at, "hand a.txt", 1, "agentcore/boss"))
		two := waits(t, at, "pair a.txt b.txt", 2, "agentcore/docs")
		cut := waits(t, at, "delete a.txt", 1, "fastapi/sse", "fastapi/ndjson")
		nodes := waits(t, at, "delete a.txt", 1, "agentcore/graph", "agentcore/swarm")
		s.crash()
		s.back(t)
		next := func(n int, c *client) *client {
			if n%2 == 1 {
				return c.another(t)
			}
			return c
		}
		for n, one := range slices.Concat(one, two) {
			s := step{resume: one.c.answers(answers[(n/2+n)%2])}
			one.c.refused(t, s, "BACKEND_LOST_INTERRUPT", false)
			c := next(n, one.c)
			c.goesOn(t, nil)
			one.w.gone(t, c)
			complete(t, c.messages, calls(c.messages))
		}
		// A FastAPI server cannot report that it has lost the pause: it cuts off its stream.
		for n, one := range cut {
			if a := one.c.run(t, one.c.each(t, answers[(n/2+n)%2])).answer(t); a.code() == "" || a.outcome() != nil {
				t.Errorf("%s: the answer to a lost pause was met with %s", one.place, terminal(a))
			}
			c := next(n, one.c)
			c.goesOn(t, nil)
			one.w.gone(t, c)
		}
		// After a lost pause a swarm starts again and asks again. A graph reports that it failed.
		for n, one := range nodes {
			before := one.c.pending
			a := one.c.run(t, one.c.each(t, answers[(n/2+n)%2])).answer(t)
			if a.code() == "" && a.outcome() == nil {
				t.Errorf("%s: the answer to a lost pause was met with %s", one.place, terminal(a))
			}
			for _, i := range a.outcome() {
				if slices.ContainsFunc(before, func(old event) bool { return old.str("id") == i.str("id") }) {
					t.Errorf("%s: the lost pause is told as if it were open", one.place)
				}
			}
			one.w.gone(t, one.c)
		}
	})
}

// TestStrandsPythonDieInMidResume: the backend dies while an approved tool runs, so it is unknown
// whether the tool did its work. The client must be told this once. The answer must not be sent
// again, and nothing may run again without a new question.
func TestStrandsPythonDieInMidResume(t *testing.T) {
	mortalStrandsPython(t, func(t *testing.T, s *server, at func(place, version string) world) {
		var all []waiting
		for _, name := range []string{"agentcore/docs", "kept/docs"} {
			for _, version := range []string{newest, pinned} {
				w := at(name, version)
				c := w.clerk(t)
				gate := fresh("gate")
				c.asks(t, c.wants("slow "+gate+" a.txt"), 1)
				all = append(all, waiting{w, c, gate})
			}
		}
		steps, ends := make([]step, len(all)), make([]<-chan report, len(all))
		for n, one := range all {
			steps[n] = one.c.each(t, accept)
			ends[n] = one.c.start(t, steps[n])
		}
		for _, one := range all {
			one.w.b.reached(t, one.place)
		}
		s.crash()
		for _, end := range ends {
			if a := (<-end).answer(t); a.code() != "UPSTREAM_EOF" || a.outcome() != nil {
				t.Errorf("answer: %s", terminal(a))
			}
		}
		s.back(t)
		for n, one := range all {
			steps[n].empty = true
			one.c.refused(t, steps[n], "RESUME_IN_DOUBT", false)
			one.w.gone(t, one.c, "a.txt")
			one.c.goesOn(t, nil)
			one.w.gone(t, one.c, "a.txt")
		}
	})
}

// TestHoldpointForgetsAStrandsPythonPause: Holdpoint has its store in memory and is restarted while
// the backend waits. An answer must be refused, because Holdpoint does not know its question. When
// the client sends a message, Holdpoint must get the open question from the backend and ask it
// again. The backend must get the message after the answer.
func TestHoldpointForgetsAStrandsPythonPause(t *testing.T) {
	mortalStrandsPython(t, func(t *testing.T, s *server, at func(place, version string) world) {
		var all []waiting
		all = append(all, waits(t, at, "delete a.txt", 1, "agentcore/docs", "kept/docs", "entrypoint")...)
		pairs := waits(t, at, "pair a.txt b.txt", 2, "agentcore/docs", "kept/docs")
		asks := waits(t, at, "ask", 1, "agentcore/docs")
		batches := []waiting{}
		if s.has("agentcore/batch") {
			for range 2 {
				w := at("agentcore/batch", newest)
				c := w.clerk(t)
				c.run(t, c.wants("pair a.txt b.txt"))
				batches = append(batches, waiting{w, c, "agentcore/batch"})
			}
		}
		after := ownHoldpoint(t, s.base(), named(t, ""))
		moved := func(one waiting) *client {
			c := one.c
			c.d.call(t, "new", map[string]any{"client": c.name, "version": c.version, "url": after.address + placed(one.place), "threadId": c.thread, "messages": c.messages}, &struct{}{})
			c.refused(t, step{resume: c.answers(accept)}, "UNKNOWN_INTERRUPT_ID", false)
			one.w.called(t, c, 1)
			return c
		}
		again := func(c *client, n int) {
			t.Helper()
			a := c.run(t, step{say: "plain and patient", empty: true}).answer(t)
			if len(a.outcome()) != n {
				t.Fatalf("a message to a backend that waits was met with %s", terminal(a))
			}
		}
		for n, one := range all {
			c := moved(one)
			again(c, 1)
			one.w.gone(t, c)
			one.w.called(t, c, 3)
			c.finish(t, c.each(t, []answer{accept, cancelled}[n%2]))
			if !c.echoed("plain and patient") {
				t.Errorf("%s: the message was not answered: %v", one.place, indented(c.messages))
			}
			one.w.done(t, c, []string{"a.txt"}[:1-n%2]...)
		}
		for _, one := range pairs {
			c := moved(one)
			again(c, 2)
			one.w.gone(t, c)
			c.finish(t, c.each(t, reject, accept))
			one.w.done(t, c, "b.txt")
		}
		for _, one := range asks {
			c := moved(one)
			again(c, 1)
			c.finish(t, c.each(t, gives("production")))
			one.w.ran(t, c, `ask_user {"answer":"production"}`)
		}
		for _, one := range batches {
			c := moved(one)
			again(c, 1)
			c.finish(t, c.each(t, reject))
			one.w.gone(t, c)
		}
	})
}

// Tests of servers whose responses contain less than the whole stream.

// TestStrandsPythonQuickstart: the server of Strands' quick start returns only the last message. An
// ordinary response must become a complete run. A pause is not visible in such a response, so
// Holdpoint must report it as lost, and name the change that is needed.
func TestStrandsPythonQuickstart(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"quickstart"}, func(t *testing.T, w world) {
		c := w.clerk(t)
		c.goesOn(t, nil)
		for range 2 {
			a := c.run(t, c.wants("delete a.txt")).answer(t)
			if a.code() == "" || a.outcome() != nil {
				t.Fatalf("a lost pause ended with %s", terminal(a))
			}
			if said := terminal(a); !contains(said, "STRANDS_INTERRUPT_LOST", "stream_async", "yield event") {
				t.Errorf("a lost pause is told as %s", said)
			}
		}
		w.gone(t, c)
		complete(t, c.messages, calls(c.messages))
	})
}

// TestStrandsPythonText: a server that sends only text cannot show a question. If
// HOLDPOINT_STRANDS_FILE says that the server sends text, an agent that never asks must work.
// Without this setting, the client must get an error.
func TestStrandsPythonText(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"fastapi/text"}, func(t *testing.T, w world) {
		c := w.clerk(t)
		c.goesOn(t, nil)
		unnamed := strandsWorld(t, w.b.server, "fastapi/sse", w.version)
		c = newClient(t, shared.through, w.version, unnamed.h.address+placed("fastapi/text"), fresh("thread"), nil)
		if a := c.run(t, step{say: "plain and simple"}).answer(t); a.code() == "" {
			t.Errorf("plain text was taken for an answer: %s", terminal(a))
		}
	})
}

// TestStrandsPythonOwnRequests: a request in the backend's own form could answer a question that
// nobody has seen. So Holdpoint must let only AG-UI requests reach an agent. Requests to other
// paths must be forwarded.
func TestStrandsPythonOwnRequests(t *testing.T) {
	t.Parallel()
	eachStrandsPython(t, []string{"agentcore/docs", "kept/docs"}, func(t *testing.T, w world) {
		c := w.clerk(t)
		c.asks(t, c.wants("delete a.txt"), 1)
		native := publishedID.FindStringSubmatch(c.pending[0].str("id"))[1]
		for _, body := range []string{
			`{"prompt":[{"interruptResponse":{"interruptId":"` + native + `","response":"y"}}]}`,
			`{"prompt":[]}`,
			`[]`,
		} {
			if a := c.post(t, []byte(body)); a.Status == http.StatusOK {
				t.Errorf("%s was met with %d %s", body, a.Status, a.Text)
			}
		}
		w.called(t, c, 1)
		res, err := http.Get(c.url[:strings.LastIndex(c.url, "/")] + "/ping")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, _ := io.ReadAll(res.Body); !contains(string(body), `"Healthy"`) {
			t.Errorf("GET /ping: %s %s", res.Status, body)
		}
		c.finish(t, c.each(t, accept))
		w.done(t, c, "a.txt")
	})
}
