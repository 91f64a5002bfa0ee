package awsstrands

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// pausePrivate is the JSON of Pause.Private. Held has the ids of the calls that had no result when
// the run paused, even if no question was about them.
type pausePrivate struct {
	Held []string `json:"held,omitempty"`
}

// possiblyOpenCalls returns the ids of a pause's calls that may still have no result.
func possiblyOpenCalls(p agui.Pause) []string { return kit.ReadPrivate[pausePrivate](p.Private).Held }

// withoutHeld returns the input without the calls that an ended pause held and that have no result.
// Such a call is left if the pause was lost or is in doubt, or if the adapter did not send the
// result (see the package comment). If it stayed in the history, Python would drop everything after
// it, and run it again together with the other calls of its turn, without a question (RAN
// ag_ui_strands 0.3.0). TypeScript would pass it to the model, and models refuse it. The calls of
// the open pause stay, because the backend adds their results.
func withoutHeld(in agui.RunInput, ended []translate.EndedPause, open agui.Pause) agui.RunInput {
	held := map[string]bool{}
	for _, p := range ended {
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
