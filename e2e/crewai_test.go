//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// These tests run CrewAI behind ag_ui_crewai, and a Holdpoint without settings for CrewAI. By
// default CrewAI announces a question only by a CUSTOM event on_interrupt. With
// emit_interrupt_outcome it also sends the interrupt outcome. It reads answers from resume. If an
// answer is cancelled or empty, CrewAI acts as if the person had chosen the first option of the
// question. So Holdpoint must not send such an answer.

const deletes = `delete_file {"path":"a.txt"}`

// eachCrew runs test in both modes of CrewAI (with the interrupt outcome and without it), and with
// each client that sends resume.
func eachCrew(t *testing.T, env map[string]string, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "crewai", "1.0.0")
	for _, mode := range []string{"outcome", "default"} {
		h := ownHoldpoint(t, s.base()+"/"+mode, env)
		for _, version := range []string{newest, pinned} {
			t.Run(mode+"/client-"+version, func(t *testing.T) {
				t.Parallel()
				test(t, world{b: &backend{name: "crewai " + mode, mode: mode, server: s}, h: h, version: version})
			})
		}
	}
}

// TestCrewAIRunsWhatIsApproved: an approved action must run once, and nothing else may run. If
// CrewAI has no format for an answer, such as a cancel, Holdpoint must not call CrewAI.
func TestCrewAIRunsWhatIsApproved(t *testing.T) {
	t.Parallel()
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
			eachCrew(t, nil, func(t *testing.T, w world) {
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
					// The next message starts the flow from the beginning, so the flow asks again.
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

// TestCrewAIsExpiredQuestion: a message that arrives after the question has expired must not count
// as an approval.
func TestCrewAIsExpiredQuestion(t *testing.T) {
	t.Parallel()
	eachCrew(t, map[string]string{"HOLDPOINT_INTERRUPT_TTL": "2s"}, func(t *testing.T, w world) {
		c := w.client(t, "gate")
		c.asksAbout(t, step{say: "go"}, 1)
		if a := c.expired(t, "hello, never mind"); len(a.outcome()) != 1 || a.code() != "" {
			t.Errorf("the flow does not begin anew: %s", terminal(a))
		}
		w.ran(t, c)
		w.called(t, c, 2)
	})
}

// TestCrewAITakesAMessageAfterTheAnswer: a new message in the same request as the answer must not
// get lost. Holdpoint sends it after the answer, and it starts the flow again.
func TestCrewAITakesAMessageAfterTheAnswer(t *testing.T) {
	t.Parallel()
	eachCrew(t, nil, func(t *testing.T, w world) {
		c := w.client(t, "gate")
		c.asksAbout(t, step{say: "go"}, 1)
		c.asksAbout(t, step{say: "and once more", resume: c.answers(gives("approved"))}, 1)
		w.ran(t, c, deletes)
		w.called(t, c, 3)
		c.finish(t, step{resume: c.answers(gives("rejected"))})
		w.ran(t, c, deletes)
	})
	// The flow two asks a second question after the first answer, so Holdpoint must not send the
	// message.
	eachCrew(t, nil, func(t *testing.T, w world) {
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

// TestCrewAIsAnnouncementIsAnswered: a client that does not read the interrupt outcome gets
// CrewAI's own CUSTOM event, and answers by command.resume with a copy of that event. Such an
// answer must never count for another question.
func TestCrewAIsAnnouncementIsAnswered(t *testing.T) {
	t.Parallel()
	s := need(t, "crewai", "1.0.0")
	for _, mode := range []string{"outcome", "default"} {
		t.Run(mode, func(t *testing.T) {
			w := world{b: &backend{name: "crewai " + mode, mode: mode, server: s}, h: ownHoldpoint(t, s.base()+"/"+mode, nil), version: oldest}
			c := w.client(t, "two")
			c.asksAbout(t, step{say: "go"}, 1)
			value, _ := c.customs[0]["value"].(map[string]any)
			if len(c.customs) != 1 || value["id"] != c.pending[0].str("id") {
				t.Fatalf("announced is %v, asked is %v", c.customs, ids(c.pending))
			}
			late := c.another(t)
			c.asksAbout(t, step{command: "approved"}, 1)
			late.run(t, step{command: "sure"}) // too late: answers the first question
			w.called(t, c, 2)
			w.ran(t, c)
			c.finish(t, step{command: "sure"})
			w.ran(t, c, deletes)
		})
	}
}
