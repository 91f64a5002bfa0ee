package standard

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// awaitedResults is the set of ids of answered calls that have no result yet in the resumed stream.
// It contains only calls for which the backend always sends a result.
type awaitedResults map[string]bool

func approvedCalls(r *translate.Request) awaitedResults {
	var calls awaitedResults
	for n, a := range r.Answers {
		i := r.Pause.Interrupts[n]
		p := profileOfInterrupt(&i)
		if p.result == "" || i.CallUnseen || !p.sendsResult(i, a) {
			continue // if the stream lacks the call, it lacks the result too
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

// sendsResult reports whether the backend sends a result of the call after this answer. It does if
// the answer is an approval. If the profile has sendsEveryResult, it also does after a denial.
func (p profile) sendsResult(i agui.Interrupt, a agui.Answer) bool {
	return kit.MeaningOf(i, a) == agui.Approves || p.sendsEveryResult && a.Status == agui.Resolved
}

// remove removes the call that a TOOL_CALL_RESULT belongs to.
func (a awaitedResults) remove(ev agui.Event) {
	if len(a) > 0 && ev.Type == agui.CallResult && ev.Valid() {
		delete(a, ev.Get("toolCallId").Str)
	}
}

// withoutResult returns the fate of the answers if the run ended without an error but an expected
// result is missing. The fate is Lost if the backend sends every result, and InDoubt otherwise.
func (run *run) withoutResult(finish agui.Event) translate.Fate {
	outcome := agui.View(finish.JSON).Get("outcome.type").Str
	for n := range run.resume.Pause.Interrupts {
		if !profileOfInterrupt(&run.resume.Pause.Interrupts[n]).sendsEveryResult || outcome != "success" {
			return translate.InDoubt
		}
	}
	return translate.Lost
}
