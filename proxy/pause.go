package proxy

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// A run that is held open, so that it goes on in the same stream when its question is answered at
// another door, does not exist yet. It will enter here. concludePause has three steps: savePause,
// closeOpen, tellSaved. A held run waits before the third, in a phase of the body between reading
// and over, after the exchange with the backend is closed. If it waits in vain, because no answer
// comes, the client leaves or the proxy drains, tellSaved follows. With answers it is a resume
// like any other: they become the input's resume array, readFor.carry names the pause, and
// run.admit judges, prepares and claims. Then the phase is between, and body.next sends. Without
// another exchange, the client is told what run.ruled returns, except its RUN_STARTED.
// settle.MaxExchanges bounds such a run too, and the rest of its Evidence begins anew. Commit
// 2b85452b had all of it, with tests.

// concludePause ends an exchange that asks: it saves the pause, closes what is open, and tells it.
// A resume can arrive before the first step returns.
func (r *run) concludePause(o *settle.Outcome) conclusion {
	defer r.life.plain.Store(false)
	r.beside = o.Beside
	s, refused := r.savePause(o)
	if refused != nil {
		var standing *agui.Pause // another question that is open
		if refused.Code == agui.ThreadBusy {
			standing = r.stillAsked()
		}
		r.report.outcome, r.report.code = "error", refused.Code
		events := append(r.endSubagents(nil), o.Before...)
		return conclusion{events: r.lastWords(events, refused.Event(), standing, handedOn), said: true}
	}
	r.report.outcome, r.report.paused = "interrupt", s.pause
	subagents := r.endSubagents(s.pause)
	closing := append(r.closeOpen(o.Before), r.ownResults(s.pause, false)...)
	return conclusion{events: r.tellSaved(s, closing, subagents), said: true}
}

// savePause is the first step. If a pause with the same questions stands already, that one counts.
func (r *run) savePause(o *settle.Outcome) (*savedPause, *agui.RunError) {
	if o.StoodUnknown != nil {
		_ = r.dialectFailed("Replies", o.StoodUnknown) // it is logged, and the question is asked nevertheless
	}
	if o.Refused != nil {
		r.log.Error("pause not kept", "err", o.Refused)
		if kept := r.ledger.Keep(r.claim, o); kept.Err != nil {
			return nil, storeDown().Refusal
		}
		return nil, o.Refused
	}
	if o.Whole {
		r.transcript = r.wholeTranscript()
	}
	p := o.Ask
	r.ownPause = p.ID
	r.h.noteRoute(r.request.path, p.Dialect, p.Backend)
	r.enterIndex(p)
	p, refused := r.keep(o)
	if refused != nil {
		return nil, refused
	}
	r.forgetCalls(p)
	s := &savedPause{pause: p, kept: o.Shown}
	if !o.Announced {
		s.announce = r.announcement(p)
	}
	return s, nil
}

// wholeTranscript is a transcript of the messages before calls were taken out of them. A backend
// that refused the run is known by it, and that runs no call by itself. It may want the one that it
// waits for.
func (r *run) wholeTranscript() *transcript.Transcript {
	return transcript.New(r.h.opts.TranscriptBytes, r.withheldFrom, r.in.State)
}

// closeOpen is the second step: what was held back, and the ends of what is open.
func (r *run) closeOpen(before []agui.Event) []agui.Event {
	if r.show == translate.ShowNative { // nothing is made for such a client
		return before
	}
	return append(before, r.transcript.Unclosed(false)...)
}

// tellSaved is the last step. closing is what the second step gave, subagents are the ends of
// subagents that waited (waitingSubagents).
func (r *run) tellSaved(s *savedPause, closing, subagents []agui.Event) []agui.Event {
	if r.show != translate.ShowNative {
		closing = r.appendSnapshots(closing, s.kept)
	}
	events := r.tellPause(s.pause, s.announce, append(closing, subagents...))
	last := len(events) - 1
	events[last] = r.withNotTaken(events[last])
	return events
}

// keep saves the outcome of a run that asks. If a pause with the same questions stands already,
// that one is told.
func (r *run) keep(o *settle.Outcome) (*agui.Pause, *agui.RunError) {
	kept := r.ledger.Keep(r.claim, o)
	if kept.Standing != nil {
		r.record = *kept.Standing
		return nil, agui.Errorf(agui.ThreadBusy, "the run asks something, but another question of this thread is open")
	}
	return kept.Pause, r.keepError(kept.Err)
}

func (r *run) keepError(err error) *agui.RunError {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		r.log.Error("pause not kept", "err", err)
		return agui.Errorf(agui.StoreFull, "the run asks something that cannot be kept: too many questions are open (HOLDPOINT_STORE_ENTRIES, HOLDPOINT_STORE_BYTES)")
	case errors.Is(err, store.ErrShare):
		r.log.Warn("pause not kept", "err", err)
		return agui.Errorf(agui.StoreFull, "the run asks something that cannot be kept: the questions open for this address have their share (HOLDPOINT_ADDRESS_SHARE)")
	}
	r.log.Error("pause not kept", "err", err)
	if errors.Is(err, store.ErrOwner) {
		return agui.Errorf(agui.ThreadForbidden, "the thread belongs to somebody else")
	}
	return agui.Errorf(agui.StoreUnavailable, "the run asks something that cannot be kept at the moment")
}

// withdraw closes the pause that this stream opened, if it is open still: the backend went on
// without an answer.
func (r *run) withdraw() {
	if r.report.paused == nil || r.report.paused.ID != r.ownPause {
		return
	}
	if rec, err := r.ledger.Load(); err == nil && rec.State != store.Open {
		return // it was answered meanwhile, and that has an end of its own
	}
	err := r.ledger.Close(r.report.paused.ID, store.Result{How: store.Withdrawn, Seen: r.report.paused.Seen}, ledger.Withdrawn(r.report.paused))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		r.log.Warn("pause not withdrawn", "err", err)
	}
	r.report.paused = nil
}
