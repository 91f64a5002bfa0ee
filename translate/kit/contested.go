package kit

import (
	"bytes"

	"holdpoint/internal/agui"
)

// RefuseContested returns an error if the pause is contested and an answer, which is sent without
// an id, could approve something. The backend uses such an answer for whatever waits, which may be
// the question of another run. A denial is allowed, because nothing runs for it. An answer that is
// cancelled is not allowed here: if all answers are cancelled, proxy gives the pause up and sends
// nothing.
func RefuseContested(p agui.Pause, answers ...agui.Answer) error {
	for _, a := range answers {
		if p.Contested && (a.Status == agui.Cancelled || !Denies(a)) {
			return agui.Errorf(agui.ApprovalAmbiguous, textUnsure, a.ID)
		}
	}
	return nil
}

// OneForEachID returns an error if two questions have the same id at the backend and get different
// answers. The backend uses the first or the last of these answers for all, so an approval could
// replace a denial. answers has one answer for each question of the pause, in its order.
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
			return agui.Errorf(agui.InvalidPayload, textTwinIDs, agui.Shorten(id))
		}
	}
	return nil
}
