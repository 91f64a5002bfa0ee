package proxy

import (
	"errors"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event/door"
	"holdpoint/internal/tanstack"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// prepare does what may still turn a run down before the claim: it closes or reopens what the
// ruling ends, makes out what goes to the backend, and begins the exchange. It returns the ruling
// that stands then; again says that this is another one, which has to be prepared too. A ruling of
// contract.Wait means that the record has changed.
func (r *run) prepare(v contract.Ruling) (stands contract.Ruling, again bool) {
	if v.Ends == store.Withdrawn {
		if ended := r.giveUp(); ended != nil {
			return *ended, false
		}
	}
	switch v.Do {
	case contract.Pass:
		return r.preparePass(v)
	case contract.Resume:
		return r.prepareResume(v)
	case contract.Reopen:
		return r.reopen(v.Replay), false
	case contract.Refuse:
		if v.Ends == store.Doubtful {
			v = r.closeDoubt(v)
		}
		r.keepPart(v)
	}
	return v, false
}

// preparePass prepares an ordinary run.
func (r *run) preparePass(v contract.Ruling) (stands contract.Ruling, again bool) {
	if r.ownThread != nil {
		if v = r.passHere(v); v.Do != contract.Pass {
			return v, true
		}
	}
	if len(r.record.Busy) > 0 {
		if r.threadWasBusy && !r.h.lives.busyAlone(r.ledger.Key) {
			return contract.Ruling{Do: contract.Wait}, false // it was ours, and has ended since
		}
		return threadBusy(), false
	}
	r.readyPass(v)
	if refused := r.begin(nil, v); refused != nil {
		return *refused, false
	}
	if r.exchange.Out.ReadOn || r.h.opts.OnDisconnect == DisconnectFinish {
		if refused := r.readyToReadOn(); refused != nil {
			return *refused, false
		}
	}
	return v, false
}

// prepareResume prepares a run that brings answers. What cannot be handed on is refused. Where the
// chat could not go on then, the pause is given up.
func (r *run) prepareResume(v contract.Ruling) (stands contract.Ruling, again bool) {
	if err := r.fetchAsked(); err != nil {
		r.log.Error("the snapshots of the pause cannot be asked for", "err", err)
		return storeDown(), false
	}
	unready := r.readyResume(v)
	var refused *contract.Ruling
	if unready != nil {
		refused = &contract.Ruling{Do: contract.Refuse, Refusal: unready, Reask: true}
	} else {
		r.toThreadOf(r.record.Pause)
		refused = r.begin(r.record.Pause, v)
	}
	switch {
	case refused == nil:
		return v, false
	case unready == nil && contract.AllCancelled(v.Answers):
		// Nothing is sent, and the thread goes on.
		r.log.Warn("the backend cannot be told that its question is cancelled", "code", refused.Refusal.Code)
		return r.givesUpUnsaid(), true
	case r.record.Pause.Decided() && len(v.New) > 0 && !r.readFor.carries:
		// The chat can take nothing back of what was decided elsewhere. So its new message goes on
		// without it: nothing is sent of what was decided, and the person is told so.
		r.log.Warn("what was decided cannot be handed on with the chat's history: it is given up", "code", refused.Refusal.Code)
		v = r.givesUpUnsaid()
		v.NotTaken = refused.Refusal
		return v, true
	}
	return *refused, false
}

// readyPass makes out what of the input goes to the dialect in an ordinary run.
func (r *run) readyPass(v contract.Ruling) {
	r.life.plain.Store(true)
	r.notTaken, r.stands = v.NotTaken, v.Stands
	r.catchUp(v.Missed, v.New)
	r.cleanPass(v.Leave)
	r.disarm() // before the transcript: what a record keeps goes to the backend with the next answer
	whole := r.in.Messages
	if r.withheldFrom = nil; r.withholdOpenCalls(nil) != nil {
		r.withheldFrom = whole
	}
	r.transcript = transcript.New(r.h.opts.TranscriptBytes, r.in.Messages, r.in.State)
}

// readyToReadOn has an ordinary run outlive its client. It returns another ruling if it cannot.
func (r *run) readyToReadOn() *contract.Ruling {
	var v contract.Ruling
	switch {
	case r.h.lives.busyAlone(r.ledger.Key):
		v = threadBusy()
	case r.threadWasBusy:
		v = contract.Ruling{Do: contract.Wait} // it has ended since
	default:
		r.life.occupies = r.ledger.Occupancy()
		if r.life.outlive() {
			return nil
		}
		v = clientLeft()
	}
	return &v
}

// threadBusy refuses a run beside one that goes on without its client. The backend would refuse it
// too, or begin a second one beside the first.
func threadBusy() contract.Ruling {
	return refuse(agui.ThreadBusy, "an earlier run of this thread goes on without its client: try again when it has ended")
}

// readyResume makes out what of the input goes to the dialect in a resume. An error refuses it.
func (r *run) readyResume(v contract.Ruling) *agui.RunError {
	r.notTaken, r.stands = v.NotTaken, v.Stands
	p, answers := r.record.Pause, v.Answers
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
	r.knownCalls = r.listener().KnownCalls(p, answers, r.transcript)
	r.beside = history.NewAmong(list, v.New)
	for n, m := range r.beside {
		if now, ok := edited[string(m.JSON)]; ok {
			r.beside[n] = now
		}
	}
	return nil
}

// givesUpUnsaid gives the pause up whose answers are not sent. The replies of the request answer
// nothing then.
func (r *run) givesUpUnsaid() contract.Ruling {
	replies := r.replies.Unanswered()
	r.anew()
	r.replies = replies
	return contract.GiveUp(r.newCase())
}

// begin asks the dialect what to send; resumed is the pause to go on with, if there is one. What
// the dialect cannot express is refused here, before the claim.
func (r *run) begin(resumed *agui.Pause, v contract.Ruling) (refused *contract.Ruling) {
	err := r.askBegin(r.forDialect(resumed, v))
	if err == nil {
		return nil
	}
	var told *agui.RunError
	if !errors.As(err, &told) {
		told = r.dialectFailed("Begin", err)
	}
	return &contract.Ruling{Do: contract.Refuse, Refusal: told, Reask: r.record.Pause != nil}
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

func (r *run) forDialect(resumed *agui.Pause, v contract.Ruling) *translate.Request {
	request := &translate.Request{
		Input: r.in, Came: r.request.input.Messages, Show: r.show, AsksFirst: r.request.client.AsksFirst(), Transcript: r.transcript,
		Answers: v.Answers, EndOnly: v.EndOnly, New: r.beside, Ended: r.endedPauses(resumed), Valid: r.valid,
	}
	request.Backend, request.NewID = r.backend(), r.h.opts.NewID
	if request.Backend == "" {
		request.SharedRunID = r.sharesRunID()
	}
	if resumed != nil {
		if request.Sessions = r.h.opts.Sessions; request.Sessions {
			request.Input = r.in.WithMessages(r.beside) // the backend has the others
		}
		request.Pause = *resumed
		request.Pause.Contested = resumed.Contested || len(r.record.Busy) > 0 || r.h.lives.beside(&r.life)
	} else {
		request.Named, _ = r.h.named.Get(r.ledger.Key)
		request.Pause.Dialect = r.spoken()
	}
	r.exchange.dialect = request.Pause.Dialect
	return request
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

// take claims the pause for the answers. It returns another ruling if it cannot.
func (r *run) take(v contract.Ruling) contract.Ruling {
	p := r.record.Pause
	claim, err := r.ledger.Take(p, v.Answers, r.interpret(p, v.Answers), r.record.Now)
	r.claim = claim
	switch {
	case err == nil:
		if o := p.Origin; r.span != nil && o != nil {
			r.span.Resumes(o.Trace)
		}
	case errors.Is(err, door.ErrNotWritten):
		r.log.Error("claim not taken: the audit is required and cannot be written", "err", err)
		v = refuse(agui.AuditUnavailable, "the answer cannot be written down at the moment, so it is not handed on: try again")
		v.Reask = true
		return v
	case ledger.Quicker(err):
		return contract.Ruling{Do: contract.Wait}
	default:
		r.log.Error("claim not taken by the store", "err", err)
		return storeDown()
	}
	switch free, err := r.occupyOwnThread(); {
	case err != nil:
		r.log.Error("the thread that the request names cannot be kept for it", "err", err)
		_, _ = r.claim.Release()
		return storeDown()
	case !free:
		_, _ = r.claim.Release()
		return threadBusy()
	}
	if !r.life.outlive() {
		_, _ = r.claim.Release() // nothing was sent
		return clientLeft()
	}
	return v
}

// clientLeft refuses a run whose client closed its side before anything was sent to the backend.
// The client may still read: it has closed its sending side only. So it is asked again.
func clientLeft() contract.Ruling {
	ruling := refuse(agui.ClientLeft, "the client closed its side of the connection before the request was handed on")
	ruling.Reask = true
	return ruling
}

// closeDoubt closes a doubt that is to be told: the pause ends with it, so that the thread can go
// on. It returns another ruling if there is none any more.
func (r *run) closeDoubt(v contract.Ruling) contract.Ruling {
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
		return contract.Ruling{Do: contract.Wait} // another request was told, or the run ended after all
	default: // it may be closed: a doubt is rather told twice than never
		r.log.Error("doubt not closed by the store", "err", err)
	}
	return v
}

// giveUp closes the open pause: nothing that can be said to it can be handed on. It returns another
// ruling if it cannot be closed.
func (r *run) giveUp() *contract.Ruling {
	p := r.record.Pause
	var happened []ledger.Occurrence
	if r.ledger.Voice.Tells() {
		cancels := contract.CancelAll(p)
		happened = ledger.GivenUp(p, cancels, r.interpret(p, cancels), r.record.Now)
		if slices.ContainsFunc(p.Decisions, func(d agui.Decision) bool { return d.Status != agui.Cancelled }) {
			happened = []ledger.Occurrence{ledger.Withdrawn(p)}
		}
	}
	switch err := r.ledger.Close(p.ID, store.Result{How: store.Withdrawn, Seen: p.Seen}, happened...); {
	case err == nil:
		return nil
	case ledger.EndedAlready(err):
		return &contract.Ruling{Do: contract.Wait}
	default:
		r.log.Error("pause not given up by the store", "err", err)
		v := storeDown()
		return &v
	}
}
