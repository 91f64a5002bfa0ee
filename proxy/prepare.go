package proxy

import (
	"errors"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/door"
	"holdpoint/internal/tanstack"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// prepare does what may still turn a run down or find somebody quicker: Begin and the claim. A
// verdict of contract.Wait means that the record has changed.
func (r *run) prepare() {
	if r.verdict.Ends == store.Withdrawn && !r.giveUp() {
		return
	}
	switch r.verdict.Do {
	case contract.Pass:
		if !r.passHere() {
			r.prepare()
			return
		}
		if len(r.record.Busy) > 0 {
			if r.verdict = threadBusy(); r.threadWasBusy && !r.h.lives.busyAlone(r.ledger.Key) {
				r.verdict = contract.Ruling{Do: contract.Wait} // it was ours, and has ended since
			}
			return
		}
		r.readyPass()
		if r.begin(nil) && (r.exchange.Out.ReadOn || r.h.opts.OnDisconnect == DisconnectFinish) {
			r.readyToReadOn()
		}
	case contract.Resume:
		answers, brings := r.verdict.Answers, len(r.verdict.New) > 0
		if err := r.fetchAsked(); err != nil {
			r.log.Error("the snapshots of the pause cannot be asked for", "err", err)
			r.verdict = storeDown()
			return
		}
		refused := r.readyResume()
		if refused == nil {
			r.toThreadOf(r.record.Pause)
		}
		if refused == nil && r.begin(r.record.Pause) {
			r.claimPause()
			return
		}
		if refused != nil {
			r.verdict = contract.Ruling{Do: contract.Refuse, Refusal: refused, Reask: true}
		}
		switch {
		case refused == nil && contract.AllCancelled(answers):
			r.cancelUnsaid()
			r.prepare()
		case r.record.Pause.Decided() && brings && !r.readFor.carries:
			r.giveUpDecided()
			r.prepare()
		}
	case contract.Reopen:
		r.reopen(r.verdict.Replay)
	case contract.Refuse:
		if r.verdict.Ends == store.Doubtful {
			r.closeDoubt()
		}
		r.keepPart()
	}
}

// readyPass makes out what of the input goes to the dialect in an ordinary run.
func (r *run) readyPass() {
	r.life.plain.Store(true)
	r.notTaken, r.stands = r.verdict.NotTaken, r.verdict.Stands
	r.catchUp()
	r.cleanPass()
	r.disarm() // before the transcript: what a record keeps goes to the backend with the next answer
	whole := r.in.Messages
	if r.withheldFrom = nil; r.withholdOpenCalls(nil) != nil {
		r.withheldFrom = whole
	}
	r.transcript = transcript.New(r.h.opts.TranscriptBytes, r.in.Messages, r.in.State)
}

// readyToReadOn has an ordinary run outlive its client.
func (r *run) readyToReadOn() {
	switch {
	case r.h.lives.busyAlone(r.ledger.Key):
		r.verdict = threadBusy()
	case r.threadWasBusy:
		r.verdict = contract.Ruling{Do: contract.Wait} // it has ended since
	default:
		r.life.occupies = r.ledger.Occupancy()
		if !r.life.outlive() {
			r.verdict = clientLeft()
		}
	}
}

// threadBusy refuses a run beside one that goes on without its client. The backend would refuse it
// too, or begin a second one beside the first.
func threadBusy() contract.Ruling {
	return refuse(agui.ThreadBusy, "an earlier run of this thread goes on without its client: try again when it has ended")
}

// readyResume makes out what of the input goes to the dialect in a resume. An error refuses it.
func (r *run) readyResume() *agui.RunError {
	r.notTaken, r.stands = r.verdict.NotTaken, r.verdict.Stands
	p, answers := r.record.Pause, r.verdict.Answers
	list, refused := r.asAsked(p, answers, r.cleaned(p))
	if refused != nil {
		return refused
	}
	r.withMessages(list)
	if asked := tanstack.InterruptedRun(p.Interrupts[0].Object); asked != "" {
		// TanStack AI's server reads there which run the answers are for. The client may have been
		// told the question in a later run, and Holdpoint's own requests name none.
		r.in = r.in.WithParentRun(asked)
	}
	r.disarm()
	list = r.in.Messages
	edited := r.withholdOpenCalls(p)
	r.logUnclear(p, answers)
	r.transcript, r.untold = r.resumeTranscript(p), r.withholds(p)
	r.knownCalls = r.newKnownCalls(p)
	r.beside = history.NewAmong(list, r.verdict.New)
	for n, m := range r.beside {
		if now, ok := edited[string(m.JSON)]; ok {
			r.beside[n] = now
		}
	}
	return nil
}

// cancelUnsaid: a cancel that cannot be said to the backend. Nothing is sent, and the thread goes
// on.
func (r *run) cancelUnsaid() {
	r.log.Warn("the backend cannot be told that its question is cancelled", "code", r.verdict.Refusal.Code)
	replies := r.replies.Unanswered()
	r.anew()
	r.replies = replies
	r.verdict = contract.GiveUp(r.newCase())
}

// giveUpDecided: what was decided elsewhere cannot be handed on with this chat's history, and the
// chat can take nothing of it back. So its new message goes on without it: nothing is sent of what
// was decided, and the person is told so.
func (r *run) giveUpDecided() {
	why := r.verdict.Refusal
	r.log.Warn("what was decided cannot be handed on with the chat's history: it is given up", "code", why.Code)
	replies := r.replies.Unanswered()
	r.anew()
	r.replies = replies
	r.verdict = contract.GiveUp(r.newCase())
	r.verdict.NotTaken = why
}

// begin asks the dialect what to send; resumed is the pause to go on with, if there is one. What
// the dialect cannot express is refused here, before the claim: false.
func (r *run) begin(resumed *agui.Pause) bool {
	err := r.askBegin(r.forDialect(resumed))
	if err != nil {
		r.notBegun(err)
	}
	return err == nil
}

func (r *run) askBegin(request *translate.Request) (err error) {
	defer dialect.Caught("Begin", &err)
	if request.Answers, err = history.WriteYesNo(&request.Pause, request.Answers, request.EndOnly); err != nil {
		return err
	}
	r.exchange.Out, r.exchange.Run, err = r.h.opts.Dialect.Begin(request)
	r.beside.takenBy(&r.exchange.Out)
	if err == nil {
		r.exchange.Run = r.compare(request, r.exchange.Run)
	}
	return err
}

func (r *run) forDialect(resumed *agui.Pause) *translate.Request {
	request := &translate.Request{
		Input: r.in, Came: r.request.input.Messages, Show: r.show, AsksFirst: r.request.client.AsksFirst(), Transcript: r.transcript,
		Answers: r.verdict.Answers, EndOnly: r.verdict.EndOnly, New: r.beside, Ended: r.endedPauses(resumed), Valid: r.valid,
	}
	request.Backend, request.NewID = r.backend(), r.h.opts.NewID
	if request.Backend == "" {
		request.SharedRunID = r.sharesRunID()
	}
	if resumed != nil {
		request.Pause = *resumed
		request.Pause.Contested = resumed.Contested || len(r.record.Busy) > 0 || r.h.lives.beside(&r.life)
	} else {
		request.Named, _ = r.h.named.Get(r.ledger.Key)
		request.Pause.Dialect = r.spoken()
	}
	r.exchange.dialect = request.Pause.Dialect
	return request
}

func (r *run) notBegun(err error) {
	var refused *agui.RunError
	if !errors.As(err, &refused) {
		refused = r.dialectFailed("Begin", err)
	}
	r.verdict = contract.Ruling{Do: contract.Refuse, Refusal: refused, Reask: r.record.Pause != nil}
}

// endedPauses are those of the record whose questions are still known, newest first. A plain run
// begins beside a pause only if that was given up just now. A tombstone has no questions. A foreign
// dialect hears of a tombstone that failed, because its backend may keep the answers and act on
// them.
func (r *run) endedPauses(resumed *agui.Pause) []translate.Ended {
	if r.record.Pause == nil && len(r.record.Results) == 0 && len(r.linked) == 0 {
		return nil
	}
	list := make([]translate.Ended, 0, 1+min(len(r.record.Results), store.MaxReplayable))
	if p := r.record.Pause; p != nil && resumed == nil {
		list = append(list, translate.Ended{Pause: *p})
	}
	for _, result := range r.record.Results {
		if result.Pause != nil && !result.Tombstone {
			list = append(list, translate.Ended{Pause: *result.Pause, Failed: contract.EndedBadly(result)})
		} else if result.Failed && r.h.foreign != nil {
			list = append(list, translate.Ended{Pause: agui.Pause{ID: result.PauseID}, Failed: true})
		}
	}
	for _, one := range r.linked {
		if resumed == nil || one.Pause.ID != resumed.ID {
			list = append(list, translate.Ended{Pause: *one.Pause, Failed: one.Result != nil && contract.EndedBadly(one.Result)})
		}
	}
	return list
}

// claimPause claims the pause for the answers, or sets another verdict.
func (r *run) claimPause() {
	claim, err := r.ledger.Take(r.record.Pause, r.verdict.Answers, r.interpret(r.record.Pause, r.verdict.Answers), r.record.Now)
	r.claim = claim
	switch {
	case err == nil:
		if o := r.record.Pause.Origin; r.span != nil && o != nil {
			r.span.Resumes(o.Trace)
		}
	case errors.Is(err, door.ErrNotWritten):
		r.log.Error("claim not taken: the audit is required and cannot be written", "err", err)
		r.verdict = refuse(agui.AuditUnavailable, "the answer cannot be written down at the moment, so it is not handed on: try again")
		r.verdict.Reask = true
		return
	case ledger.Quicker(err):
		r.verdict = contract.Ruling{Do: contract.Wait}
		return
	default:
		r.log.Error("claim not taken by the store", "err", err)
		r.verdict = storeDown()
		return
	}
	switch free, err := r.occupyOwnThread(); {
	case err != nil:
		r.log.Error("the thread that the request names cannot be kept for it", "err", err)
		_, _ = r.claim.Release()
		r.verdict = storeDown()
		return
	case !free:
		_, _ = r.claim.Release()
		r.verdict = threadBusy()
		return
	}
	if !r.life.outlive() {
		_, _ = r.claim.Release() // nothing was sent
		r.verdict = clientLeft()
	}
}

// clientLeft refuses a run whose client closed its side before anything was sent to the backend.
// The client may still read: it has closed its sending side only. So it is asked again.
func clientLeft() contract.Ruling {
	ruling := refuse(agui.ClientLeft, "the client closed its side of the connection before the request was handed on")
	ruling.Reask = true
	return ruling
}

// closeDoubt closes a doubt that is to be told: the pause ends with it, so that the thread can go
// on. It sets another verdict if there is none any more.
func (r *run) closeDoubt() {
	p := r.record.Pause
	told := store.Result{How: store.Doubtful}
	var happened []ledger.Occurrence
	if r.record.Doubt == nil { // a lapsed lease: what was seen of the run is gone with who held it
		told.Seen = p.Seen
		happened = []ledger.Occurrence{ledger.InDoubt(p)} // else the run that came to the doubt has told it
	}
	switch err := r.ledger.Close(p.ID, told, happened...); {
	case ledger.Closed(err):
	case ledger.EndedAlready(err):
		r.verdict = contract.Ruling{Do: contract.Wait} // another request was told, or the run ended after all
	default: // it may be closed: a doubt is rather told twice than never
		r.log.Error("doubt not closed by the store", "err", err)
	}
}

// giveUp closes the open pause: nothing that can be said to it can be handed on. false: another
// verdict is set.
func (r *run) giveUp() bool {
	p := r.record.Pause
	var happened []ledger.Occurrence
	if r.ledger.Voice.Tells() {
		cancels := contract.CancelAll(p)
		happened = ledger.GivenUp(p, cancels, r.interpret(p, cancels), r.record.Now)
		if slices.ContainsFunc(p.Decisions, func(d agui.Decision) bool { return d.Status != agui.Cancelled }) {
			happened = []ledger.Occurrence{ledger.Withdrawn(p)}
		}
	}
	err := r.ledger.Close(p.ID, store.Result{How: store.Withdrawn, Seen: p.Seen}, happened...)
	switch {
	case err == nil:
	case ledger.EndedAlready(err):
		r.verdict = contract.Ruling{Do: contract.Wait}
	default:
		r.log.Error("pause not given up by the store", "err", err)
		r.verdict = storeDown()
	}
	return err == nil
}
