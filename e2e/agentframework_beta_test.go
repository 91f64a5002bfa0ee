//go:build e2e

package e2e

import "testing"

// The betas ask by CUSTOM alone (1.0.0b251223) or with confirm_changes beside it, and keep nothing
// of what they asked. An action runs once all the same, with the arguments that were asked for.
func TestAgentBetasApprovals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, agent string
		rounds      [][]answer
		want        []string
	}{
		{"approved", "approve", [][]answer{{accept}}, []string{deleteA}},
		{"two arguments", "email", [][]answer{{accept}}, []string{mail}},
		{"denied", "approve", [][]answer{{reject}}, nil},
		{"cancelled", "approve", [][]answer{{cancelled}}, nil},
		{"text before the call", "spoken", [][]answer{{accept}}, []string{deleteA}},
		{"both", "parallel", [][]answer{{accept, accept}}, []string{deleteA, deleteB}},
		{"the first of two", "parallel", [][]answer{{accept, reject}}, []string{deleteA}},
		{"the second of two", "parallel", [][]answer{{cancelled, accept}}, []string{deleteB}},
		{"neither", "parallel", [][]answer{{reject, cancelled}}, nil},
		{"again", "again", [][]answer{{accept}, {accept}}, []string{deleteA, mail}},
		{"another thread id", "drift", [][]answer{{accept}, {reject}}, []string{deleteA}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachBeta(t, func(t *testing.T, w world) {
				c := w.client(t, test.agent)
				s := step{say: "go"}
				for _, answers := range test.rounds {
					c.asks(t, s, len(answers))
					s = c.each(t, answers...)
				}
				r := c.run(t, s)
				end := r.answer(t)
				if end.code() != "" || end.outcome() != nil {
					t.Errorf("the answers were met with %s", terminal(end))
				}
				// What keeps nothing would do it all again.
				if again := c.post(t, r.Sent[0]); again.code() != end.code() || again.outcome() != nil {
					t.Errorf("the same answers again: %s", terminal(again))
				}
				w.proven(t, c, test.want...)
			})
		})
	}
}

func TestAgentBetasKeepTheContract(t *testing.T) {
	t.Parallel()
	eachBeta(t, func(t *testing.T, w world) {
		c := w.client(t, "parallel")
		c.asks(t, step{say: "go"}, 2)
		c.refused(t, step{resume: []entry{accept(c.pending[0].str("id"))}, empty: true}, "PARTIAL_RESUME", true)
		c.refused(t, step{say: "plain, but too early", empty: true}, "PENDING_INTERRUPTS", true)
		w.called(t, c, 1)
		c.finish(t, c.each(t, accept, reject))
		w.proven(t, c, deleteA)
	})
}
