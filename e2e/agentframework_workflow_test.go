//go:build e2e

package e2e

import "testing"

// chooses returns an answer whose choice is the parameter what. chosen returns the note that the
// workflow writes after this answer.
func chooses(what string) answer {
	return func(id string) entry { return resolved(id, map[string]any{"choice": what}) }
}

func chosen(what string) string { return `answered {"value":{"choice":"` + what + `"}}` }

func gives(value any) answer { return func(id string) entry { return resolved(id, value) } }

// TestAgentsWorkflowIsAnswered: a workflow asks by request_info, and the answer is a value. The
// workflow must get exactly that value, once.
func TestAgentsWorkflowIsAnswered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, agent string
		rounds      [][]answer
		want        []string
	}{
		{"an object", "workflow", [][]answer{{chooses("a")}}, []string{chosen("a")}},
		{"a text", "workflow-text", [][]answer{{gives("a")}}, []string{`answered {"value":"a"}`}},
		{"a text that looks like a number", "workflow-text", [][]answer{{gives("42")}}, []string{`answered {"value":"42"}`}},
		{"a text that looks like an object", "workflow-text", [][]answer{{gives(`{"a": 1}`)}}, []string{`answered {"value":"{\"a\": 1}"}`}},
		{"true", "workflow-bool", [][]answer{{gives(true)}}, []string{`answered {"value":true}`}},
		{"false", "workflow-bool", [][]answer{{gives(false)}}, []string{`answered {"value":false}`}},
		{"a question that is a text", "workflow-bare", [][]answer{{gives("a")}}, []string{`answered {"value":"a"}`}},
		{"one after the other", "workflow-twice", [][]answer{{chooses("a")}, {chooses("b")}}, []string{chosen("a"), chosen("b")}},
		{"two at once", "workflow-both", [][]answer{{chooses("a"), chooses("b")}}, []string{chosen("a"), chosen("b")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) {
				c := w.client(t, test.agent)
				s := step{say: "go"}
				for _, answers := range test.rounds {
					c.asks(t, s, len(answers))
					for _, i := range c.pending {
						if _, has := i["toolCallId"]; i.str("reason") != "input_required" || has {
							t.Errorf("interrupt %v", i)
						}
					}
					s = c.each(t, answers...)
				}
				c.plain(t, c.finish(t, s))
				w.proven(t, c, test.want...)
			})
		})
	}
}

// TestAgentsWorkflowGetsEachAnswerToItsQuestion: a workflow asks two questions at once. Each
// question must get its own answer, whatever the order of the answers in the request is.
func TestAgentsWorkflowGetsEachAnswerToItsQuestion(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, w world) {
		c := w.client(t, "workflow-both")
		c.asks(t, step{say: "go"}, 2)
		if one, two := c.pending[0].str("message"), c.pending[1].str("message"); one != "First?" || two != "Second?" {
			t.Errorf("asked %q and %q", one, two)
		}
		c.finish(t, c.each(t, chooses("a"), chooses("b")))
		w.proven(t, c, chosen("a"), chosen("b"))
	})
}

// TestAgentsWorkflowIsNotAnsweredWithAnotherType: Holdpoint must refuse an answer of the wrong
// type. The oldest of these versions would give it to the workflow.
func TestAgentsWorkflowIsNotAnsweredWithAnotherType(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		agent        string
		wrong, right answer
		want         string
	}{
		{"workflow", gives("not an object"), chooses("a"), chosen("a")},
		{"workflow-bool", gives("true"), gives(true), `answered {"value":true}`},
		{"workflow-text", gives(true), gives("a"), `answered {"value":"a"}`},
	} {
		t.Run(test.agent, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) {
				c := w.client(t, test.agent)
				c.asks(t, step{say: "go"}, 1)
				c.refused(t, c.each(t, test.wrong), "INVALID_PAYLOAD", true)
				w.called(t, c, 1)
				c.finish(t, c.each(t, test.right))
				w.proven(t, c, test.want)
			})
		})
	}
}

// TestAgentsWorkflowIsCancelled: these workflows have no format for a denial. So Holdpoint sends
// nothing for a cancelled question, and what the thread can do next depends on the workflow. But
// the client must not get stuck, and must be able to answer later.
func TestAgentsWorkflowIsCancelled(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, w world) {
		c := w.client(t, "workflow")
		c.asks(t, step{say: "go"}, 1)
		c.run(t, step{resume: c.answers(cancelled)})
		w.ran(t, c)
		for range 3 {
			said := "plain and patient " + fresh("n")
			c.run(t, c.denying(step{say: said}, nil))
			w.ran(t, c)
			if c.echoed(said) {
				return
			}
		}
		if len(c.pending) == 0 {
			c.asks(t, step{say: "plain"}, 1)
		}
		c.finish(t, c.each(t, chooses("a")))
		w.proven(t, c, chosen("a"))
	})
}

// TestAgentsPrediction: the user sees a predicted state before the tool that causes it runs, and
// confirms or rejects it. The backend must reply with its fixed sentence, which it sends without
// calling its model.
func TestAgentsPrediction(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
		says   string
	}{
		{"confirmed", accept, "Changes confirmed"},
		{"confirmed with the steps", func(id string) entry { return resolved(id, map[string]any{"approved": true, "steps": []any{}}) }, "Changes confirmed"},
		{"rejected", reject, "No problem!"},
		{"cancelled", cancelled, "No problem!"},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) {
				c := w.client(t, "predictive")
				a := c.asks(t, step{say: "go"}, 1)
				snapshots := a.of("STATE_SNAPSHOT")
				if len(snapshots) == 0 || text(snapshots[len(snapshots)-1]["snapshot"]) != `{"document":"Once upon a time"}` {
					t.Errorf("the state beside the question: %v", snapshots)
				}
				c.finish(t, c.each(t, test.answer))
				if said := c.messages[len(c.messages)-1]; !contains(said.str("content"), test.says) {
					t.Errorf("the backend said %v, want %q", said, test.says)
				}
				if seen := w.b.ledger(t, c.thread).Seen; len(seen) != 1 {
					t.Errorf("the model was asked %d times, want once: before the question", len(seen))
				}
				w.proven(t, c)
			})
		})
	}
}

// TestAgentsPredictionThatRuns: the tool that belongs to a prediction needs no approval. It must
// run without a question.
func TestAgentsPredictionThatRuns(t *testing.T) {
	t.Parallel()
	eachAgent(t, func(t *testing.T, w world) {
		c := w.client(t, "predictive-run")
		c.plain(t, c.finish(t, step{say: "go"}))
		w.ran(t, c, write)
		if !w.since("1.7.0") {
			c.goesOn(t, nil) // the backend sends two turns of the model as one message, unchanged because it asks nothing
			w.ran(t, c, write)
			return
		}
		w.proven(t, c, write)
	})
}
