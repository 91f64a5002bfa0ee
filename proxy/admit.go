package proxy

import (
	"errors"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event/door"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
)

// admit decides what happens to the run. It asks the judge for a ruling, prepares what the ruling
// needs, and claims the pause if the run has answers. It repeats this until no attempt has to wait.
// After contract.Pass and contract.Resume an exchange is ready to be sent; the caller reports any
// other ruling to the client.
//
// The claim precedes the request to the backend, so only one of two equal clicks reaches it.
func (r *run) admit(out *stream.Writer) contract.Ruling {
	for wait := newWaiter(); ; {
		next := wait.waitAgain
		r.client.preparedRun = preparedRun{}
		v, err := r.judge.ruling()
		if err != nil {
			if v = r.notJudged(err); v.Refusal.Code != agui.StoreUnavailable || !wait.countFailedLook() {
				return v
			}
			next = wait.wait
		} else if v.Do != contract.Wait {
			for again := true; again; {
				v, again = r.prepare(v)
			}
			if v.Do == contract.Resume {
				v = r.claimPause(v)
			}
			if v.Do != contract.Wait {
				return v
			}
			next = wait.judgeAgain
		}
		if err := next(r, out); err != nil {
			return r.waitedInVain(err)
		}
	}
}

// waitedInVain returns the refusal of a run that stops waiting because of err.
func (r *run) waitedInVain(err error) contract.Ruling {
	if !errors.Is(err, errAlwaysOvertaken) {
		return contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, err)}
	}
	r.log.Error(logNotClaimable, "err", err, "claim", r.judge.ledger.Refused())
	v := refuse(agui.StoreUnavailable, textNotClaimed)
	v.AsksAgain = true
	return v
}

func (r *run) notJudged(err error) contract.Ruling {
	if bug := (*dialect.Bug)(nil); errors.As(err, &bug) {
		return contract.Ruling{Do: contract.Refuse, Refusal: r.judge.dialectFailed("Answers", err), AsksAgain: true}
	}
	r.log.Debug("the store cannot be asked", "err", err) // outages logs it
	return storeDown()
}

// occupyOwnThread reserves the thread that the request names, while the run continues a question of
// another thread. free is false if that thread already has a run.
func (r *run) occupyOwnThread() (free bool, err error) {
	own := r.judge.ownThread
	if own == nil {
		return true, nil
	}
	o, err := r.judge.ledger.Occupy(own.key)
	if o == nil {
		return false, err
	}
	r.life.ownThread = o
	return true, nil
}

// reopen opens an ended pause again, so that it can be cancelled.
func (r *run) reopen(ended *store.Result) contract.Ruling {
	r.judge.selection = pauseSelection{} // the answers now belong to the reopened pause
	switch err := r.judge.ledger.Reopen(ended); {
	case err == nil, errors.Is(err, store.ErrExists):
		return contract.Ruling{Do: contract.Wait}
	default:
		return contract.Ruling{Do: contract.Refuse, Refusal: r.judge.keepError(err)}
	}
}

// prepare does the steps after which a run may still be refused, before the claim: it closes or
// reopens the pause that the ruling ends, makes the input for the backend, and begins the exchange.
// It returns the resulting ruling. If again is true, that is a different ruling, and the caller
// must prepare it too. contract.Wait means that the record has changed.
func (r *run) prepare(v contract.Ruling) (stands contract.Ruling, again bool) {
	if v.EndKind == store.Withdrawn {
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
		if v.EndKind == store.Doubtful {
			v = r.closeDoubt(v)
		}
		r.judge.keepPart(v)
	}
	return v, false
}

// preparePass prepares a run without answers. See prepare for the results.
func (r *run) preparePass(v contract.Ruling) (stands contract.Ruling, again bool) {
	if r.judge.ownThread != nil {
		if v = r.judge.passHere(v); v.Do != contract.Pass {
			return v, true
		}
	}
	if len(r.judge.record.Occupants) > 0 {
		if r.judge.threadWasBusy && !r.h.runs.busyAlone(r.judge.ledger.Key) {
			return contract.Ruling{Do: contract.Wait}, false // it was a run of this process, and has ended since
		}
		return threadBusy(), false
	}
	r.life.mayAsk.Store(true)
	r.client.preparedRun = r.judge.readyPass(v)
	if refused := r.beginExchange(nil, v); refused != nil {
		return *refused, false
	}
	if r.exchange.Out.ReadOn || r.h.opts.OnDisconnect == DisconnectFinish {
		if refused := r.readyToReadOn(); refused != nil {
			return *refused, false
		}
	}
	return v, false
}

// prepareResume prepares a run with answers. Answers that cannot be sent are refused. If that would
// leave the chat without a way to continue, the pause is given up instead. See prepare for the
// results.
func (r *run) prepareResume(v contract.Ruling) (stands contract.Ruling, again bool) {
	if err := r.judge.fetchPauseMessages(); err != nil {
		r.log.Error(logAskedUnread, "err", err)
		return storeDown(), false
	}
	var unready *agui.RunError
	r.client.preparedRun, unready = r.judge.readyResume(v)
	var refused *contract.Ruling
	if unready != nil {
		refused = &contract.Ruling{Do: contract.Refuse, Refusal: unready, AsksAgain: true}
	} else {
		r.judge.toThreadOf(r.judge.record.Pause)
		refused = r.beginExchange(r.judge.record.Pause, v)
	}
	switch {
	case refused == nil:
		return v, false
	case unready == nil && contract.AllCancelled(v.Answers):
		// Nothing is sent for the cancelled question, and the thread continues.
		r.log.Warn(logCancelUnsaid, "code", refused.Refusal.Code)
		return r.giveUpUnsent(), true
	case r.judge.record.Pause.Decided() && len(v.NewMessages) > 0 && !r.judge.selection.carriesPause:
		// The chat cannot take back a decision that was made at another door. So the decision is
		// dropped, the new message is sent without it, and the person is told so.
		r.log.Warn(logDecisionGivenUp, "code", refused.Refusal.Code)
		v = r.giveUpUnsent()
		v.AnswersUnused = refused.Refusal
		return v, true
	}
	return *refused, false
}

// readyToReadOn lets a run without answers continue after its client leaves. It returns another
// ruling if that is not possible, else nil.
func (r *run) readyToReadOn() *contract.Ruling {
	var v contract.Ruling
	switch {
	case r.h.runs.busyAlone(r.judge.ledger.Key):
		v = threadBusy()
	case r.judge.threadWasBusy:
		v = contract.Ruling{Do: contract.Wait} // it has ended meanwhile
	default:
		r.life.occupancy = r.judge.ledger.Occupancy()
		if r.life.outliveClient() {
			return nil
		}
		v = clientLeft()
	}
	return &v
}

// threadBusy refuses a run while another run of its thread continues without its client. The
// backend would refuse the second run too, or execute both at once.
func threadBusy() contract.Ruling {
	return refuse(agui.ThreadBusy, textThreadBusy)
}

// giveUpUnsent gives up the pause without sending its answers. The replies in the messages of the
// request no longer count as answers.
func (r *run) giveUpUnsent() contract.Ruling {
	replies := r.judge.replies.Unanswered()
	r.judge.nextAttempt()
	r.client.preparedRun, r.judge.replies = preparedRun{}, replies
	return contract.GiveUp(r.judge.newCase())
}

// beginExchange has the dialect begin the exchange of the run, and returns the refusal if the
// dialect cannot; see judge.begin.
func (r *run) beginExchange(resumed *agui.Pause, v contract.Ruling) (refused *contract.Ruling) {
	r.exchange.translation, refused = r.judge.begin(&r.client.preparedRun, resumed, v)
	return refused
}

// claimPause claims the pause for the answers. It returns v, or another ruling if the claim fails.
func (r *run) claimPause(v contract.Ruling) contract.Ruling {
	p := r.judge.record.Pause
	claim, err := r.judge.ledger.ClaimPause(p, v.Answers, r.judge.interpret(p, v.Answers), r.judge.record.Now)
	r.claim = claim
	switch {
	case err == nil:
		if o := p.Origin; r.judge.span != nil && o != nil {
			r.judge.span.Resumes(o.Trace)
		}
	case errors.Is(err, door.ErrNotWritten):
		r.log.Error(logClaimUnaudited, "err", err)
		v = refuse(agui.AuditUnavailable, textUnaudited)
		v.AsksAgain = true
		return v
	case ledger.IsOvertaken(err):
		return contract.Ruling{Do: contract.Wait}
	default:
		r.log.Error(logClaimFailed, "err", err)
		return storeDown()
	}
	switch free, err := r.occupyOwnThread(); {
	case err != nil:
		r.log.Error(logOwnThreadNotKept, "err", err)
		_, _ = r.claim.Release()
		return storeDown()
	case !free:
		_, _ = r.claim.Release()
		return threadBusy()
	}
	if !r.life.outliveClient() {
		_, _ = r.claim.Release() // nothing was sent
		return clientLeft()
	}
	return v
}

// clientLeft refuses a run whose client closed its side of the connection before anything was sent
// to the backend. The client may have closed its sending side only and still read, so the open
// question is shown to it again.
func clientLeft() contract.Ruling {
	ruling := refuse(agui.ClientLeft, textClientLeft)
	ruling.AsksAgain = true
	return ruling
}

// closeDoubt ends a pause whose outcome is in doubt, because the client is about to be told of the
// doubt and the thread must be able to continue. It returns v, or another ruling if the pause is no
// longer in doubt.
func (r *run) closeDoubt(v contract.Ruling) contract.Ruling {
	p := r.judge.record.Pause
	told := store.Result{EndKind: store.Doubtful}
	var happened []ledger.Occurrence
	if r.judge.record.Doubt == nil { // the lease has lapsed: the process that held it took its knowledge of the stream along
		told.SeenMessages = p.SeenMessages
		happened = []ledger.Occurrence{ledger.InDoubt(p)} // otherwise the run that ended in doubt has reported the event
	}
	switch err := r.judge.ledger.Close(p.ID, told, happened...); {
	case ledger.Closed(err):
	case ledger.EndedAlready(err):
		return contract.Ruling{Do: contract.Wait} // another request closed it, or the run ended after all
	default: // it may still be open: reporting a doubt twice is better than never
		r.log.Error(logDoubtNotClosed, "err", err)
	}
	return v
}

// giveUp closes the open pause because none of its answers can be sent. It returns another ruling
// if the pause cannot be closed, else nil.
func (r *run) giveUp() *contract.Ruling {
	p := r.judge.record.Pause
	var happened []ledger.Occurrence
	if r.judge.ledger.Reporter.IsReporting() {
		cancels := contract.CancelAll(p)
		happened = ledger.GivenUp(p, cancels, r.judge.interpret(p, cancels), r.judge.record.Now)
		if slices.ContainsFunc(p.Decisions, func(d agui.Decision) bool { return d.Status != agui.Cancelled }) {
			happened = []ledger.Occurrence{ledger.WithdrawnPause(p)}
		}
	}
	switch err := r.judge.ledger.Close(p.ID, store.Result{EndKind: store.Withdrawn, SeenMessages: p.SeenMessages}, happened...); {
	case err == nil:
		return nil
	case ledger.EndedAlready(err):
		return &contract.Ruling{Do: contract.Wait}
	default:
		r.log.Error(logNotWithdrawn, "err", err)
		v := storeDown()
		return &v
	}
}
