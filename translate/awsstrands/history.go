package awsstrands

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// pausePrivate is what a pause keeps for later runs: the calls that had no result when it was told,
// asked about or not.
type pausePrivate struct {
	Held []string `json:"held,omitempty"`
}

// heldBy are the calls of a pause that may never have got a result.
func heldBy(p agui.Pause) []string {
	var kept pausePrivate
	if json.Unmarshal(p.Private, &kept) != nil {
		return nil
	}
	return kept.Held
}

// withoutHeld is the input without the calls that an ended pause held and that got no result: the
// pause was lost or is in doubt, or the adapter told none (package comment). Left in the history,
// Python drops all that follows such a call and carries it out anew, with those beside it of which
// nobody is asked (RAN ag_ui_strands 0.3.0); TypeScript hands them to the model, and models refuse
// them. The calls of the pause that is open are the backend's to answer.
func withoutHeld(in agui.RunInput, ended []agui.Pause, open agui.Pause) agui.RunInput {
	held := map[string]bool{}
	for _, p := range ended {
		if p.Dialect == Name {
			for _, id := range heldBy(p) {
				held[id] = true
			}
		}
	}
	for _, id := range heldBy(open) {
		delete(held, id)
	}
	if len(held) == 0 {
		return in
	}
	return kit.WithoutDangling(in, func(c kit.DanglingCall) bool { return held[c.ID] })
}
