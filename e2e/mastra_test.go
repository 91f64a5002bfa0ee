//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// eachMastra runs test with @ag-ui/mastra 1.1.2 and each client that sends resume. This adapter
// sends the interrupt outcome and accepts resume. Holdpoint has no setting for Mastra.

func eachMastra(t *testing.T, mode string, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "mastra", "1.1.2")
	h := ownHoldpoint(t, s.base()+"/"+mode, nil)
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			test(t, world{b: &backend{name: "mastra " + mode, mode: mode, server: s}, h: h, version: version})
		})
	}
}

// TestMastraWantsAPayload: an approved action runs once. An answer without a payload is refused,
// because Mastra would ask the question again.
func TestMastraWantsAPayload(t *testing.T) {
	t.Parallel()
	const runs, denied, refused = "runs", "denied", "refused"
	for name, c := range map[string]struct {
		agent  string
		answer answer
		what   string
	}{
		"approved":                   {"agent", gives(map[string]any{"approved": true}), runs},
		"denied":                     {"agent", gives(map[string]any{"approved": false}), denied},
		"cancelled":                  {"agent", cancelled, denied},
		"nothing":                    {"agent", gives(nil), refused},
		"a text where it wants none": {"agent", gives("no"), refused},
		"a no in words":              {"agent", gives(map[string]any{"approved": "false"}), refused},
		"free, yes":                  {"free", gives("yes"), runs},
		"free, no":                   {"free", gives("no"), denied},
		"free, zero":                 {"free", gives(0), denied},
		"free, false":                {"free", gives(false), denied},
		"free, another object":       {"free", gives(map[string]any{"accepted": false}), denied},
		"free, cancelled":            {"free", cancelled, denied},
		"free, nothing":              {"free", gives(nil), refused},
	} {
		t.Run(name, func(t *testing.T) {
			eachMastra(t, "outcome", func(t *testing.T, w world) {
				cl := w.client(t, c.agent)
				cl.asksAbout(t, step{say: "delete a.txt"}, 1)
				if got := cl.pending[0].str("message"); !strings.HasPrefix(got, "Delete a.txt") {
					t.Errorf("asked with the words %q", got)
				}
				var want []string
				switch c.what {
				case refused:
					cl.refused(t, step{resume: cl.answers(c.answer)}, "INVALID_PAYLOAD", true)
					w.called(t, cl, 1)
					cl.finish(t, step{resume: cl.answers(cancelled)})
				case runs:
					want = []string{deleteA}
					fallthrough
				default:
					cl.finish(t, step{resume: cl.answers(c.answer)})
				}
				w.called(t, cl, 2)
				w.ran(t, cl, want...)
				cl.goesOn(t, nil)
				w.ran(t, cl, want...)
			})
		})
	}
}

// TestMastraTakesAMessageAfterTheAnswer: a request has an answer and a new message. Mastra must get
// the message after the answer, and reply to it.
func TestMastraTakesAMessageAfterTheAnswer(t *testing.T) {
	t.Parallel()
	eachMastra(t, "outcome", func(t *testing.T, w world) {
		c := w.client(t, "agent")
		c.asksAbout(t, step{say: "delete a.txt"}, 1)
		said := "plain " + fresh("n")
		c.finish(t, step{say: said, resume: c.answers(gives(map[string]any{"approved": true}))})
		if !c.echoed(said) {
			t.Errorf("the message was not answered: %v", c.messages)
		}
		w.ran(t, c, deleteA)
		w.called(t, c, 3)
	})
}

// TestMastraAnswersOneByOne: several tools wait at the same time, but Mastra reads only one answer
// of a request. So Holdpoint must send each answer once, in a request of its own. The last response
// to the client must contain the results of all tools.
func TestMastraAnswersOneByOne(t *testing.T) {
	t.Parallel()
	yes, no := gives(map[string]any{"approved": true}), gives(map[string]any{"approved": false})
	again := gives(map[string]any{"approved": true, "again": true})
	for name, c := range map[string]struct {
		order   string
		answers []answer
		want    []string
		results int
		asks    int // number of questions after the answers
	}{
		"yes, yes":                {"delete a.txt, delete b.txt", []answer{yes, yes}, []string{deleteA, deleteB}, 2, 0},
		"yes, no":                 {"delete a.txt, delete b.txt", []answer{yes, no}, []string{deleteA}, 2, 0},
		"no, yes":                 {"delete a.txt, delete b.txt", []answer{no, yes}, []string{deleteB}, 2, 0},
		"no, no":                  {"delete a.txt, delete b.txt", []answer{no, no}, nil, 2, 0},
		"yes, no, yes":            {"delete a.txt, delete b.txt, delete c.txt", []answer{yes, no, yes}, []string{deleteA, deleteC}, 3, 0},
		"one fails":               {"delete locked.txt, delete b.txt", []answer{yes, yes}, []string{deleteB}, 1, 0},
		"the first asks again":    {"delete a.txt, delete b.txt", []answer{again, yes}, []string{deleteB}, 0, 1},
		"both ask again":          {"delete a.txt, delete b.txt", []answer{again, again}, nil, 0, 2},
		"one more message":        {"delete a.txt, delete b.txt", []answer{yes, yes}, []string{deleteA, deleteB}, 2, 0},
		"a cancel beside a yes":   {"delete a.txt, delete b.txt", []answer{cancelled, yes}, []string{deleteB}, 0, 0},
		"a cancel behind a yes":   {"delete a.txt, delete b.txt", []answer{yes, cancelled}, []string{deleteA}, 0, 0},
		"everything is cancelled": {"delete a.txt, delete b.txt", []answer{cancelled, cancelled}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			eachMastra(t, "outcome", func(t *testing.T, w world) {
				cl := w.client(t, "free")
				cl.asksAbout(t, step{say: c.order}, len(c.answers))
				s, said, called := cl.each(t, c.answers...), "", 1+len(c.answers)
				if name == "one more message" {
					said = "plain " + fresh("n")
					s.say, called = said, called+1
				}
				a := cl.run(t, s).answer(t)
				if a.code() != "" || len(a.outcome()) != c.asks || len(a.of("TOOL_CALL_RESULT")) != c.results || len(a.of("RUN_FINISHED")) != 1 {
					t.Fatalf("%v\n%s", a.kinds(), terminal(a))
				}
				w.called(t, cl, called)
				w.ran(t, cl, c.want...)
				if said != "" && !cl.echoed(said) {
					t.Errorf("the message was not answered: %v", cl.messages)
				}
				if c.asks > 0 {
					cl.run(t, step{resume: cl.answers(yes)}).answer(t)
					w.ran(t, cl, deleteA, deleteB)
					return
				}
				cl.goesOn(t, nil)
				w.ran(t, cl, c.want...)
			})
		})
	}
	t.Run("without Holdpoint", func(t *testing.T) {
		s := need(t, "mastra", "1.1.2")
		w := world{b: &backend{name: "mastra", mode: "outcome", server: s}}
		cl := newClient(t, shared.direct, newest, s.base()+"/outcome/free", fresh("bare"), nil)
		cl.asksAbout(t, step{say: "delete a.txt, delete b.txt"}, 2)
		cl.run(t, step{resume: cl.answers(yes)}).answer(t)
		w.ran(t, cl, deleteA)
	})
}

// TestMastraKeepsThreadsApart: the runs of two threads have the same run id, and Mastra stores
// suspended runs by that id only. Without Holdpoint the second run replaces the first. With
// Holdpoint each answer must run the action of its own thread.
func TestMastraKeepsThreadsApart(t *testing.T) {
	t.Parallel()
	yes := gives(map[string]any{"approved": true})
	ask := func(t *testing.T, c *client, file, run string) {
		t.Helper()
		if a := c.run(t, step{say: "delete " + file, runID: run}).answer(t); len(a.outcome()) != 1 {
			t.Fatalf("not asked: %s", terminal(a))
		}
	}
	eachMastra(t, "outcome", func(t *testing.T, w world) {
		one, two, run := w.client(t, "agent"), w.client(t, "agent"), fresh("run")
		ask(t, one, "a.txt", run)
		ask(t, two, "b.txt", run)
		one.finish(t, step{resume: one.answers(yes), runID: run})
		w.ran(t, one, deleteA)
		w.ran(t, two)
		two.finish(t, step{resume: two.answers(yes), runID: run})
		w.ran(t, one, deleteA)
		w.ran(t, two, deleteB)
		one.goesOn(t, nil)
		two.goesOn(t, nil)
	})
	t.Run("without Holdpoint", func(t *testing.T) {
		s := need(t, "mastra", "1.1.2")
		w := world{b: &backend{name: "mastra", mode: "outcome", server: s}}
		at := func() *client {
			return newClient(t, shared.direct, newest, s.base()+"/outcome/agent", fresh("bare"), nil)
		}
		one, two, run := at(), at(), fresh("run")
		ask(t, one, "a.txt", run)
		ask(t, two, "b.txt", run)
		if a := one.run(t, step{resume: one.answers(yes)}).answer(t); len(a.of("RUN_ERROR")) != 1 {
			t.Errorf("the first thread's answer is taken: %s", terminal(a))
		}
		w.ran(t, one)
		w.ran(t, two)
	})
}
