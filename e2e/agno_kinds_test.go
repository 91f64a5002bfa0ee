//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestAgnosTeamsAsk: the leader of a team delegates to a member. The calls of the member must
// become questions for the person who uses the team.
func TestAgnosTeamsAsk(t *testing.T) {
	t.Parallel()
	type scene struct {
		order   string
		answers []answer
		want    []string
	}
	yes, no := agnoSays[true], agnoSays[false]
	const both = "hand delete a.txt and delete b.txt"
	eachAgno(t, nil, func(t *testing.T, w world) {
		w.b.mode = "team"
		w.h = ownHoldpoint(t, w.b.server.base()+"/team", nil)
		together(t, map[string]scene{
			"approved":  {"hand delete a.txt", []answer{yes}, []string{deleteA}},
			"denied":    {"hand delete a.txt", []answer{no}, nil},
			"cancelled": {"hand delete a.txt", []answer{cancelled}, nil},
			"yes, yes":  {both, []answer{yes, yes}, []string{deleteA, deleteB}},
			"yes, no":   {both, []answer{yes, no}, []string{deleteA}},
			"no, yes":   {both, []answer{no, yes}, []string{deleteB}},
			"neither":   {both, []answer{cancelled, no}, nil},
		}, func(t *testing.T, test scene) {
			c := w.client(t, "agui")
			c.asksAbout(t, step{say: test.order}, len(test.answers))
			r := c.run(t, c.each(t, test.answers...))
			if a := r.answer(t); a.code() != "" || a.outcome() != nil {
				t.Fatalf("%s", terminal(a))
			}
			if again := c.post(t, r.Sent[0]); again.code() != "" || again.outcome() != nil {
				t.Errorf("replayed: %s", terminal(again))
			}
			w.called(t, c, 2)
			w.ran(t, c, test.want...)
			c.goesOn(t, nil)
			w.ran(t, c, test.want...)
		})
	})
}

// TestAgnosTeamInATeam: agno cannot continue a team within a team, and answers an approval with the
// error that the run remains paused. So nothing was done, and the question must stay open. A denial
// must end it.
func TestAgnosTeamInATeam(t *testing.T) {
	t.Parallel()
	s := need(t, "agno", "3.1.10")
	w := world{b: &backend{name: "agno", mode: "nested", server: s}, h: ownHoldpoint(t, s.base()+"/nested", nil), version: newest}
	for name, ends := range map[string]answer{"denied": agnoSays[false], "cancelled": cancelled} {
		t.Run(name, func(t *testing.T) {
			c := w.client(t, "agui")
			c.asksAbout(t, step{say: "pass hand delete a.txt"}, 1)
			for range 2 {
				a := c.refused(t, step{resume: c.answers(agnoSays[true])}, "(without code)", true)
				if a.mayHaveRun() || !strings.Contains(a.Text, "Nothing was done.") {
					t.Errorf("told as in doubt: %s", terminal(a))
				}
			}
			c.run(t, step{resume: c.answers(ends), loose: true})
			c.pending = nil
			c.goesOn(t, nil)
			w.ran(t, c)
		})
	}
}

// TestAgnosUserFeedback: with ask_user the person chooses from options. agno has no denial for
// this, so a cancel must close the question and send nothing.
func TestAgnosUserFeedback(t *testing.T) {
	t.Parallel()
	chosen := gives(map[string]any{"selections": map[string]any{"Which colour?": []any{"blue"}}})
	eachAgno(t, nil, func(t *testing.T, w world) {
		c := w.client(t, "agui")
		c.asksAbout(t, step{say: "ask colour"}, 1)
		if c.pending[0].str("message") != "Which colour?" {
			t.Errorf("asked is %v", c.pending[0])
		}
		const schema = `{"items":{"enum":["red","blue"],"type":"string"},"maxItems":1,"title":"colour","type":"array"}`
		if !strings.Contains(text(c.pending[0]["responseSchema"]), `"Which colour?":`+schema) {
			t.Errorf("the options are not told: %v", c.pending[0])
		}
		chooses := func(labels ...any) answer {
			return gives(map[string]any{"selections": map[string]any{"Which colour?": labels}})
		}
		none := gives(map[string]any{"selections": map[string]any{}})
		for _, odd := range []answer{agnoSays[true], gives("blue"), gives(nil), chooses("green"), chooses("red", "blue"), none} {
			c.refused(t, step{resume: c.answers(odd), empty: true}, "INVALID_PAYLOAD", true)
		}
		w.called(t, c, 1)
		if a := c.finish(t, step{resume: c.answers(chosen)}); !strings.Contains(a.Text, "results: ") || !strings.Contains(a.Text, "blue") {
			t.Errorf("the model was not told: %s", a.Text)
		}
		c.goesOn(t, nil)
		c.asksAbout(t, step{say: "ask colour, delete a.txt"}, 2)
		c.finish(t, step{resume: c.each(t, cancelled, cancelled).resume})
		w.called(t, c, 4)
		c.goesOn(t, nil)
		w.ran(t, c)
	})
}

// TestAgnosExternalExecution: a call that is executed elsewhere waits for its result, and the
// answer is that result. A cancel must tell agno that there is no result.
func TestAgnosExternalExecution(t *testing.T) {
	t.Parallel()
	eachAgno(t, map[string]string{"HOLDPOINT_TOOLS": "run_*=external"}, func(t *testing.T, w world) {
		for want, answer := range map[string]answer{
			"results: a.txt b.txt": gives("a.txt b.txt"), "accepted": gives(map[string]any{"accepted": false}), "results: ": cancelled,
		} {
			c := w.client(t, "agui")
			c.asksAbout(t, step{say: "run ls, delete b.txt"}, 2)
			asked := map[string]bool{}
			var s step
			for _, i := range c.pending {
				if strings.Contains(i.str("message"), "run_command") {
					s.resume = append(s.resume, answer(i.str("id")))
				} else {
					s.resume = append(s.resume, agnoSays[true](i.str("id")))
				}
				asked[i.str("message")] = true
			}
			if len(asked) != 2 {
				t.Fatalf("asked is %v", asked)
			}
			if a := c.finish(t, s); !strings.Contains(a.Text, want) {
				t.Errorf("the model was not told %q: %s", want, a.Text)
			}
			w.ran(t, c, deleteB)
			c.goesOn(t, nil)
		}
	})
}
