package awsstrands

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// pausePrivate is what a pause keeps for later runs. Held are the calls that had no result when the
// pause was told, even if nobody was asked about them.
type pausePrivate struct {
	Held []string `json:"held,omitempty"`
}

// possiblyOpenCalls returns the calls of a pause that may never have got a result.
func possiblyOpenCalls(p agui.Pause) []string { return kit.ReadPrivate[pausePrivate](p.Private).Held }

// withoutHeld returns the input without the calls that an ended pause held and that got no result.
// The pause was lost or is in doubt, or the adapter told no result (see the package comment). If
// such a call stays in the history, Python drops everything behind it and carries it out anew, with
// the calls beside it that nobody is asked about (RAN ag_ui_strands 0.3.0). TypeScript hands it to
// the model, and models refuse it. The calls of the open pause stay, because the backend answers
// them.
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
