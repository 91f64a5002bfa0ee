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

// A Claim is the right to send one set of answers to the backend. It renews itself until
// Ledger.Keep ends the pause, or until Release opens the pause again. A run without answers has a
// nil Claim: its Held returns false, its CheckLease returns nil, and its Stop does nothing.
type Claim struct {
	ledger  *Ledger
	token   string
	given   []store.GivenAnswer // the answers as the result in the record keeps them
	answers *answers            // the answers as events report them; nil if no events are reported

	held  atomic.Bool // the claim has not ended; read by other goroutines
	lease Renewal
	until atomic.Pointer[time.Time] // the end of the lease, as far as this process knows
}

// ClaimPause claims the pause for the answers in list. read has the meaning of each answer, and now
// decides which questions have expired. The claim precedes the request to the backend, so only one
// of two equal clicks reaches the backend. If a reply of the store is lost, ClaimPause makes the
// same claim again; the token of the claim shows the store that it is the same claim. If the store
// never confirms the claim, ClaimPause opens the pause again, because nothing was sent. The errors
// are:
//
//   - those for which IsOvertaken reports true;
//   - door.ErrNotWritten: the audit log is required and cannot be written, and nothing is claimed;
//   - other errors of the store.
func (l *Ledger) ClaimPause(p *agui.Pause, list []agui.Answer, read []agui.Reading, now time.Time) (*Claim, error) {
	c := &Claim{ledger: l, token: ids.Random128()}
	asked := time.Now()
	err := c.claimPause(p, list, read, now)
	if err != nil && !IsOvertaken(err) {
		_ = c.release() // The store may have claimed the pause despite the error. Nothing was sent.
	}
	if l.refused = err; err != nil {
		return nil, err
	}
	c.given = givenAnswers(p, list, read)
	c.held.Store(true)
	c.noteLease(asked)
	c.lease.Start(leaseRenew, c.renew)
	return c, nil
}

// Refused returns the error of the last claim of this ledger, nil if that claim succeeded.
func (l *Ledger) Refused() error { return l.refused }

// claimPause makes the claim in the store for ClaimPause, and reports its events.
func (c *Claim) claimPause(p *agui.Pause, list []agui.Answer, read []agui.Reading, now time.Time) error {
	l, digest := c.ledger, contract.Digest(list)
	var told *answers
	var claims []Occurrence
	if l.Reporter.IsReporting() {
		told = answeredIn(p, list, read, now)
		claims = []Occurrence{{event.Claimed, p, "", told.list}}
		if l.Reporter.isRequired() {
			if err := l.Report(Occurrence{event.Claiming, p, "", told.list}); err != nil {
				return err
			}
		}
	}
	err := l.do(store.Claim{PauseID: p.ID, Token: c.token, Digest: digest, Lease: LeaseTime, Notices: l.notices(claims)})
	if err == nil && told != nil {
		if err = l.Report(claims[0]); err == nil {
			c.answers = told
		}
	}
	return err
}

// Held reports whether there is a claim that has not ended. Any goroutine may call it.
func (c *Claim) Held() bool { return c != nil && c.held.Load() }

// renew prolongs the claim. It returns false if the claim is lost; then it is not called again. It
// repeats a failed attempt soon, because the lease lasts only for a few attempts. If the lease
// lapses, the pause is in doubt.
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

// prolong prolongs the lease in the store, for renew and CheckLease. Cancelling ctx ends this step
// early.
func (c *Claim) prolong(ctx context.Context) error {
	asked := time.Now()
	ctx, cancel := c.ledger.Ending.bound(ctx, renewTimeout)
	defer cancel()
	_, err := c.ledger.store.Do(ctx, c.ledger.Key, store.Renew{Token: c.token, Lease: LeaseTime})
	switch {
	case err == nil:
		c.noteLease(asked)
	case errors.Is(err, store.ErrStale):
		// the lease has ended by the store's clock, which may be ahead of this clock
		c.until.Store(&time.Time{})
	}
	return err
}

// noteLease records that the store granted a lease. asked is the time when the lease was requested.
func (c *Claim) noteLease(asked time.Time) {
	until := asked.Add(LeaseTime)
	c.until.Store(&until)
}

// CheckLease returns ErrLapsed or ErrNotKnown if nothing more may be sent to the backend. The lease
// may have lapsed because this process was suspended, or because the store did not reply. Then a
// client may have been told that the answers are in doubt, and may have begun another run. If the
// answers were sent now, the approved action could run at the same time as that run, or although a
// person has denied it meanwhile. So if the lease may have lapsed, CheckLease asks the store first.
func (c *Claim) CheckLease(ctx context.Context) error {
	if !c.Held() {
		return nil
	}
	// The wall clock is compared too, because the monotonic clock stops while a machine sleeps.
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

// finish ends the claim with a result. next is the pause with which the run ended, nil if the run
// asked no question. finish returns store.ErrStale if the store has given the claim up.
func (c *Claim) finish(result store.Result, next *agui.Pause) error {
	if next != nil {
		result.Next = next.ID
	}
	result.GivenAnswers = c.given
	c.Stop()
	err := c.finishStep(result, next)
	c.held.Store(false)
	if err != nil {
		c.ledger.log.Error(logFinishFailed, "err", err)
	}
	return err
}

// finishStep saves the result in the store for finish, and reports its events.
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
	// The step may have been done despite the error, and no other process would report its events.
	case c.answers != nil && !errors.Is(err, store.ErrStale):
		_ = l.Report(Occurrence{event.InDoubt, c.answers.pause, string(agui.StoreUnavailable), c.answers.list})
	}
	return err
}

// Release opens the claimed pause again, because nothing was sent or the backend did nothing. It
// returns false if it cannot, because the claim was lost and something else began on the thread.
func (c *Claim) Release() (isReleased bool, err error) {
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

// release opens the claimed pause again in the store, for Release. It returns store.ErrStale if the
// claim was lost.
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

// Stop ends the renewals of the claim. They would fail after the store has recorded the end of the
// claim.
func (c *Claim) Stop() {
	if c != nil {
		c.lease.Stop()
	}
}

// maxGivenBytes limits the bytes of all payloads that a result keeps. The payloads are only shown
// to people, and decide nothing.
const maxGivenBytes = 64 << 10

// givenAnswers returns the answers as a result in the record keeps them: without secrets, and
// without the payloads that exceed maxGivenBytes.
func givenAnswers(p *agui.Pause, answers []agui.Answer, read []agui.Reading) []store.GivenAnswer {
	list, room := make([]store.GivenAnswer, len(answers)), maxGivenBytes
	for n := range answers {
		a := &answers[n]
		g := store.GivenAnswer{ID: strings.Clone(a.ID), Status: a.Status}
		g.Verdict, g.Edited = agui.VerdictOf(a, read[n]), read[n].Edited
		i := p.Interrupt(a.ID)
		secret := i != nil && i.Secret
		if !secret {
			g.Digest = a.AnsweredDigest()
		}
		if len(a.Payload) <= room && !secret {
			g.Payload = bytes.Clone(a.Payload) // a copy, because it shares memory with the request
			room -= len(a.Payload)
		}
		list[n] = g
	}
	return list
}
