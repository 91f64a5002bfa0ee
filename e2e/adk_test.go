//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// These tests run Google ADK behind ag_ui_adk and a Holdpoint without settings for ADK. With
// emit_interrupt_outcome, ADK sends the interrupt outcome and accepts resume. But ADK treats nearly
// every answer as a yes, and ignores the answer if the request also has a new message.

// eachADK runs test with each client that reads the interrupt outcome. The clients use ADK in the
// given mode, behind a Holdpoint with the variables env.
func eachADK(t *testing.T, mode string, env map[string]string, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "adk", "0.11.0")
	h := ownHoldpoint(t, s.base()+"/"+mode, env)
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			test(t, world{b: &backend{name: "adk " + mode, mode: mode, server: s}, h: h, version: version})
		})
	}
}

// TestADKTakesADecisionOnly: an answer with a clear decision must run or deny the call. Holdpoint
// must refuse any other answer, and the call must still wait.
func TestADKTakesADecisionOnly(t *testing.T) {
	t.Parallel()
	const runs, denied, refused = "runs", "denied", "refused"
	for name, c := range map[string]struct {
		answer answer
		what   string
	}{
		"confirmed":                  {gives(map[string]any{"confirmed": true}), runs},
		"approved, which is said so": {gives(map[string]any{"approved": true}), runs},
		"a bare yes":                 {gives(true), runs},
		"not confirmed":              {gives(map[string]any{"confirmed": false}), denied},
		"not approved":               {gives(map[string]any{"approved": false}), denied},
		"a bare no":                  {gives(false), denied},
		"cancelled":                  {cancelled, denied},
		"no":                         {gives("no"), refused},
		"not accepted":               {gives(map[string]any{"accepted": false}), refused},
		"another word":               {gives(map[string]any{"decision": "reject"}), refused},
		"a no in words":              {gives(map[string]any{"approved": "false"}), refused},
		"zero":                       {gives(0), refused},
		"nothing at all":             {gives(nil), refused},
		"a comment beside it":        {gives(map[string]any{"confirmed": true, "comment": "x"}), refused},
		"both words":                 {gives(map[string]any{"confirmed": true, "approved": true}), refused},
	} {
		t.Run(name, func(t *testing.T) {
			eachADK(t, "outcome", nil, func(t *testing.T, w world) {
				cl := w.client(t, "agent")
				cl.asksAbout(t, step{say: "delete a.txt"}, 1)
				want := []string{}
				switch c.what {
				case refused:
					cl.refused(t, step{resume: cl.answers(c.answer)}, "INVALID_PAYLOAD", true)
					w.ran(t, cl)
					cl.finish(t, step{resume: cl.answers(gives(map[string]any{"confirmed": true}))})
					want = []string{deleteA}
				case runs:
					want = []string{deleteA}
					fallthrough
				default:
					a := cl.finish(t, step{resume: cl.answers(c.answer)})
					if len(a.of("TOOL_CALL_RESULT")) != 1 {
						t.Errorf("no result: %v", a.kinds())
					}
				}
				w.ran(t, cl, want...)
				cl.goesOn(t, nil)
				w.ran(t, cl, want...)
			})
		})
	}
}

// TestADKsConfirmationsAtOnce: several calls wait, and exactly the approved ones must run. Without
// Holdpoint only the last answer would count, because the client has each call in a message of its
// own.
func TestADKsConfirmationsAtOnce(t *testing.T) {
	t.Parallel()
	yes, no := gives(map[string]any{"confirmed": true}), gives(map[string]any{"confirmed": false})
	for name, c := range map[string]struct {
		order   string
		answers []answer
		want    []string
	}{
		"yes, yes":         {"delete a.txt, delete b.txt", []answer{yes, yes}, []string{deleteA, deleteB}},
		"yes, no":          {"delete a.txt, delete b.txt", []answer{yes, no}, []string{deleteA}},
		"no, yes":          {"delete a.txt, delete b.txt", []answer{no, yes}, []string{deleteB}},
		"cancelled, yes":   {"delete a.txt, delete b.txt", []answer{cancelled, yes}, []string{deleteB}},
		"yes, cancelled":   {"delete a.txt, delete b.txt", []answer{yes, cancelled}, []string{deleteA}},
		"no, no":           {"delete a.txt, delete b.txt", []answer{no, no}, nil},
		"yes, no, yes":     {"delete a.txt, delete b.txt, delete c.txt", []answer{yes, no, yes}, []string{deleteA, deleteC}},
		"one more message": {"delete a.txt, delete b.txt", []answer{yes, yes}, []string{deleteA, deleteB}},
	} {
		t.Run(name, func(t *testing.T) {
			eachADK(t, "outcome", nil, func(t *testing.T, w world) {
				cl := w.client(t, "agent")
				cl.asksAbout(t, step{say: c.order}, len(c.answers))
				s, said := cl.each(t, c.answers...), ""
				if name == "one more message" {
					said = "plain " + fresh("n")
					s.say = said
				}
				if a := cl.finish(t, s); len(a.of("TOOL_CALL_RESULT")) != len(c.answers) {
					t.Errorf("not a result for each: %v", a.kinds())
				}
				w.ran(t, cl, c.want...)
				if said != "" && !cl.echoed(said) {
					t.Errorf("the message was not answered: %v", cl.messages)
				}
				cl.goesOn(t, nil)
				w.ran(t, cl, c.want...)
			})
		})
	}
	t.Run("without Holdpoint", func(t *testing.T) {
		s := need(t, "adk", "0.11.0")
		cl := newClient(t, shared.direct, newest, s.base()+"/outcome/agent", fresh("bare"), nil)
		cl.asksAbout(t, step{say: "delete a.txt, delete b.txt"}, 2)
		cl.run(t, cl.each(t, yes, yes)).answer(t)
		w := world{b: &backend{name: "adk", mode: "outcome", server: s}}
		w.ran(t, cl, deleteB)
	})
}

// TestADKTakesAMessageAfterTheAnswer: if a request has an answer and a new message, Holdpoint must
// send the message after the answer. A message that was refused earlier stays in the client's
// history. It must not prevent ADK from reading the answer.
func TestADKTakesAMessageAfterTheAnswer(t *testing.T) {
	t.Parallel()
	yes := gives(map[string]any{"confirmed": true})
	for name, turns := range map[string]func(t *testing.T, c *client) string{
		"beside": func(t *testing.T, c *client) string {
			said := "plain " + fresh("n")
			c.finish(t, step{say: said, resume: c.answers(yes)})
			return said
		},
		"refused before": func(t *testing.T, c *client) string {
			said := "plain " + fresh("n")
			c.refused(t, step{say: said, empty: true}, "PENDING_INTERRUPTS", true)
			c.finish(t, step{resume: c.answers(yes)})
			return said
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachADK(t, "outcome", nil, func(t *testing.T, w world) {
				c := w.client(t, "agent")
				c.asksAbout(t, step{say: "delete a.txt"}, 1)
				said := turns(t, c)
				w.ran(t, c, deleteA)
				if !c.echoed(said) {
					t.Errorf("the message was not answered: %v", c.messages)
				}
				w.called(t, c, 3)
				c.goesOn(t, nil)
				w.ran(t, c, deleteA)
			})
		})
	}
	t.Run("it asks again", func(t *testing.T) {
		eachADK(t, "outcome", nil, func(t *testing.T, w world) {
			c := w.client(t, "agent")
			c.asksAbout(t, step{say: "delete a.txt"}, 1)
			c.asksAbout(t, step{say: "delete b.txt", resume: c.answers(yes)}, 1)
			w.ran(t, c, deleteA)
			c.finish(t, step{resume: c.answers(cancelled)})
			w.ran(t, c, deleteA)
			c.goesOn(t, nil)
		})
	})
}

// TestADKsExpiredQuestion: an expired question must count as denied. Holdpoint notices the expiry
// when a message arrives. The agent must answer this message.
func TestADKsExpiredQuestion(t *testing.T) {
	t.Parallel()
	eachADK(t, "outcome", map[string]string{"HOLDPOINT_INTERRUPT_TTL": "1s"}, func(t *testing.T, w world) {
		c := w.client(t, "agent")
		c.asksAbout(t, step{say: "delete a.txt"}, 1)
		said := "plain " + fresh("n")
		c.expired(t, said)
		w.ran(t, c)
		if !c.echoed(said) {
			t.Errorf("the message was not answered: %v", c.messages)
		}
		c.goesOn(t, nil)
		w.ran(t, c)
	})
}

// expired sends the message, and then empty runs until the open questions have expired. It returns
// the last response.
func (c *client) expired(t *testing.T, said string) wire {
	t.Helper()
	var last wire
	if !eventually(func() bool {
		s := step{empty: true}
		if last.Status == 0 {
			s.say = said
		}
		last = c.run(t, s).answer(t)
		return last.code() != "PENDING_INTERRUPTS"
	}) {
		t.Fatal("the question does not expire")
	}
	return last
}

// TestADKsPredictedState: ADK predicts a state, and asks whether the client accepts it. The ADK
// server has two modes. In mode outcome it asks by an interrupt: the client answers by resume, and
// the thread continues. In mode default it asks by a tool call: a client that declares the tool
// confirm_changes must get the call unchanged, and its answer must be forwarded unchanged.
func TestADKsPredictedState(t *testing.T) {
	t.Parallel()
	const written = `write_document {"document":"hello"}`
	for name, c := range map[string]struct {
		answer answer
		says   string
	}{
		"accepted":     {gives(map[string]any{"accepted": true}), "The user accepted"},
		"approved":     {gives(map[string]any{"approved": true}), "The user accepted"},
		"rejected":     {gives(map[string]any{"accepted": false}), "The user rejected"},
		"cancelled":    {cancelled, "The user rejected"},
		"nothing":      {gives(nil), ""},
		"zero":         {gives(0), ""},
		"some word":    {gives("no"), ""},
		"both at once": {gives(map[string]any{"accepted": false, "approved": true}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachADK(t, "outcome", nil, func(t *testing.T, w world) {
				cl := w.client(t, "predict")
				cl.asksAbout(t, step{say: "write hello"}, 1)
				if cl.pending[0].str("reason") != "confirm_changes" {
					t.Errorf("asked with %v", cl.pending[0])
				}
				if c.says == "" {
					cl.refused(t, step{resume: cl.answers(c.answer)}, "INVALID_PAYLOAD", true)
					cl.finish(t, step{resume: cl.answers(cancelled)})
				} else if a := cl.finish(t, step{resume: cl.answers(c.answer)}); !strings.Contains(a.Text, c.says) {
					t.Errorf("the model was not told %q: %s", c.says, a.Text)
				}
				cl.goesOn(t, nil)
				w.ran(t, cl, written)
			})
		})
	}
	tools := []any{map[string]any{"name": "confirm_changes", "description": "x", "parameters": map[string]any{"type": "object", "properties": map[string]any{}}}}
	for _, mode := range []string{"default", "outcome"} {
		t.Run(mode+", declared", func(t *testing.T) {
			eachADK(t, mode, nil, func(t *testing.T, w world) {
				// The first client does not declare the tool. It uses the same path of Holdpoint.
				first := w.client(t, "predict")
				first.asksAbout(t, step{say: "write hello"}, 1)
				if mode == "outcome" {
					return // with the outcome the backend also reports a declared call as an interrupt, as tested above
				}
				first.goesOn(t, nil)
				c := w.client(t, "predict")
				a := c.run(t, step{say: "write hello", patch: map[string]any{"tools": tools}}).answer(t)
				if a.outcome() != nil || !strings.Contains(a.Text, `"toolCallName":"confirm_changes"`) {
					t.Fatalf("the call did not pass: %v", a.kinds())
				}
				calls := calls(c.messages)
				answer := map[string]any{"id": fresh("m"), "role": "tool", "toolCallId": calls[len(calls)-1], "content": `{"accepted": false}`}
				var sent []any
				for _, m := range c.messages {
					sent = append(sent, m)
				}
				a = c.run(t, step{patch: map[string]any{"tools": tools, "messages": append(sent, answer)}}).answer(t)
				if a.code() != "" || !strings.Contains(a.Text, "The user rejected") {
					t.Errorf("the answer was not read as a no: %s", a.Text)
				}
				w.ran(t, c, written)
			})
		})
	}
}

// TestADKWaitsForALostQuestion: Holdpoint is restarted with its store in memory, so it does not
// know the open question. ADK refuses every run, and names the waiting call. Holdpoint must turn
// this refusal into a question that can only be cancelled. Then the thread must continue.
func TestADKWaitsForALostQuestion(t *testing.T) {
	t.Parallel()
	s := need(t, "adk", "0.11.0")
	before, after := ownHoldpoint(t, s.base()+"/outcome", nil), ownHoldpoint(t, s.base()+"/outcome", nil)
	for agent, say := range map[string]string{"agent": "delete a.txt, delete b.txt", "predict": "write hello"} {
		for _, way := range []string{"cancelled", "denied", "a message"} {
			for _, version := range []string{newest, pinned} {
				t.Run(agent+"/"+way+"/client-"+version, func(t *testing.T) {
					w := world{b: &backend{name: "adk", mode: "outcome", server: s}, h: before, version: version}
					c := w.client(t, agent)
					c.run(t, step{say: say})
					var want []string
					if agent == "predict" {
						want = []string{`write_document {"document":"hello"}`} // it asks after it has written
					}
					c.moves(t, after, agent)
					c.refused(t, step{resume: c.answers(gives(true))}, "UNKNOWN_INTERRUPT_ID", false)
					a := c.run(t, step{say: "plain hello", empty: true}).answer(t)
					if len(a.outcome()) != 1 || !strings.Contains(terminal(a), "holdpoint:lost_question") {
						t.Fatalf("nobody was asked: %v\n%s", a.kinds(), terminal(a))
					}
					c.refused(t, step{resume: c.answers(gives(map[string]any{"approved": true}))}, "INVALID_PAYLOAD", true)
					w.ran(t, c, want...)
					said := "plain " + fresh("n")
					switch way {
					case "cancelled":
						c.finish(t, step{say: said, resume: c.answers(cancelled)})
					case "denied":
						c.finish(t, step{say: said, resume: c.answers(gives(map[string]any{"approved": false}))})
					default:
						c.finish(t, step{say: said, empty: true})
					}
					if !c.echoed(said) {
						t.Errorf("the message was not answered: %v", c.messages)
					}
					w.ran(t, c, want...)
					c.goesOn(t, nil)
					w.ran(t, c, want...)
				})
			}
		}
	}
}
