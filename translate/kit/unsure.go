package kit

import (
	"bytes"

	"holdpoint/internal/agui"
)

// Unsure refuses an answer that would go without an id if the pause is contested. The backend gives
// it to whatever waits, and that may be the question of another run. A denial goes all the same: it
// carries nothing out. If everything is cancelled, the pause is given up, and nothing is sent.
func Unsure(p agui.Pause, answers ...agui.Answer) error {
	for _, a := range answers {
		if p.Contested && (a.Status == agui.Cancelled || !Denies(a)) {
			return agui.Errorf(agui.ApprovalAmbiguous, textUnsure, a.ID)
		}
	}
	return nil
}

// OneForEachID refuses different answers to questions that have one id at the backend. The backend
// takes the first or the last of them for all, and that may be a yes where a no was said. answers
// cover the pause in its order.
func OneForEachID(p agui.Pause, answers []agui.Answer) error {
	given := make(map[string]int, len(answers))
	for n, a := range answers {
		id := p.Interrupts[n].Native
		first, twice := given[id]
		if !twice {
			given[id] = n
			continue
		}
		before := answers[first]
		same := a.Status == before.Status && bytes.Equal(agui.Canonical(a.Payload), agui.Canonical(before.Payload))
		if !same && !(Denies(a) && Denies(before)) {
			return agui.Errorf(agui.InvalidPayload, textTwinIDs, agui.Cut(id))
		}
	}
	return nil
}
