package proxy

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/tell"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
)

// A run that is held open, so that it goes on in the same stream when its question is answered at
// another door, does not exist yet. It will enter in run.concluded, between keep and tell.Ended. A
// held run waits there, in a phase of the body between reading and over, after the exchange with
// the backend is closed. If it waits in vain, because no answer comes, the client leaves or the
// proxy drains, tell.Ended follows. With answers it is a resume like any other: they become the
// input's resume array, readFor.carry names the pause, and run.admit judges, prepares and claims.
// Then the phase is between, and body.next sends. Without another exchange, the client is told what
// run.ruled returns, except its RUN_STARTED. settle.MaxExchanges bounds such a run too, and the
// rest of its Evidence begins anew. Commit 2b85452b had all of it, with tests.

// keep saves what has become of the run, and returns what stands in the record. A resume can arrive
// before it returns.
func (r *run) keep(o *settle.Outcome) (k tell.Kept) {
	ends := o.Ask == nil && o.Refused == nil
	if r.beside = o.Beside; ends {
		r.life.plain.Store(false) // what it has left is saved below, and may take its time
	}
	defer r.life.plain.Store(false)
	switch {
	case o.Refused != nil:
		r.log.Error("pause not kept", "err", o.Refused)
	case o.Ask != nil:
		r.beforePause(o)
	case o.Speaks:
		r.h.noteRoute(r.request.path, r.exchange.speaks(r.h.routes.finder), o.Backend)
	}
	k.Kept = r.ledger.Keep(r.claim, o)
	switch {
	case k.Standing != nil:
		r.record = *k.Standing
		k.Refused = agui.Errorf(agui.ThreadBusy, "the run asks something, but another question of this thread is open")
		k.Open = tell.Open(&r.record)
	case k.Err != nil && o.Ask != nil:
		k.Refused = r.keepError(k.Err)
	case k.Err != nil:
		k.Refused = storeDown().Refusal
	case o.Refused != nil:
		k.Refused = o.Refused
	case o.Ask != nil:
		r.forgetCalls(k.Pause)
	case k.Back:
		k.Open = tell.Open(&r.record)
	case k.Doubtful:
		r.toldDoubt()
	}
	k.Subagents = r.endSubagents(k.Pause)
	if k.Pause != nil || ends && k.Open == nil {
		k.Own = r.listener().OwnResults(&r.knownCalls, r.record.Pause, k.Pause, ends && (k.Doubtful || k.Aftermath(o) == tell.MayHaveRun))
	}
	r.keepOpenCalls(ends && o.Finish.Type == agui.RunFinished)
	return k
}

// beforePause notes what must stand before a question is saved, since it may be answered at once.
func (r *run) beforePause(o *settle.Outcome) {
	if o.StoodUnknown != nil {
		_ = r.dialectFailed("Replies", o.StoodUnknown) // it is logged, and the question is asked nevertheless
	}
	if o.Whole {
		r.transcript = r.wholeTranscript()
	}
	r.ownPause = o.Ask.ID
	r.h.noteRoute(r.request.path, o.Ask.Dialect, o.Ask.Backend)
	r.enterIndex(o.Ask)
}

// wholeTranscript is a transcript of the messages before calls were taken out of them. A backend
// that refused the run is known by it, and that runs no call by itself. It may want the one that it
// waits for.
func (r *run) wholeTranscript() *transcript.Transcript {
	return transcript.New(r.h.opts.TranscriptBytes, r.withheldFrom, r.in.State)
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
