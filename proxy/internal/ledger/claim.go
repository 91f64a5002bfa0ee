package ledger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
)

// A Claim is the right to carry one set of answers to the backend. It renews itself until it ends
// by Ledger.Keep or Release: the pause has ended then, or is given back. A run without answers has
// none. Its claim is nil, is not held, stands, and can be stopped.
type Claim struct {
	ledger  *Ledger
	token   string
	given   []store.GivenAnswer // the answers, as the result is to keep them
	answers *answers            // the same, as they are told; nil if nobody is told

	held  atomic.Bool // it has not ended; for other goroutines' eyes
	lease Renewal
	until atomic.Pointer[time.Time] // the lease holds, for all that is known here
}

// Take takes the pause for the answers. read is what they say, in their order. now tells which
// questions have expired. Claim before send: of two equal clicks one reaches the backend. A lost
// reply is made good by the same claim again: the token shows that it is the same. If the store
// never tells whether the pause was taken, the pause is given back: nothing was sent. The errors:
//
//   - those of Quicker;
//   - door.ErrNotWritten: the audit is required and cannot be written, and nothing is claimed;
//   - others of the store.
func (l *Ledger) Take(p *agui.Pause, list []agui.Answer, read []agui.Reading, now time.Time) (*Claim, error) {
	c := &Claim{ledger: l, token: ids.Random128()}
	asked := time.Now()
	err := c.take(p, list, read, now)
	if err != nil && !Quicker(err) {
		_ = c.release() // if it was taken after all: nothing was sent
	}
	if l.refused = err; err != nil {
		return nil, err
	}
	c.given = givenAnswers(p, list, read)
	c.held.Store(true)
	c.lasts(asked)
	c.lease.Start(leaseRenew, c.renew)
	return c, nil
}

// Refused returns why the store did not give the last claim that the run wanted.
func (l *Ledger) Refused() error { return l.refused }

// take does the step of Take.
func (c *Claim) take(p *agui.Pause, list []agui.Answer, read []agui.Reading, now time.Time) error {
	l, digest := c.ledger, contract.Digest(list)
	var told *answers
	var claims []Occurrence
	if l.Voice.Tells() {
		told = answeredIn(p, list, read, now)
		claims = []Occurrence{{event.Claimed, p, "", told.list}}
		if l.Voice.isRequired() {
			if err := l.Tell(Occurrence{event.Claiming, p, "", told.list}); err != nil {
				return err
			}
		}
	}
	err := l.do(store.Claim{PauseID: p.ID, Token: c.token, Digest: digest, Lease: LeaseTime, Notices: l.notices(claims)})
	if err == nil && told != nil {
		if err = l.Tell(claims[0]); err == nil {
			c.answers = told
		}
	}
	return err
}

// Held reports whether there is a claim that has not ended. Any goroutine may ask.
func (c *Claim) Held() bool { return c != nil && c.held.Load() }

// renew prolongs the claim while the run lives; false ends the renewals. A try that fails is made
// again soon, because the lease outlasts few of them. When it lapses, that reads as in doubt.
func (c *Claim) renew(ctx context.Context) bool {
	for tries := 0; ; tries++ {
		err := c.prolong(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return true
		case errors.Is(err, store.ErrStale):
			c.ledger.log.Warn(logClaimLost, "err", err)
			return false
		case tries == 0:
			c.ledger.log.Warn(logClaimNotRenewed, "err", err)
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

// prolong does the step of renew and of Stands. ctx ends it before its time.
func (c *Claim) prolong(ctx context.Context) error {
	asked := time.Now()
	ctx, cancel := c.ledger.Ending.bound(ctx, renewTimeout)
	defer cancel()
	_, err := c.ledger.store.Do(ctx, c.ledger.Key, store.Renew{Token: c.token, Lease: LeaseTime})
	switch {
	case err == nil:
		c.lasts(asked)
	case errors.Is(err, store.ErrStale):
		c.until.Store(&time.Time{}) // by the store's clock, which may be ahead, or was set
	}
	return err
}

// lasts notes that the store was asked for a lease, and has given it.
func (c *Claim) lasts(asked time.Time) {
	until := asked.Add(LeaseTime)
	c.until.Store(&until)
}

// Stands returns an error if an exchange of the run may not be sent any more: ErrLapsed or
// ErrNotKnown. If the lease may have lapsed (this process stood still, or the store was away),
// somebody may have been told that the answers are in doubt, and may have begun the thread anew.
// What is approved could then run beside that, or run although it was denied in the meantime. So
// the store is asked first.
func (c *Claim) Stands(ctx context.Context) error {
	if !c.Held() {
		return nil
	}
	// The wall clock is looked at too, because the other one stands still while a machine sleeps.
	now, until := time.Now(), c.until.Load()
	if now.Before(*until) && now.Round(0).Before(until.Round(0)) {
		return nil
	}
	err := c.prolong(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrStale):
		return ErrLapsed
	}
	c.ledger.log.Error(logClaimUnknown, "err", err)
	return ErrNotKnown
}

// finish ends the claim with a result. next is the pause that the run ended in, nil if it did not
// ask. store.ErrStale: the store has given the claim up for lost.
func (c *Claim) finish(result store.Result, next *agui.Pause) error {
	if next != nil {
		result.Next = next.ID
	}
	result.Given = c.given
	c.Stop()
	err := c.finishStep(result, next)
	c.held.Store(false)
	if err != nil {
		c.ledger.log.Error(logFinishFailed, "err", err)
	}
	return err
}

// finishStep does the step of finish.
func (c *Claim) finishStep(result store.Result, next *agui.Pause) error {
	l := c.ledger
	var ends, raises []Occurrence
	if c.answers != nil {
		ends = c.answers.endOccurrences(&result)
	}
	if next != nil {
		raises = l.raisedOccurrence(next)
	}
	notices := l.notices(slices.Concat(ends, raises))
	err := l.do(store.Finish{Token: c.token, Result: result, Next: next, Notices: notices})
	switch {
	case err == nil:
		l.tellAll(ends)
		l.tellAll(raises)
	case c.answers != nil && !errors.Is(err, store.ErrStale): // it may have been done, and nobody may ever say so again
		_ = l.Tell(Occurrence{event.InDoubt, c.answers.pause, string(agui.StoreUnavailable), c.answers.list})
	}
	return err
}

// Release gives the pause back: nothing was sent, or the backend did nothing. It returns false if
// something else began meanwhile, because then there is nothing to give back.
func (c *Claim) Release() (givenBack bool, err error) {
	c.Stop()
	err = c.release()
	c.held.Store(false)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrStale):
		return false, nil
	}
	c.ledger.log.Error(logReleaseFailed, "err", err)
	return false, err
}

// release does the step of Release. store.ErrStale: there is nothing to give back.
func (c *Claim) release() error {
	l := c.ledger
	var releases []Occurrence
	if c.answers != nil {
		releases = []Occurrence{{event.Released, c.answers.pause, "", c.answers.list}}
	}
	err := l.do(store.Release{Token: c.token, Notices: l.notices(releases)})
	if err == nil {
		l.tellAll(releases)
	}
	return err
}

// Stop ends the renewals. They come to nothing once the store is told of the end.
func (c *Claim) Stop() {
	if c != nil {
		c.lease.Stop()
	}
}

// maxGivenBytes is how much of the answers a result keeps. Nothing is decided by it; it is shown.
const maxGivenBytes = 64 << 10

// givenAnswers returns answers to a pause as a result keeps them.
func givenAnswers(p *agui.Pause, answers []agui.Answer, read []agui.Reading) []store.GivenAnswer {
	list, room := make([]store.GivenAnswer, len(answers)), maxGivenBytes
	for n := range answers {
		a := &answers[n]
		g := store.GivenAnswer{ID: strings.Clone(a.ID), Status: a.Status}
		g.Says, g.Edited = agui.SaysOf(a, read[n]), read[n].Edited
		i := p.Interrupt(a.ID)
		secret := i != nil && i.Secret
		if !secret {
			g.Digest = a.AnsweredDigest()
		}
		if len(a.Payload) <= room && !secret {
			g.Payload = bytes.Clone(a.Payload) // it lies in the request
			room -= len(a.Payload)
		}
		list[n] = g
	}
	return list
}
