package proxy

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
)

// A claim is the right to carry one set of answers to the backend. At its end the pause has ended,
// or is given back. A run without answers has none: its token is "".
type claim struct {
	ledger *ledger
	log    *slog.Logger

	refused error // why the store did not give the last claim
	token   string
	given   []store.Given // the answers, as the result is to keep them
	held    atomic.Bool   // token is set; for other goroutines' eyes
	lease   *renewal
	until   atomic.Pointer[time.Time] // the lease holds, for all that is known here
}

// take takes the pause for the answers. read is what they say, in their order. Claim before send:
// of two equal clicks one reaches the backend. An error is the store's; see quicker.
func (c *claim) take(p *agui.Pause, answers []agui.Answer, read []agui.Reading, now time.Time) error {
	token, asked := ids.Random128(), time.Now()
	err := c.ledger.claim(p, token, answers, read, now)
	if err != nil && !quicker(err) {
		_ = c.ledger.release(token) // if it was taken after all: nothing was sent
	}
	if c.refused = err; err != nil {
		return err
	}
	c.token, c.given = token, given(p, answers, read)
	c.held.Store(true)
	c.lasts(asked)
	c.lease = &renewal{}
	c.lease.start(leaseRenew, func(ctx context.Context) bool { return c.renew(ctx, token) })
	return nil
}

// quicker says of an error of take that somebody else has claimed the pause, ended it, or decided
// one of its questions.
func quicker(err error) bool {
	return errors.Is(err, store.ErrReplay) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) ||
		errors.Is(err, store.ErrStale)
}

// renew prolongs the claim while the run lives; false ends the renewals. A try that fails is made
// again soon, because the lease outlasts few of them. When it lapses, that reads as in doubt.
func (c *claim) renew(ctx context.Context, token string) bool {
	for tries := 0; ; tries++ {
		err := c.prolong(ctx, token)
		switch {
		case err == nil || ctx.Err() != nil:
			return true
		case errors.Is(err, store.ErrStale):
			c.log.Warn("claim not renewed", "err", err)
			return false
		case tries == 0:
			c.log.Warn("claim not renewed: it is tried again", "err", err)
		}
		again := time.NewTimer(renewAgain)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return true
		}
	}
}

func (c *claim) prolong(ctx context.Context, token string) error {
	asked := time.Now()
	err := c.ledger.renew(ctx, token)
	switch {
	case err == nil:
		c.lasts(asked)
	case errors.Is(err, store.ErrStale):
		c.until.Store(&time.Time{}) // by the store's clock, which may be ahead, or was set
	}
	return err
}

// lasts notes that the store was asked for a lease, and has given it.
func (c *claim) lasts(asked time.Time) {
	until := asked.Add(LeaseTime)
	c.until.Store(&until)
}

// stands says whether an exchange of the run may still be sent. If the lease may have lapsed
// (this process stood still, or the store was away), somebody may have been told that the answers
// are in doubt, and may have begun the thread anew. What is approved could then run beside that, or
// run although it was denied in the meantime. So the store is asked first, and an error says that
// nothing may be sent.
func (c *claim) stands(ctx context.Context) error {
	if c.token == "" {
		return nil
	}
	// The wall clock is looked at too, because the other one stands still while a machine sleeps.
	now, until := time.Now(), c.until.Load()
	if now.Before(*until) && now.Round(0).Before(until.Round(0)) {
		return nil
	}
	err := c.prolong(ctx, c.token)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrStale):
		return errLapsed
	}
	c.log.Error("claim not renewed: nothing more is sent", "err", err)
	return errNotKnown
}

// end ends the claim: with the result, or by giving the pause back. It does nothing where there is
// none.
func (c *claim) end(result store.Result, back bool) (givenBack bool, err error) {
	switch {
	case c.token == "":
		return false, nil
	case back:
		return c.giveBack()
	}
	return false, c.finish(result, nil)
}

// finish ends the claim with a result. next is the pause that the run ended in, nil if it did not
// ask. The store may have given the claim up for lost. A run that asks nothing is told then, too:
// only the record has gone on.
func (c *claim) finish(result store.Result, next *agui.Pause) error {
	if next != nil {
		result.Next = next.ID
	}
	result.Given = c.given
	c.stop()
	err := c.ledger.finish(c.token, result, next)
	c.drop()
	if err == nil {
		return nil
	}
	c.log.Error("end of the resume not taken by the store", "err", err)
	if errors.Is(err, store.ErrStale) && next == nil {
		return nil
	}
	return err
}

// giveBack gives the pause back: the backend did nothing. It is false if something else began
// meanwhile, for then there is nothing to give back.
func (c *claim) giveBack() (bool, error) {
	c.stop()
	err := c.ledger.release(c.token)
	c.drop()
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrStale):
		return false, nil
	}
	c.log.Error("release not taken by the store", "err", err)
	return false, err
}

// drop forgets the claim. The store was told of its end.
func (c *claim) drop() {
	c.token = ""
	c.held.Store(false)
}

// stop ends the renewals. They come to nothing once the store is told of the end.
func (c *claim) stop() {
	if c.lease != nil {
		c.lease.stop()
	}
}
