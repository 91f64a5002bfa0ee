//go:build e2e

package e2e

import (
	"slices"
	"testing"
)

// Tests of ag_ui_strands, the AG-UI adapter of Strands in Python: 0.3.0 with strands-agents 1.40.0,
// and 1.0.2 with 1.62.0. Holdpoint runs without any setting for it.

// eachAdapter runs test with this agent in each version of the adapter, each time with one version
// of the client.
func eachAdapter(t *testing.T, agent string, test func(t *testing.T, w world)) {
	t.Helper()
	for n, s := range shared.strandsPy {
		// The version of the client depends on the version of the adapter and on the length of the
		// agent's name.
		version := []string{newest, pinned}[(n+len(agent)/2)%2]
		t.Run(s.version+"/"+agent+"/client-"+version, func(t *testing.T) {
			t.Parallel()
			h := *shared.auto
			h.address += "/" + s.version + "/agui"
			test(t, world{b: &backend{name: s.version + " " + agent, mode: "agui/" + agent, server: s}, h: &h, version: version})
		})
	}
}

// adapted returns a client on a new thread, and creates the thread's folder with its files.
func (w world) adapted(t *testing.T, agent string) *client {
	t.Helper()
	c := w.client(t, agent)
	w.folder(t, c.thread)
	return c
}

// TestStrandsPythonAdapterApprovals tests two agents: one with the adapter's own gate, and one with
// a hook that reads the adapter's envelope, which is the object around each answer.
func TestStrandsPythonAdapterApprovals(t *testing.T) {
	t.Parallel()
	round := func(answers ...answer) []answer { return answers }
	for _, test := range []struct {
		name, command string
		rounds        [][]answer
		want          []string
	}{
		{"approved", "delete a.txt", [][]answer{round(accept)}, []string{"a.txt"}},
		{"denied", "delete a.txt", [][]answer{round(reject)}, nil},
		{"cancelled", "delete a.txt", [][]answer{round(cancelled)}, nil},
		{"the first of two", "pair a.txt b.txt", [][]answer{round(accept, cancelled)}, []string{"a.txt"}},
		{"the second of two", "pair a.txt b.txt", [][]answer{round(reject, accept)}, []string{"b.txt"}},
		{"again", "each a.txt b.txt", [][]answer{round(accept), round(reject)}, []string{"a.txt"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, agent := range []string{"gate", "hook"} {
				eachAdapter(t, agent, func(t *testing.T, w world) {
					c := w.adapted(t, agent)
					s := c.wants(test.command)
					for n, answers := range test.rounds {
						c.gated(t, s, len(answers))
						if n == 0 {
							w.gone(t, c)
						}
						s = c.each(t, answers...)
					}
					c.finish(t, s)
					w.gone(t, c, test.want...)
					c.goesOn(t, nil)
					w.gone(t, c, test.want...)
				})
			}
		})
	}
}

// gated runs s and expects n questions. Each question must have a text, and be about a call that
// the client has.
func (c *client) gated(t *testing.T, s step, n int) {
	t.Helper()
	a := c.run(t, s).answer(t)
	if len(a.outcome()) != n || a.code() != "" {
		t.Fatalf("asked for %d things, want %d: %s", len(a.outcome()), n, terminal(a))
	}
	for _, i := range c.pending {
		if !slices.Contains(calls(c.messages), i.str("toolCallId")) || i.str("message") == "" || i.str("reason") == "" {
			t.Errorf("asked with %v", i)
		}
	}
}

// TestStrandsPythonAdapterAsks: a tool asks a question itself. It must get the answer unchanged,
// inside the adapter's envelope.
func TestStrandsPythonAdapterAsks(t *testing.T) {
	t.Parallel()
	eachAdapter(t, "hook", func(t *testing.T, w world) {
		c := w.adapted(t, "hook")
		c.gated(t, c.wants("ask"), 1)
		if i := c.pending[0]; i.str("message") != "Which environment?" || i["responseSchema"] != nil {
			t.Errorf("asked with %v", i)
		}
		c.finish(t, c.each(t, gives("production")))
		w.ran(t, c, `ask_user {"answer":{"response":"production"}}`)
		c.goesOn(t, nil)
	})
	eachAdapter(t, "gate", func(t *testing.T, w world) {
		c := w.adapted(t, "gate")
		c.gated(t, c.wants("twice"), 1)
		c.gated(t, c.each(t, gives("staging")), 1)
		c.finish(t, c.each(t, gives(map[string]any{"sure": true})))
		w.ran(t, c, `ask_twice {"first":{"response":"staging"},"second":{"response":{"sure":true}}}`)
		c.goesOn(t, nil)
	})
}

// TestStrandsPythonAdapterKeepsTheContract: a request that the contract forbids must not reach the
// adapter, and must leave the pause unchanged.
func TestStrandsPythonAdapterKeepsTheContract(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"gate", "hook"} {
		eachAdapter(t, agent, func(t *testing.T, w world) {
			c := w.adapted(t, agent)
			c.gated(t, c.wants("pair a.txt b.txt"), 2)
			for _, refusal := range []struct {
				code  string
				wrong step
			}{
				{"PARTIAL_RESUME", step{resume: []entry{accept(c.pending[0].str("id"))}}},
				{"PARTIAL_RESUME", step{patch: map[string]any{"resume": []any{}}}},
				{"UNKNOWN_INTERRUPT_ID", step{resume: append(c.answers(accept), accept("nobody~knowsthisid"))}},
				{"INVALID_PAYLOAD", step{resume: c.answers(gives(map[string]any{"approved": "yes"}))}},
				{"PENDING_INTERRUPTS", c.wants("plain, but too early")},
			} {
				refusal.wrong.empty = true
				c.refused(t, refusal.wrong, refusal.code, true)
			}
			w.called(t, c, 1)
			c.finish(t, c.each(t, accept, reject))
			w.gone(t, c, "a.txt")
			c.goesOn(t, nil)
			w.gone(t, c, "a.txt")
		})
	}
}

// TestStrandsPythonAdapterIsNotToldTheSameAnswersTwice: the same answers are sent again. Their run
// must end as the first run did, and the adapter must not be called.
func TestStrandsPythonAdapterIsNotToldTheSameAnswersTwice(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"gate", "hook"} {
		eachAdapter(t, agent, func(t *testing.T, w world) {
			c := w.adapted(t, agent)
			c.gated(t, c.wants("delete a.txt"), 1)
			late := c.answers(reject)
			r := c.run(t, c.each(t, accept))
			if end := r.answer(t); end.code() != "" || end.outcome() != nil {
				t.Fatal(terminal(end))
			}
			for n := range 2 {
				if again := c.post(t, r.Sent[0]); again.code() != "" || again.outcome() != nil || len(again.of("RUN_FINISHED")) != 1 {
					t.Errorf("replay %d: %s", n, terminal(again))
				}
			}
			c.refused(t, step{resume: late}, "RESUME_CONFLICT", false)
			w.called(t, c, 2)
			w.gone(t, c, "a.txt")
			c.goesOn(t, nil)
		})
	}
}

// TestStrandsPythonAdapterBeforeTheDocumentedHook: behind the adapter, the documented hook gets an
// object for every answer, so it fails. Nothing may run, and the client must get an error.
func TestStrandsPythonAdapterBeforeTheDocumentedHook(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
	}{{"approved", accept}, {"the word for yes", gives("y")}, {"cancelled", cancelled}} {
		t.Run(test.name, func(t *testing.T) {
			eachAdapter(t, "docs", func(t *testing.T, w world) {
				c := w.adapted(t, "docs")
				c.gated(t, c.wants("delete a.txt"), 1)
				if a := c.run(t, c.each(t, test.answer)).answer(t); a.code() == "" || a.outcome() != nil {
					t.Errorf("a hook that failed is told as %s", terminal(a))
				}
				w.gone(t, c)
			})
		})
	}
}
