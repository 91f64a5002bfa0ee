package awsstrands

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// pausePrivate is the state that the dialect stores, as JSON, in Pause.Private. Held has the ids of
// all calls that had no result when the run paused, including those that no question was about.
type pausePrivate struct {
	Held []string `json:"held,omitempty"`
}

// possiblyOpenCalls returns the ids of the pause's calls that may have no result yet.
func possiblyOpenCalls(p agui.Pause) []string { return kit.ReadPrivate[pausePrivate](p.Private).Held }

// withoutHeld returns the input without the calls of ended pauses that have no result. Such calls
// occur if the pause was lost or is in doubt, or if the adapter did not send the result (see the
// package comment). If such a call stayed in the history, Python would drop all messages after it,
// and run it again without a question, with the other calls of its turn (RAN ag_ui_strands 0.3.0).
// TypeScript would pass the call to the model, and models refuse it. The calls of the pause open
// stay in the history, because the backend adds their results.
func withoutHeld(in agui.RunInput, endedPauses []translate.EndedPause, open agui.Pause) agui.RunInput {
	held := map[string]bool{}
	for _, p := range endedPauses {
		if p.Dialect == Name {
			for _, id := range possiblyOpenCalls(p.Pause) {
				held[id] = true
			}
		}
	}
	for _, id := range possiblyOpenCalls(open) {
		delete(held, id)
	}
	if len(held) == 0 {
		return in
	}
	return kit.WithoutDangling(in, func(c kit.DanglingCall) bool { return held[c.ID] })
}
