package standard

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// awaitedResults are the ids of answered calls that have no result yet in the resumed stream. It
// contains only calls whose backend always sends a result.
type awaitedResults map[string]bool

func approvedCalls(r *translate.Request) awaitedResults {
	var calls awaitedResults
	for n, a := range r.Answers {
		i := r.Pause.Interrupts[n]
		p := profileOfInterrupt(&i)
		if p.result == "" || i.CallUnseen || !p.sendsResult(i, a) {
			continue // if the call is not in the stream, its result is not either
		}
		if id := agui.View(i.Object).Get(p.result).Str; id != "" {
			if calls == nil {
				calls = awaitedResults{}
			}
			calls[id] = true
		}
	}
	return calls
}

// sendsResult reports whether the backend sends a result for the answer. A backend with forgets
// sends a result even for a call that was denied.
func (p profile) sendsResult(i agui.Interrupt, a agui.Answer) bool {
	return kit.MeaningOf(i, a) == agui.Approves || p.sendsEveryResult && a.Status == agui.Resolved
}

// remove removes the call of a result.
func (a awaitedResults) remove(ev agui.Event) {
	if len(a) > 0 && ev.Type == agui.CallResult && ev.Valid() {
		delete(a, ev.Get("toolCallId").Str)
	}
}

// withoutResult returns the fate of the answers if the run ended well but a call that was approved
// has no result.
func (run *run) withoutResult(finish agui.Event) translate.Fate {
	outcome := agui.View(finish.JSON).Get("outcome.type").Str
	for n := range run.resume.Pause.Interrupts {
		if !profileOfInterrupt(&run.resume.Pause.Interrupts[n]).sendsEveryResult || outcome != "success" {
			return translate.InDoubt
		}
	}
	return translate.Lost
}
