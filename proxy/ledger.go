package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
)

// LeaseTime is how long a claim holds without being renewed: after our crash the pause is in doubt
// that soon. No lease is longer.
const LeaseTime = 30 * time.Second

const (
	// storeTimeout bounds one step of the store.
	storeTimeout = 10 * time.Second
	leaseRenew   = LeaseTime / 3
	// renewTimeout bounds one renewal, and renewAgain is how soon one that failed is made again. A
	// claim outlasts two renewals without a reply.
	renewTimeout = leaseRenew / 2
	renewAgain   = leaseRenew / 5
)

// A ledger is the record of one thread, and the only caller of the store. Each step has its time,
// and does not end with the run. A step whose reply was lost is done once more: the store's steps
// are made for that. Errors are the store's own.
type ledger struct {
	store store.Store
	key   store.Key
	owner string          // who the thread is of, as its record has it; "" without principals
	ctx   context.Context // its values go to the store
	out   *stream.Writer  // gets heartbeats while the store is asked; nil if nobody waits there
}

// step gives the time of one step.
func (l *ledger) step() (context.Context, context.CancelFunc) {
	if l.out != nil {
		l.out.Alive()
	}
	return context.WithTimeout(context.WithoutCancel(l.ctx), storeTimeout)
}

// twice does a step once more if its reply was lost. known are the store's own answers, which are
// no lost reply.
func (l *ledger) twice(do func(ctx context.Context) error, known ...error) error {
	var err error
	for range 2 {
		ctx, cancel := l.step()
		err = do(ctx)
		cancel()
		if err == nil || slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) }) {
			return err
		}
	}
	return err
}

// load is the record as it stands.
func (l *ledger) load() (rec store.Record, err error) {
	err = l.twice(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, l.key, l.owner); return err },
		store.ErrUnread)
	return rec, err
}

// snapshots are what is kept of the thread at a moment of a pause.
func (l *ledger) snapshots(pauseID string, at store.Moment) (kept store.Snapshots, err error) {
	err = l.twice(func(ctx context.Context) (err error) {
		kept, err = l.store.Snapshots(ctx, l.key, pauseID, at)
		return err
	}, store.ErrUnread)
	return kept, err
}

// open keeps a pause of a run without a claim. store.ErrExists: another question is open.
func (l *ledger) open(p *agui.Pause) error {
	return l.twice(func(ctx context.Context) error { return l.store.Open(ctx, l.key, l.owner, *p) },
		store.ErrExists, store.ErrFull, store.ErrShare, store.ErrOwner)
}

// claim takes a pause for a set of answers. A lost reply is made good by the same claim again: the
// token says that it is the same. store.ErrReplay, ErrConflict and ErrNotFound: somebody was
// quicker.
func (l *ledger) claim(pauseID, token string, answers []agui.Answer) error {
	digest := contract.Digest(answers)
	return l.twice(func(ctx context.Context) error { return l.store.Claim(ctx, l.key, pauseID, token, digest, LeaseTime) },
		store.ErrReplay, store.ErrConflict, store.ErrNotFound)
}

// renew prolongs a claim. ctx ends it before its time.
func (l *ledger) renew(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	return l.store.Renew(ctx, l.key, token, LeaseTime)
}

// finish ends a claim. next is the pause that the run ended in, nil if it did not ask.
// store.ErrStale: the claim was given up for lost.
func (l *ledger) finish(token string, result store.Result, next *agui.Pause) error {
	return l.twice(func(ctx context.Context) error { return l.store.Finish(ctx, l.key, token, result, next) }, store.ErrStale)
}

// release gives a claimed pause back. store.ErrStale: there is nothing to give back.
func (l *ledger) release(token string) error {
	return l.twice(func(ctx context.Context) error { return l.store.Release(ctx, l.key, token) }, store.ErrStale)
}

// errClosed says that a pause is closed. The reply to a Close was lost, and the store does not tell
// a repeated one: nobody knows who closed the pause.
var errClosed = fmt.Errorf("closed by a step whose reply was lost, perhaps: %w", store.ErrNotFound)

// close ends a pause that nobody has claimed, or that is in doubt; see endedAlready and errClosed.
func (l *ledger) close(pauseID string, result store.Result) error {
	tries := 0
	err := l.twice(func(ctx context.Context) error { tries++; return l.store.Close(ctx, l.key, pauseID, result) },
		store.ErrNotFound, store.ErrExists)
	if tries > 1 && errors.Is(err, store.ErrNotFound) {
		return errClosed
	}
	return err
}

// endedAlready says of an error of close that the pause has ended, or was claimed.
func endedAlready(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists)
}
