package kit

import (
	"slices"

	"holdpoint/internal/agui"
)

// EntriesWithoutCalls returns the entries of a resume array without the copies of calls. Some
// clients add a copy of the call to their payload (see agui.Interrupt.ReadCall). It removes the
// copies here, so that dialects need not handle them. If ReadCall finds an error in a payload, the
// payload stays unchanged, and the package contract refuses it.
func EntriesWithoutCalls(p agui.Pause, entries []agui.ResumeEntry) []agui.ResumeEntry {
	list := slices.Clone(entries)
	for n, e := range list {
		if i := p.InterruptNamed(e.InterruptID); i != nil && e.Status == agui.Resolved {
			if rest, wrong := i.ReadCall(e.Payload); wrong == "" {
				list[n].Payload = rest
			}
		}
	}
	return list
}

// LeaveOutCalls removes the copies of calls from the payloads of answers, as EntriesWithoutCalls
// does for entries. An answer with OwnForm stays unchanged.
func LeaveOutCalls(p agui.Pause, answers []agui.Answer) {
	for n := range answers {
		a := &answers[n]
		if i := p.Interrupt(a.ID); i != nil && !a.OwnForm && a.Status == agui.Resolved {
			if rest, wrong := i.ReadCall(a.Payload); wrong == "" {
				a.Payload = rest
			}
		}
	}
}
