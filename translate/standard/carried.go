package standard

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// awaitedResults are the calls that were answered and have no result yet in the resumed stream. It
// holds those only whose backend always sends one.
type awaitedResults map[string]bool

func approvedCalls(r *translate.Request) awaitedResults {
	var calls awaitedResults
	for n, a := range r.Answers {
		i := r.Pause.Interrupts[n]
		p := profileOfInterrupt(&i)
		if p.result == "" || i.CallUnseen || !p.brings(i, a) {
			continue // the result of a call that is not in the stream is not there either
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

// brings reports whether the answer brings a result. A backend that forgets sends one of each call,
// also of a call that was denied.
func (p profile) brings(i agui.Interrupt, a agui.Answer) bool {
	return kit.Says(i, a) == agui.Approves || p.forgets && a.Status == agui.Resolved
}

// see strikes off the call that a result is of.
func (a awaitedResults) see(ev agui.Event) {
	if len(a) > 0 && ev.Type == agui.CallResult && ev.Valid() {
		delete(a, ev.Get("toolCallId").Str)
	}
}

// withoutResult returns what became of the answers if the run ended well, and a call that was
// approved has no result.
func (run *run) withoutResult(finish agui.Event) translate.Fate {
	outcome := agui.View(finish.JSON).Get("outcome.type").Str
	for n := range run.left.Pause.Interrupts {
		if !profileOfInterrupt(&run.left.Pause.Interrupts[n]).forgets || outcome != "success" {
			return translate.InDoubt
		}
	}
	return translate.Lost
}
