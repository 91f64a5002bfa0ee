package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
)

// LeaseTime is how long a claim holds without being renewed: after our crash the pause is in doubt
// that soon. No lease is longer.
const LeaseTime = 30 * time.Second

const (
	// storeTimeout bounds one step of the store.
	storeTimeout = 10 * time.Second
	// lastStepTimeout bounds one when Holdpoint is about to end, so that clients are told in time.
	lastStepTimeout = 500 * time.Millisecond

	leaseRenew = LeaseTime / 3
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

	voice   voice         // whom its steps are told
	claimed *claimedPause // what is claimed by now, if anybody is told; else nil
}

// step gives the time of one step.
func (l *ledger) step() (context.Context, context.CancelFunc) {
	if l.out != nil {
		l.out.Alive()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), storeTimeout)
	unwatch := context.AfterFunc(l.ctx, func() {
		if errors.Is(context.Cause(l.ctx), errDraining) {
			time.AfterFunc(lastStepTimeout, cancel)
		}
	})
	return ctx, func() {
		unwatch()
		cancel()
	}
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
	says := l.raised(p)
	err := l.posting(says, func(ctx context.Context) error { return l.store.Open(ctx, l.key, l.owner, *p) },
		store.ErrExists, store.ErrFull, store.ErrShare, store.ErrOwner)
	if err == nil {
		l.say(says)
	}
	return err
}

// contest notes that another run of the thread came to another question than the pause's.
func (l *ledger) contest(pauseID string) error {
	return l.twice(func(ctx context.Context) error { return l.store.Contest(ctx, l.key, pauseID) }, store.ErrNotFound)
}

// see notes that the chat has caught up with the end of a pause.
func (l *ledger) see(pauseID string) error {
	return l.twice(func(ctx context.Context) error { return l.store.See(ctx, l.key, pauseID) })
}

// remember notes something of the thread's calls.
func (l *ledger) remember(n store.Note, most int) error {
	return l.twice(func(ctx context.Context) error { return l.store.Remember(ctx, l.key, n, most) })
}

// rememberAt notes something under a key of the index, or of another thread. It gives the thread to
// nobody.
func (l *ledger) rememberAt(key store.Key, n store.Note, most int) error {
	return l.twice(func(ctx context.Context) error { return l.store.Remember(ctx, key, n, most) })
}

// rememberUnder notes something under keys of the index, a few at a time, in the time of one step.
// The first failure ends it, because a question waits to be told.
func (l *ledger) rememberUnder(keys []store.Key, n store.Note, most, atOnce int) error {
	ctx, cancel := l.step()
	defer cancel()
	waiting := make(chan store.Key, len(keys))
	for _, key := range keys {
		waiting <- key
	}
	close(waiting)
	var failure error
	var fail sync.Once
	remember := func() {
		for key := range waiting {
			if ctx.Err() != nil {
				return
			}
			err := l.store.Remember(ctx, key, n, most)
			if err != nil && ctx.Err() == nil {
				err = l.store.Remember(ctx, key, n, most) // the reply may have been lost
			}
			if err != nil {
				fail.Do(func() { failure = err })
				cancel()
				return
			}
		}
	}
	var all sync.WaitGroup
	for range min(atOnce, len(keys)) - 1 {
		all.Go(remember)
	}
	remember()
	all.Wait()
	return failure
}

// loadAt returns the record of a key of the index, or of another thread. It gives no thread to
// anybody.
func (l *ledger) loadAt(key store.Key) (rec store.Record, err error) {
	err = l.twice(func(ctx context.Context) (err error) { rec, err = l.store.Load(ctx, key, ""); return err }, store.ErrUnread)
	return rec, err
}

// claim takes a pause for a set of answers. A lost reply is made good by the same claim again: the
// token says that it is the same. store.ErrReplay, ErrConflict, ErrNotFound and ErrStale: somebody
// was quicker. door.ErrNotWritten: the audit is required and cannot be written, and nothing is
// claimed.
func (l *ledger) claim(p *agui.Pause, token string, answers []agui.Answer, read []agui.Reading, now time.Time) error {
	var claimed *claimedPause
	if l.voice.tells() {
		claimed = answeredIn(p, answers, read, now)
		if l.voice.required() {
			if err := l.tell(saying{event.Claiming, p, "", claimed.answers}); err != nil {
				return err
			}
		}
	}
	digest := contract.Digest(answers)
	var says []saying
	if claimed != nil {
		says = []saying{{event.Claimed, p, "", claimed.answers}}
	}
	err := l.posting(says, func(ctx context.Context) error { return l.store.Claim(ctx, l.key, p.ID, token, digest, LeaseTime) },
		store.ErrReplay, store.ErrConflict, store.ErrNotFound, store.ErrStale)
	if err == nil && claimed != nil {
		if err = l.tell(saying{event.Claimed, p, "", claimed.answers}); err != nil {
			return err
		}
		l.claimed = claimed
	}
	return err
}

// decide writes down what was decided at another door. store.ErrConflict and ErrNotFound: somebody
// was quicker. door.ErrNotWritten: the audit is required and cannot be written, and nothing is
// decided.
func (l *ledger) decide(p *agui.Pause, list []agui.Decision) error {
	var says []saying
	if l.voice.tells() {
		says = []saying{{event.Decided, p, "", decidedIn(p, list)}}
		if l.voice.required() {
			if err := l.tell(saying{event.Deciding, p, "", says[0].of}); err != nil {
				return err
			}
		}
	}
	err := l.posting(says, func(ctx context.Context) error { return l.store.Decide(ctx, l.key, p.ID, list) },
		store.ErrConflict, store.ErrNotFound)
	if err == nil {
		l.say(says)
	}
	return err
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
	var ends, raises []saying
	if l.claimed != nil {
		ends = l.ended(l.claimed, &result)
	}
	if next != nil {
		raises = l.raised(next)
	}
	err := l.posting(slices.Concat(ends, raises), func(ctx context.Context) error {
		return l.store.Finish(ctx, l.key, token, result, next)
	}, store.ErrStale)
	if c := l.claimed; c != nil {
		l.claimed = nil
		switch {
		case err == nil:
			l.say(ends)
		case !errors.Is(err, store.ErrStale): // it may have been done, and nobody may ever say so again
			_ = l.tell(saying{event.InDoubt, c.pause, string(agui.StoreUnavailable), c.answers})
		}
	}
	if err == nil {
		l.say(raises)
	}
	return err
}

// release gives a claimed pause back. store.ErrStale: there is nothing to give back.
func (l *ledger) release(token string) error {
	var says []saying
	if c := l.claimed; c != nil {
		says = []saying{{event.Released, c.pause, "", c.answers}}
	}
	err := l.posting(says, func(ctx context.Context) error { return l.store.Release(ctx, l.key, token) }, store.ErrStale)
	if err == nil {
		l.say(says)
	}
	l.claimed = nil
	return err
}

// errClosed says that a pause is closed. The reply to a Close was lost, and the store does not tell
// a repeated one: nobody knows who closed the pause.
var errClosed = fmt.Errorf("closed by a step whose reply was lost, perhaps: %w", store.ErrNotFound)

// close ends a pause that nobody has claimed, or that is in doubt; see endedAlready and errClosed.
// It says what that means if the pause may have been closed by it.
func (l *ledger) close(pauseID string, result store.Result, says ...saying) error {
	tries := 0
	err := l.posting(says, func(ctx context.Context) error { tries++; return l.store.Close(ctx, l.key, pauseID, result) },
		store.ErrNotFound, store.ErrExists)
	if tries > 1 && errors.Is(err, store.ErrNotFound) {
		err = errClosed
	}
	if closed(err) {
		l.say(says)
	}
	return err
}

// closed says of close's error whether the pause may have been closed by it.
func closed(err error) bool { return err == nil || errors.Is(err, errClosed) }

// endedAlready says of an error of close that the pause has ended, or was claimed.
func endedAlready(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists)
}

// occupy is the step of an occupancy. It may be done from any goroutine.
func (l *ledger) occupy(ctx context.Context, token string, lease time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	return l.store.Occupy(ctx, l.key, token, lease)
}
