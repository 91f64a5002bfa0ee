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

// admit decides what happens to the run. It asks the judge for a ruling, does what must be done
// before that ruling, and claims the pause if the run has answers. It repeats this until it need
// not wait any more. After the rulings contract.Pass and contract.Resume an exchange is ready to be
// sent to the backend. The caller reports any other ruling to the client.
//
// The claim precedes the request to the backend. So if a user clicks twice, only one of the two
// equal answers reaches the backend.
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

// waitedInVain returns the refusal of a run that cannot wait any longer, because of err.
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
	r.log.Debug("the store cannot be asked", "err", err) // the outage log reports err
	return storeDown()
}

// occupyOwnThread reserves the thread that the request names. It is called if the run answers a
// question of another thread. free is false if the request's own thread already has a run.
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

// reopen opens a pause that has ended again, so that it can be cancelled.
func (r *run) reopen(endedResult *store.Result) contract.Ruling {
	r.judge.selection = pauseSelection{} // the answers now belong to the reopened pause
	switch err := r.judge.ledger.Reopen(endedResult); {
	case err == nil, errors.Is(err, store.ErrExists):
		return contract.Ruling{Do: contract.Wait}
	default:
		return contract.Ruling{Do: contract.Refuse, Refusal: r.judge.keepError(err)}
	}
}

// prepare does everything before the claim after which a run may still be refused. It closes or
// reopens the pause as the ruling demands, makes the input for the backend, and begins the
// exchange. It returns the ruling that results. If retry is true, that ruling differs from v, and
// the caller must prepare the new ruling too. contract.Wait means that the record has changed.
func (r *run) prepare(v contract.Ruling) (ruling contract.Ruling, retry bool) {
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
func (r *run) preparePass(v contract.Ruling) (ruling contract.Ruling, retry bool) {
	if r.judge.ownThread != nil {
		if v = r.judge.passHere(v); v.Do != contract.Pass {
			return v, true
		}
	}
	if len(r.judge.record.Occupants) > 0 {
		if r.judge.threadWasBusy && !r.h.runs.busyAlone(r.judge.ledger.Key) {
			// a run of this process occupied the thread, and has ended since
			return contract.Ruling{Do: contract.Wait}, false
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

// prepareResume prepares a run with answers. If the answers cannot be sent, they are refused. But
// if the refusal would leave the chat without a way to continue, the pause is given up instead. See
// prepare for the results.
func (r *run) prepareResume(v contract.Ruling) (ruling contract.Ruling, retry bool) {
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
		// The question is cancelled. Nothing is sent for it, and the thread continues.
		r.log.Warn(logCancelUnsaid, "code", refused.Refusal.Code)
		return r.giveUpUnsent(), true
	case r.judge.record.Pause.Decided() && len(v.NewMessages) > 0 && !r.judge.selection.carriesPause:
		// The chat cannot take back a decision that was made at another door, such as the desk. So
		// the decision is dropped and the new message is sent without it. Holdpoint tells the
		// person about it.
		r.log.Warn(logDecisionGivenUp, "code", refused.Refusal.Code)
		v = r.giveUpUnsent()
		v.AnswersUnused = refused.Refusal
		return v, true
	}
	return *refused, false
}

// readyToReadOn makes sure that a run without answers continues after its client leaves. It returns
// nil, or the ruling that applies instead if that is not possible.
func (r *run) readyToReadOn() *contract.Ruling {
	var v contract.Ruling
	switch {
	case r.h.runs.busyAlone(r.judge.ledger.Key):
		v = threadBusy()
	case r.judge.threadWasBusy:
		v = contract.Ruling{Do: contract.Wait} // the run that occupied the thread has ended
	default:
		r.life.occupancy = r.judge.ledger.Occupancy()
		if r.life.outliveClient() {
			return nil
		}
		v = clientLeft()
	}
	return &v
}

// threadBusy refuses a run because another run of its thread continues without its client. The
// backend would refuse the second run too, or execute both at once.
func threadBusy() contract.Ruling {
	return refuse(agui.ThreadBusy, textThreadBusy)
}

// giveUpUnsent gives up the pause without sending its answers to the backend. The replies in the
// request's messages no longer count as answers.
func (r *run) giveUpUnsent() contract.Ruling {
	replies := r.judge.replies.Unanswered()
	r.judge.nextAttempt()
	r.client.preparedRun, r.judge.replies = preparedRun{}, replies
	return contract.GiveUp(r.judge.newCase())
}

// beginExchange tells the dialect to begin the exchange of the run. If the dialect cannot, it
// returns the refusal; see judge.begin.
func (r *run) beginExchange(resumedPause *agui.Pause, v contract.Ruling) (refusal *contract.Ruling) {
	r.exchange.translation, refusal = r.judge.begin(&r.client.preparedRun, resumedPause, v)
	return refusal
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
		_, _ = r.claim.Release() // nothing was sent to the backend
		return clientLeft()
	}
	return v
}

// clientLeft refuses a run whose client closed its side of the connection before anything was sent
// to the backend. The client may have closed only its sending side and still read. So the refusal
// shows the open question again.
func clientLeft() contract.Ruling {
	ruling := refuse(agui.ClientLeft, textClientLeft)
	ruling.AsksAgain = true
	return ruling
}

// closeDoubt closes a pause about which it is in doubt whether its answers were carried out. The
// client is about to be told of the doubt, and the thread must be able to continue after that.
// closeDoubt returns v, or another ruling if the pause is no longer in doubt.
func (r *run) closeDoubt(v contract.Ruling) contract.Ruling {
	p := r.judge.record.Pause
	told := store.Result{EndKind: store.Doubtful}
	var happened []ledger.Occurrence
	// the lease has lapsed, and what the claim's process knew of the stream is lost
	if r.judge.record.Doubt == nil {
		told.SeenMessages = p.SeenMessages
		// if Doubt is set, the run that ended in doubt has reported the event
		happened = []ledger.Occurrence{ledger.InDoubt(p)}
	}
	switch err := r.judge.ledger.Close(p.ID, told, happened...); {
	case ledger.Closed(err):
	case ledger.EndedAlready(err):
		// another request closed the pause, or the claimed run has ended after all
		return contract.Ruling{Do: contract.Wait}
	// the pause may still be open; a doubt that is told twice is better than one that is never told
	default:
		r.log.Error(logDoubtNotClosed, "err", err)
	}
	return v
}

// giveUp closes the open pause because none of its answers can be sent. It returns nil, or another
// ruling if the pause cannot be closed.
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
	switch err := r.judge.ledger.CloseUndecided(p, store.Result{EndKind: store.Withdrawn, SeenMessages: p.SeenMessages}, happened...); {
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
