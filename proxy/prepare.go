package proxy

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// prepare does what may still turn a run down or find somebody quicker: Begin and the claim. A decision of actWait
// means that the record has changed.
func (r *run) prepare(d decision) decision {
	if d.withdraw {
		if changed := r.giveUp(); changed.do != actPass {
			return changed
		}
	}
	switch d.do {
	case actPass:
		return r.preparePass(d)
	case actResume:
		return r.prepareResume(d)
	case actRefuse:
		if d.doubt {
			return r.closeDoubt(d)
		}
	}
	return d
}

func (r *run) preparePass(d decision) decision {
	if r.show != translate.ShowNative { // such a client's history is the backend's own
		r.in = withoutLeftovers(r.in)
	}
	r.in = withoutCarriers(r.withoutStray(r.in, nil), r.unsettled(d.gone))
	if d.strip {
		r.in = r.in.WithoutResume()
	}
	if d.command {
		r.in = r.in.WithoutCommand()
	}
	r.transcript = newTranscript(r.h.opts.TranscriptBytes, r.in.Messages, r.in.State)
	d = r.begin(d, &agui.Pause{Dialect: r.spoken()})
	switch {
	case d.do != actPass || !r.exchange.Out.ReadOn:
	case r.h.busyAlone(r.key):
		// The backend would refuse a second run, or begin one beside the first.
		return refuse(agui.ThreadBusy, "an earlier run of this thread goes on without its client: try again when it has ended")
	case r.busy:
		return decision{do: actWait} // it has ended since
	case !r.outlive():
		return givenUp()
	}
	return d
}

func (r *run) prepareResume(d decision) decision {
	p := r.record.Pause
	r.in = withoutRepeatedAnswers(r.in, p)
	r.in = withoutCarriers(r.withoutStray(r.in, d.answers), append(r.unsettled(d.gone), d.answers...))
	r.byArray = r.in.HasResume
	r.transcript = r.resumeTranscript(p)
	r.known = map[string]bool{}
	if r.show != translate.ShowNative { // such a client knows what to make of its backend's stream
		for _, c := range r.transcript.Calls() {
			r.known[c.ID] = true
		}
		if _, whole := r.transcript.Messages(); !whole { // the request may bring fewer than the client has
			for _, i := range p.Interrupts {
				r.known[i.ToolCallID()] = i.ToolCallID() != ""
			}
		}
	}
	r.fresh = stillIn(r.in.Messages, d.fresh)
	r.taken = len(r.fresh) == 0
	begun := r.begin(d, p)
	if begun.do == actResume {
		return r.claim(begun, p)
	}
	if allCancelled(d.answers) {
		// A cancel that cannot be said to the backend: nothing is sent, and the thread goes on.
		r.log.Warn("the backend cannot be told that its question is cancelled", "code", begun.err.Code)
		old, settled := r.old, r.settled
		r.attempt = newAttempt(r.came)
		r.old, r.settled = old, settled
		q := question{in: r.in, record: r.record, settled: settled}
		return r.prepare(q.giveUp())
	}
	return begun
}

// begin asks the dialect what to send. What it cannot express is refused here, before the claim.
func (r *run) begin(d decision, p *agui.Pause) decision {
	out, translation, err := r.h.opts.Dialect.Begin(translate.Request{
		Input: r.in, Came: r.came.Messages, Show: r.show, Transcript: r.transcript,
		Pause: *p, Answers: d.answers, New: r.fresh, Ended: r.endedPauses(p), Valid: r.valid,
	})
	if err != nil {
		var refused *agui.RunError
		if !errors.As(err, &refused) {
			r.log.Error("dialect failed", "err", err)
			refused = agui.Errorf(agui.InvalidPayload, "the answers cannot be handed to the backend")
		}
		return decision{do: actRefuse, err: refused, reask: r.record.Pause != nil}
	}
	r.exchange = translate.Exchange{Out: out, Run: translation}
	r.taken = r.taken || out.TakesNew
	return d
}

// endedPauses are those of the record whose questions are still known, newest first. A plain run begins beside a pause only
// if that was given up just now. A tombstone's questions are not known; that it failed a backend may have to be told of which
// keeps the answers, for it acts on them.
func (r *run) endedPauses(resumed *agui.Pause) []agui.Pause {
	var list []agui.Pause
	if p := r.record.Pause; p != nil && resumed.ID == "" {
		list = append(list, *p)
	}
	for _, result := range r.record.Results {
		if result.Pause != nil && !result.Tombstone {
			p := *result.Pause
			p.Failed = result.How == store.Doubtful || isError(result.Finish)
			list = append(list, p)
		} else if result.Failed && r.h.foreign != nil {
			list = append(list, agui.Pause{ID: result.PauseID, Failed: true})
		}
	}
	return list
}
