package proxy

import (
	"context"
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
)

// claim takes the pause, or sets another verdict. Claim before send: of two equal clicks one reaches the backend.
func (r *run) claim() {
	token := random128()
	err := r.ledger.claim(r.record.Pause.ID, token, r.verdict.Answers)
	switch {
	case err == nil:
	case errors.Is(err, store.ErrReplay), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		r.verdict = contract.Ruling{Do: contract.Wait}
		return
	default:
		r.log.Error("claim not taken by the store", "err", err)
		r.token = token
		_ = r.release() // if it was taken after all: nothing was sent
		r.verdict = storeDown()
		return
	}
	r.token = token
	r.holding.Store(true)
	r.renewal.start(leaseRenew, func(ctx context.Context) bool { return r.renew(ctx, token) })
	if !r.life.outlive() {
		_ = r.release() // the client left just now; nothing was sent
		r.verdict = givenUp()
	}
}

func givenUp() contract.Ruling { return refuse(agui.ResumeInProgress, "the request was given up") }

// renew prolongs the claim while the run lives; false ends the renewals. A failure needs no act: the lease lapses, and
// that reads as in doubt.
func (r *run) renew(ctx context.Context, token string) bool {
	err := r.ledger.renew(ctx, token)
	if err != nil && ctx.Err() == nil {
		r.log.Warn("claim not renewed", "err", err)
	}
	return !errors.Is(err, store.ErrStale)
}

// claimedNow says whether the run holds a claim, so that its end must be seen.
func (r *run) claimedNow() bool { return r.holding.Load() }

// save ends the claim. The end of a run of somebody else's making is told all the same: only the record has gone on.
func (r *run) save(result store.Result, next *agui.Pause) error {
	if r.token == "" {
		return nil
	}
	result.ByArray = r.byArray
	if result.How != store.Doubtful {
		kept := r.snapshots()
		result.Messages, result.State = kept.messages, kept.state
	}
	result.Seen = r.seen()
	if next != nil {
		result.Next = next.ID
	}
	r.renewal.stop()
	err := r.ledger.finish(r.token, result, next)
	r.unclaim()
	if err == nil {
		return nil
	}
	r.log.Error("end of the resume not taken by the store", "err", err)
	if errors.Is(err, store.ErrStale) && next == nil {
		return nil
	}
	return err
}

// release gives the pause back: the backend did nothing.
func (r *run) release() error {
	r.renewal.stop()
	err := r.ledger.release(r.token)
	r.unclaim()
	if err == nil || errors.Is(err, store.ErrStale) { // something else began: there is nothing to give back
		return nil
	}
	r.log.Error("release not taken by the store", "err", err)
	return err
}

func (r *run) unclaim() {
	r.token = ""
	r.holding.Store(false)
}

// closeDoubt closes a doubt that is to be told, or sets another verdict: the pause ends with it, so that the thread can go on.
func (r *run) closeDoubt() {
	p := r.record.Pause
	told := store.Result{How: store.Doubtful}
	if r.record.Doubt == nil { // a lapsed lease: what was seen of the run is gone with who held it
		told.Seen = p.Seen
	}
	switch err := r.ledger.close(p.ID, told); {
	case err == nil:
	case endedAlready(err):
		r.verdict = contract.Ruling{Do: contract.Wait} // another request was told, or the run ended after all
	default:
		r.log.Error("doubt not closed by the store", "err", err)
		r.verdict = storeDown()
	}
}

// toldDoubt closes a doubt that this run tells.
func (r *run) toldDoubt() {
	err := r.ledger.close(r.record.Pause.ID, store.Result{How: store.Doubtful})
	if err != nil && !endedAlready(err) {
		r.log.Error("doubt not closed by the store: it will be told once more", "err", err)
	}
}

// giveUp closes the open pause: nothing that can be said to it can be handed on. false: another verdict is set.
func (r *run) giveUp() bool {
	p := r.record.Pause
	err := r.ledger.close(p.ID, store.Result{How: store.Withdrawn, Seen: p.Seen})
	switch {
	case err == nil:
	case endedAlready(err):
		r.verdict = contract.Ruling{Do: contract.Wait}
	default:
		r.log.Error("pause not given up by the store", "err", err)
		r.verdict = storeDown()
	}
	return err == nil
}
