//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// CrewAI over ag_ui_crewai, behind a Holdpoint that is told nothing of it. With
// emit_interrupt_outcome it sends the outcome and takes resume, and carries out its first option on
// cancelled, and on an answer that says nothing.

const deletes = `delete_file {"path":"a.txt"}`

func eachCrew(t *testing.T, mode string, env map[string]string, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "crewai", "1.0.0")
	h := ownHoldpoint(t, s.base()+"/"+mode, env)
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			test(t, world{b: &backend{name: "crewai " + mode, mode: mode, server: s}, h: h, version: version})
		})
	}
}

// What is approved runs once, and nothing else does; where the backend cannot be told so, it is not
// called.
func TestCrewAIRunsWhatIsApproved(t *testing.T) {
	const runs, denied, refused, givenUp = "runs", "denied", "refused", "given up"
	for name, c := range map[string]struct {
		flow   string
		answer answer
		what   string
	}{
		"approved":                    {"gate", gives("approved"), runs},
		"rejected":                    {"gate", gives("rejected"), denied},
		"cancelled":                   {"gate", cancelled, givenUp},
		"cancelled, with a default":   {"safe", cancelled, givenUp},
		"nothing at all":              {"gate", gives(nil), refused},
		"an empty text":               {"gate", gives(""), refused},
		"blanks":                      {"gate", gives(" \t"), refused},
		"a no":                        {"gate", gives("no"), refused},
		"an object":                   {"gate", gives(map[string]any{"approved": false}), refused},
		"zero":                        {"gate", gives(0), refused},
		"cancelled, without options":  {"free", cancelled, givenUp},
		"an empty text, without them": {"free", gives(""), refused},
		"blanks, without them":        {"free", gives("  "), refused},
	} {
		t.Run(name, func(t *testing.T) {
			eachCrew(t, "outcome", nil, func(t *testing.T, w world) {
				cl := w.client(t, c.flow)
				cl.asksAbout(t, step{say: "go"}, 1)
				switch c.what {
				case runs:
					cl.finish(t, step{resume: cl.answers(c.answer)})
					w.ran(t, cl, deletes)
				case denied:
					cl.finish(t, step{resume: cl.answers(c.answer)})
					w.ran(t, cl)
				case givenUp:
					cl.finish(t, step{resume: cl.answers(c.answer)})
					w.called(t, cl, 1)
					w.ran(t, cl)
					// The flow begins anew with the next message, and asks again.
					cl.asksAbout(t, step{say: "once more"}, 1)
					w.ran(t, cl)
					if c.flow == "gate" {
						cl.finish(t, step{resume: cl.answers(gives("approved"))})
						w.ran(t, cl, deletes)
					}
				case refused:
					cl.refused(t, step{resume: cl.answers(c.answer)}, "INVALID_PAYLOAD", true)
					w.called(t, cl, 1)
					w.ran(t, cl)
					cl.finish(t, step{resume: cl.answers(gives(map[string]string{"gate": "rejected", "free": "fine"}[c.flow]))})
					w.called(t, cl, 2)
				}
			})
		})
	}
}

// A question that has expired is not made a yes by the message that comes then.
func TestCrewAIsExpiredQuestion(t *testing.T) {
	eachCrew(t, "outcome", map[string]string{"HOLDPOINT_INTERRUPT_TTL": "2s"}, func(t *testing.T, w world) {
		c := w.client(t, "gate")
		c.asksAbout(t, step{say: "go"}, 1)
		if a := c.expired(t, "hello, never mind"); len(a.outcome()) != 1 || a.code() != "" {
			t.Errorf("the flow does not begin anew: %s", terminal(a))
		}
		w.ran(t, c)
		w.called(t, c, 2)
	})
}

// A message beside the answer is not lost: the flow begins anew with it.
func TestCrewAITakesAMessageAfterTheAnswer(t *testing.T) {
	eachCrew(t, "outcome", nil, func(t *testing.T, w world) {
		c := w.client(t, "gate")
		c.asksAbout(t, step{say: "go"}, 1)
		c.asksAbout(t, step{say: "and once more", resume: c.answers(gives("approved"))}, 1)
		w.ran(t, c, deletes)
		w.called(t, c, 3)
		c.finish(t, step{resume: c.answers(gives("rejected"))})
		w.ran(t, c, deletes)
	})
	// It asks again: the message was not sent.
	eachCrew(t, "outcome", nil, func(t *testing.T, w world) {
		c := w.client(t, "two")
		c.asksAbout(t, step{say: "go"}, 1)
		a := c.run(t, step{say: "and hurry", resume: c.answers(gives("approved"))}).answer(t)
		if len(a.outcome()) != 1 || !strings.Contains(terminal(a), "MESSAGES_NOT_TAKEN") {
			t.Errorf("%s", terminal(a))
		}
		w.called(t, c, 2)
		w.ran(t, c)
	})
}

// The default mode passes as it is, and the log says so.
func TestCrewAIsDefaultModePasses(t *testing.T) {
	eachCrew(t, "default", nil, func(t *testing.T, w world) {
		c := w.client(t, "gate")
		a := c.run(t, step{say: "go"}).answer(t)
		if a.code() != "" || a.outcome() != nil || len(a.customs()) != 1 {
			t.Errorf("%v\n%s", a.kinds(), terminal(a))
		}
		w.ran(t, c)
		if _, said := w.h.log.find(func(line string) bool { return strings.Contains(line, "set emit_interrupt_outcome") }); !said {
			t.Error("the log says nothing")
		}
	})
}
