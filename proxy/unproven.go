package proxy

import (
	"bytes"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// doubtOf is what an exchange came to whose dialect says no more than that it is over. A RUN_ERROR
// behind an approval does not say whether the approved was carried out. Only a result of the call
// shows that it was.
func (r *run) doubtOf(res *translate.Result, e *ending, became translate.Fate) translate.Fate {
	if became != translate.Finished || e.known || e.Event.Type != agui.RunErrored || res.Next != nil || len(res.Asked.Interrupts) > 0 || !r.unproven() {
		return became
	}
	if res.Finish.Type == agui.Unknown {
		res.Finish = e.Event
	}
	r.errored = true
	return translate.InDoubt
}

// unproven says whether the exchange carried an answer that lets something run, and no result shows
// that it ran.
func (r *run) unproven() bool {
	p := r.record.Pause
	if p == nil || r.claim.token == "" || !r.exchange.Out.Resumes || !r.exchange.evidence().Sent() {
		return false
	}
	return slices.ContainsFunc(r.answers.list, func(a agui.Answer) bool {
		i := p.Interrupt(a.ID)
		return i != nil && a.Status == agui.Resolved && kit.Says(*i, a) != agui.Denies && !r.hasResult(i)
	})
}

// hasResult says whether the stream brought the result of a call that the question names. A result
// in the request may be made up.
func (r *run) hasResult(i *agui.Interrupt) bool {
	for _, c := range r.transcript.Calls() {
		if c.Answered && c.ID != "" && bytes.Contains(i.Object, agui.AppendString(nil, c.ID)) && !r.request.hasResult(c.ID) {
			return true
		}
	}
	return false
}
