//go:build e2e

package e2e

import "testing"

// odd lists answers in forms that the backends do not ask for, and a cancel. None of them is an
// approval.
var odd = map[string]answer{
	"no":             gives("no"),
	"not accepted":   gives(map[string]any{"accepted": false}),
	"a no in words":  gives(map[string]any{"approved": "false"}),
	"zero":           gives(0),
	"an object":      gives(map[string]any{}),
	"nothing at all": gives(nil),
	"cancelled":      cancelled,
}

// TestOddAnswersRunNothing: a backend that sends the interrupt outcome asks, and gets one of the
// answers in odd. It must run no action. ADK, CrewAI and Mastra have tests of their own:
// TestADKTakesADecisionOnly, TestCrewAIRunsWhatIsApproved and TestMastraWantsAPayload.
func TestOddAnswersRunNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range odd {
		t.Run("pydantic-ai/"+name, func(t *testing.T) {
			eachPydanticAI(t, []string{"stateless", "store"}, func(t *testing.T, w world) {
				c := w.client(t, "agent")
				c.asksAbout(t, step{say: "delete a.txt"}, 1)
				c.run(t, step{resume: c.answers(answer)})
				w.ran(t, c)
			})
		})
		t.Run("agent-framework-ag-ui/"+name, func(t *testing.T) {
			eachAgent(t, func(t *testing.T, w world) {
				c := w.client(t, "approve")
				c.asks(t, step{say: "go"}, 1)
				c.run(t, step{resume: c.answers(answer)})
				w.ran(t, c)
			})
		})
		t.Run("ag_ui_strands/"+name, func(t *testing.T) {
			eachAdapter(t, "gate", func(t *testing.T, w world) {
				c := w.adapted(t, "gate")
				c.gated(t, c.wants("delete a.txt"), 1)
				c.run(t, step{resume: c.answers(answer)})
				w.gone(t, c)
			})
		})
	}
}
