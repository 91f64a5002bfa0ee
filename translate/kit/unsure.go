package kit

import "holdpoint/internal/agui"

// Unsure refuses an answer that would go without an id if the pause is contested. The backend gives
// it to whatever waits, and that may be the question of another run. A denial goes all the same: it
// carries nothing out. If everything is cancelled, the pause is given up, and nothing is sent.
func Unsure(p agui.Pause, answers ...agui.Answer) error {
	for _, a := range answers {
		if p.Contested && (a.Status == agui.Cancelled || !Denies(a)) {
			return agui.Errorf(agui.ApprovalAmbiguous, "interrupt %q may not be what the backend waits for: another run of the thread came to another question, "+
				"and the backend takes an answer without an id, so it could count for that one. Deny or cancel it: the next message brings the question that waits", a.ID)
		}
	}
	return nil
}
