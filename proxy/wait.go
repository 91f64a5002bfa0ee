package proxy

import (
	"context"
	"errors"
	"hash/crc32"
	"time"

	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
	"holdpoint/translate"
)

// If a request has the same answers as a run that is already active, it waits for the end of that
// run. The run may be at another replica, so the waiting request loads the record repeatedly. The
// lease of the claim limits the wait: if it lapses, the record is in doubt, and the client is told
// this.

const (
	// firstLook is the time before the record is loaded the first time. laterLooks is the longest
	// time between two loads. Most waits are short, because most such requests are a second click
	// by the same person.
	firstLook, laterLooks = 20 * time.Millisecond, time.Second
	// maxFailedLooks is the number of consecutive loads that may fail. If the store fails over to
	// another server, it needs some seconds, and the run continues during that time.
	maxFailedLooks = 10
	// maxLostAtOnce is how often a request may lose the claim to another request and try again at
	// once. After that it pauses before each attempt. After maxLostClaims attempts, which take some 12
	// s, it gives up: the record allows the claim, but the store refuses it each time.
	maxLostAtOnce, maxLostClaims = 3, 23
)

var errAlwaysOvertaken = errors.New(textClaimRefused)

// A waiter decides when a waiting request loads the record.
type waiter struct {
	pause       time.Duration
	sawClaim    bool // a record has shown that a run carries out the same answers
	failedLooks int  // number of loads that failed since the last successful load
	lostClaims  int
}

func newWaiter() *waiter { return &waiter{pause: firstLook} }

// waitAgain waits until the record is to be loaded again. It begins the client's stream, so that
// heartbeats keep the connection. It drops the results of the attempt, so that a waiting request
// has only its body in memory.
func (w *waiter) waitAgain(r *run, out *stream.Writer) error {
	w.sawClaim, w.failedLooks, w.lostClaims = true, 0, 0
	return w.wait(r, out)
}

// judgeAgain is called if another request has claimed or ended the pause first. It returns when
// this request is to be judged again: the first times at once, later after a pause. It returns
// errAlwaysOvertaken if the request has lost the claim too often.
func (w *waiter) judgeAgain(r *run, out *stream.Writer) error {
	switch w.lostClaims++; {
	case w.lostClaims <= maxLostAtOnce:
		return nil
	case w.lostClaims > maxLostClaims:
		return errAlwaysOvertaken
	}
	return w.wait(r, out)
}

// countFailedLook counts a failed load of the record. It reports whether the request continues to
// wait. The request continues only if an earlier load was successful.
func (w *waiter) countFailedLook() bool {
	w.failedLooks++
	return w.sawClaim && w.failedLooks < maxFailedLooks
}

func (w *waiter) wait(r *run, out *stream.Writer) error {
	r.judge.nextAttempt()
	r.client.preparedRun = preparedRun{}
	r.judge.record, r.exchange.Exchange = store.Record{}, translate.Exchange{}
	r.beginStream(out)
	timer := time.NewTimer(w.pause - w.pause/4*spreadOf(r.judge.in.RunID)/spreadSteps)
	defer timer.Stop()
	w.pause = min(w.pause*3/2, laterLooks)
	select {
	case <-timer.C:
		return nil
	case <-r.life.ctx.Done():
		return context.Cause(r.life.ctx)
	}
}

// spreadOf returns a number from 0 to spreads-1. It shortens a wait by up to a quarter, so that
// requests that wait for the same run load the record at different times. It depends on the run id
// of the request, so that the times of a test are the same each time.
func spreadOf(runID string) time.Duration {
	return time.Duration(crc32.ChecksumIEEE([]byte(runID)) % spreadSteps)
}

const spreadSteps = 256
