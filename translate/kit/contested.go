package kit

import (
	"bytes"

	"holdpoint/internal/agui"
)

// RefuseContested returns an error if the pause is contested and one of the answers could approve
// something. It is for a backend that gets answers without an id. Such a backend uses the answer
// for whatever question waits, which may be the question of another run. A denial is allowed,
// because it runs nothing. A cancel is not allowed here: if all answers are cancels, the package
// proxy ends the pause and sends nothing.
func RefuseContested(p agui.Pause, answers ...agui.Answer) error {
	for _, a := range answers {
		if p.Contested && (a.Status == agui.Cancelled || !Denies(a)) {
			return agui.Errorf(agui.ApprovalAmbiguous, textUnsure, a.ID)
		}
	}
	return nil
}

// OneForEachID returns an error if two questions have the same id at the backend and get different
// answers. The backend would use one of the two answers for both questions, so an approval could
// replace a denial. The parameter answers has one answer for each question of the pause, in order.
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
