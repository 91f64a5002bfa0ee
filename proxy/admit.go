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

// admit judges the run, prepares what was ruled, and takes the pause for the answers, until no
// attempt has to wait. Of contract.Pass and contract.Resume an exchange is ready to be sent then;
// any other ruling is to be told.
//
// Claim before send: of two equal clicks one reaches the backend.
func (r *run) admit(out *stream.Writer) contract.Ruling {
	for wait := newWaiter(); ; {
		next := wait.waitAgain
		r.client.preparedRun = preparedRun{}
		v, err := r.judge.ruling()
		if err != nil {
			if v = r.notJudged(err); v.Refusal.Code != agui.StoreUnavailable || !wait.misses() {
				return v
			}
			next = wait.wait
		} else if v.Do != contract.Wait {
			for again := true; again; {
				v, again = r.prepare(v)
			}
			if v.Do == contract.Resume {
				v = r.take(v)
			}
			if v.Do != contract.Wait {
				return v
			}
			next = wait.quicker
		}
		if err := next(r, out); err != nil {
			return r.waitedInVain(err)
		}
	}
}

// waitedInVain refuses a run that does not wait any longer.
func (r *run) waitedInVain(err error) contract.Ruling {
	if !errors.Is(err, errQuicker) {
		return contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, err)}
	}
	r.log.Error(logNotClaimable, "err", err, "claim", r.judge.ledger.Refused())
	v := refuse(agui.StoreUnavailable, textNotClaimed)
	v.Reask = true
	return v
}

func (r *run) notJudged(err error) contract.Ruling {
	if bug := (*dialect.Bug)(nil); errors.As(err, &bug) {
		return contract.Ruling{Do: contract.Refuse, Refusal: r.judge.dialectFailed("Answers", err), Reask: true}
	}
	r.log.Debug("the store cannot be asked", "err", err) // see outages
	return storeDown()
}

// occupyOwnThread keeps other runs from the thread that the request names, while it goes on with a
// question of another one. free reports that no other run is there.
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

// reopen opens an ended pause again, for a cancel and nothing else.
func (r *run) reopen(ended *store.Result) contract.Ruling {
	r.judge.readFor = pauseSelection{} // the answers are for the new pause now
	switch err := r.judge.ledger.Reopen(ended); {
	case err == nil, errors.Is(err, store.ErrExists):
		return contract.Ruling{Do: contract.Wait}
	default:
		return contract.Ruling{Do: contract.Refuse, Refusal: r.judge.keepError(err)}
	}
}

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
		r.judge.keepPart(v)
	}
	return v, false
}

// preparePass prepares an ordinary run.
func (r *run) preparePass(v contract.Ruling) (stands contract.Ruling, again bool) {
	if r.judge.ownThread != nil {
		if v = r.judge.passHere(v); v.Do != contract.Pass {
			return v, true
		}
	}
	if len(r.judge.record.Busy) > 0 {
		if r.judge.threadWasBusy && !r.h.lives.busyAlone(r.judge.ledger.Key) {
			return contract.Ruling{Do: contract.Wait}, false // it was ours, and has ended since
		}
		return threadBusy(), false
	}
	r.life.plain.Store(true)
	r.client.preparedRun = r.judge.readyPass(v)
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
	if err := r.judge.fetchAsked(); err != nil {
		r.log.Error(logAskedUnread, "err", err)
		return storeDown(), false
	}
	var unready *agui.RunError
	r.client.preparedRun, unready = r.judge.readyResume(v)
	var refused *contract.Ruling
	if unready != nil {
		refused = &contract.Ruling{Do: contract.Refuse, Refusal: unready, Reask: true}
	} else {
		r.judge.toThreadOf(r.judge.record.Pause)
		refused = r.begin(r.judge.record.Pause, v)
	}
	switch {
	case refused == nil:
		return v, false
	case unready == nil && contract.AllCancelled(v.Answers):
		// Nothing is sent, and the thread goes on.
		r.log.Warn(logCancelUnsaid, "code", refused.Refusal.Code)
		return r.givesUpUnsaid(), true
	case r.judge.record.Pause.Decided() && len(v.New) > 0 && !r.judge.readFor.carries:
		// The chat can take nothing back of what was decided elsewhere. So its new message goes on
		// without it: nothing is sent of what was decided, and the person is told so.
		r.log.Warn(logDecisionGivenUp, "code", refused.Refusal.Code)
		v = r.givesUpUnsaid()
		v.NotTaken = refused.Refusal
		return v, true
	}
	return *refused, false
}

// readyToReadOn has an ordinary run outlive its client. It returns another ruling if it cannot.
func (r *run) readyToReadOn() *contract.Ruling {
	var v contract.Ruling
	switch {
	case r.h.lives.busyAlone(r.judge.ledger.Key):
		v = threadBusy()
	case r.judge.threadWasBusy:
		v = contract.Ruling{Do: contract.Wait} // it has ended since
	default:
		r.life.occupies = r.judge.ledger.Occupancy()
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
	return refuse(agui.ThreadBusy, textThreadBusy)
}

// givesUpUnsaid gives the pause up whose answers are not sent. The replies of the request answer
// nothing then.
func (r *run) givesUpUnsaid() contract.Ruling {
	replies := r.judge.replies.Unanswered()
	r.judge.nextAttempt()
	r.client.preparedRun, r.judge.replies = preparedRun{}, replies
	return contract.GiveUp(r.judge.newCase())
}

// begin begins the exchange of the run, see judge.begin.
func (r *run) begin(resumed *agui.Pause, v contract.Ruling) (refused *contract.Ruling) {
	r.exchange.translation, refused = r.judge.begin(&r.client.preparedRun, resumed, v)
	return refused
}

// take claims the pause for the answers. It returns another ruling if it cannot.
func (r *run) take(v contract.Ruling) contract.Ruling {
	p := r.judge.record.Pause
	claim, err := r.judge.ledger.Take(p, v.Answers, r.judge.interpret(p, v.Answers), r.judge.record.Now)
	r.claim = claim
	switch {
	case err == nil:
		if o := p.Origin; r.judge.span != nil && o != nil {
			r.judge.span.Resumes(o.Trace)
		}
	case errors.Is(err, door.ErrNotWritten):
		r.log.Error(logClaimUnaudited, "err", err)
		v = refuse(agui.AuditUnavailable, textUnaudited)
		v.Reask = true
		return v
	case ledger.Quicker(err):
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
	if !r.life.outlive() {
		_, _ = r.claim.Release() // nothing was sent
		return clientLeft()
	}
	return v
}

// clientLeft refuses a run whose client closed its side before anything was sent to the backend.
// The client may still read: it has closed its sending side only. So it is asked again.
func clientLeft() contract.Ruling {
	ruling := refuse(agui.ClientLeft, textClientLeft)
	ruling.Reask = true
	return ruling
}

// closeDoubt closes a doubt that is to be told: the pause ends with it, so that the thread can go
// on. It returns another ruling if there is none any more.
func (r *run) closeDoubt(v contract.Ruling) contract.Ruling {
	p := r.judge.record.Pause
	told := store.Result{How: store.Doubtful}
	var happened []ledger.Occurrence
	if r.judge.record.Doubt == nil { // a lapsed lease: what was seen of the run is gone with who held it
		told.Seen = p.Seen
		happened = []ledger.Occurrence{ledger.InDoubt(p)} // else the run that came to the doubt has told it
	}
	switch err := r.judge.ledger.Close(p.ID, told, happened...); {
	case ledger.Closed(err):
	case ledger.EndedAlready(err):
		return contract.Ruling{Do: contract.Wait} // another request was told, or the run ended after all
	default: // it may be closed: a doubt is rather told twice than never
		r.log.Error(logDoubtNotClosed, "err", err)
	}
	return v
}

// giveUp closes the open pause: nothing that can be said to it can be handed on. It returns another
// ruling if it cannot be closed.
func (r *run) giveUp() *contract.Ruling {
	p := r.judge.record.Pause
	var happened []ledger.Occurrence
	if r.judge.ledger.Voice.Tells() {
		cancels := contract.CancelAll(p)
		happened = ledger.GivenUp(p, cancels, r.judge.interpret(p, cancels), r.judge.record.Now)
		if slices.ContainsFunc(p.Decisions, func(d agui.Decision) bool { return d.Status != agui.Cancelled }) {
			happened = []ledger.Occurrence{ledger.Withdrawn(p)}
		}
	}
	switch err := r.judge.ledger.Close(p.ID, store.Result{How: store.Withdrawn, Seen: p.Seen}, happened...); {
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
