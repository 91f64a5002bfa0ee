package kit

import (
	"slices"

	"holdpoint/internal/agui"
)

// EntriesWithoutCalls returns the entries of a resume array without the calls that they repeat, see
// agui.Interrupt.ReadCall. A dialect reads them so, and none has to know that form. What must not
// be taken stays as it is, for the contract.
func EntriesWithoutCalls(p agui.Pause, entries []agui.ResumeEntry) []agui.ResumeEntry {
	list := slices.Clone(entries)
	for n, e := range list {
		if i := p.Named(e.InterruptID); i != nil && e.Status == agui.Resolved {
			if rest, wrong := i.ReadCall(e.Payload); wrong == "" {
				list[n].Payload = rest
			}
		}
	}
	return list
}

// LeaveOutCalls leaves the calls that answers repeat out of them, as EntriesWithoutCalls does: an
// answer may come in another form than an entry. It does not touch a form of the dialect's own.
func LeaveOutCalls(p agui.Pause, answers []agui.Answer) {
	for n := range answers {
		a := &answers[n]
		if i := p.Interrupt(a.ID); i != nil && !a.Own && a.Status == agui.Resolved {
			if rest, wrong := i.ReadCall(a.Payload); wrong == "" {
				a.Payload = rest
			}
		}
	}
}
