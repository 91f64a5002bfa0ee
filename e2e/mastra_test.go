//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// Mastra behind @ag-ui/mastra, before a Holdpoint that is told nothing of it. 1.1.2 sends the
// outcome and takes resume; 1.0.3 announces a pause by CUSTOM on_interrupt only.

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

// What is approved runs once; an answer that says nothing would open a second question, and is
// refused.
func TestMastraWantsAPayload(t *testing.T) {
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

// A message beside the answer goes after it.
func TestMastraTakesAMessageAfterTheAnswer(t *testing.T) {
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

// 1.0.3 passes as it is, and so does the answer in its own form; the log says that it does.
func TestMastrasOldAdapterPasses(t *testing.T) {
	eachMastra(t, "old", func(t *testing.T, w world) {
		c := w.client(t, "agent")
		a := c.run(t, step{say: "delete a.txt"}).answer(t)
		if a.code() != "" || a.outcome() != nil || len(a.customs()) != 1 {
			t.Fatalf("%v\n%s", a.kinds(), terminal(a))
		}
		w.ran(t, c)
		c.finish(t, step{patch: map[string]any{"forwardedProps": map[string]any{"command": map[string]any{
			"resume": map[string]any{"approved": true}, "interruptEvent": a.customs()[0]["value"],
		}}}})
		w.ran(t, c, deleteA)
		if _, said := w.h.log.find(func(line string) bool { return strings.Contains(line, "Mastra pauses without the interrupt outcome") }); !said {
			t.Error("the log says nothing")
		}
	})
}
