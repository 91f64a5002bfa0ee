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

// If a request has the same answers as a run under way, it waits for the end of that run. The run
// may be at another replica, so the waiting request loads the record again and again. The claim's
// lease bounds the wait: when it lapses, the record is in doubt, and the request is told so.

const (
	// firstLook is the time before the first look at the record, and laterLooks the longest time
	// between two looks. Most waits are short, because the request is the second click of one
	// person.
	firstLook, laterLooks = 20 * time.Millisecond, time.Second
	// maxMissed is the number of looks in a row that may fail. A store that fails over needs some
	// seconds, and the run continues meanwhile.
	maxMissed = 10
	// maxHasty is the number of times that a request may lose the claim to another one before it
	// pauses between attempts. After maxQuicker times, some 12 s, the record and the store's steps
	// contradict each other.
	maxHasty, maxQuicker = 3, 23
)

var errQuicker = errors.New("each claim is refused, although the record allows it")

// A waiter schedules the looks at the record of a request that waits.
type waiter struct {
	pause  time.Duration
	waited bool // the record has shown that its answers are being carried out
	missed int  // number of failed looks since the last successful one
	hasty  int
}

func newWaiter() *waiter { return &waiter{pause: firstLook} }

// waitAgain waits until the next look. It begins the client's stream, so that heartbeats keep the
// connection, and drops the results of the attempt: a waiting request keeps only its body in
// memory.
func (w *waiter) waitAgain(r *run, out *stream.Writer) error {
	w.waited, w.missed, w.hasty = true, 0, 0
	return w.wait(r, out)
}

// quicker is called if another request has claimed or ended the pause first. The request is judged
// again, at once the first times and then after a pause. quicker returns errQuicker if it never
// succeeds.
func (w *waiter) quicker(r *run, out *stream.Writer) error {
	switch w.hasty++; {
	case w.hasty <= maxHasty:
		return nil
	case w.hasty > maxQuicker:
		return errQuicker
	}
	return w.wait(r, out)
}

// misses counts a failed look, and reports whether the request keeps waiting, which it does only if
// an earlier look succeeded.
func (w *waiter) misses() bool {
	w.missed++
	return w.waited && w.missed < maxMissed
}

func (w *waiter) wait(r *run, out *stream.Writer) error {
	r.judge.nextAttempt()
	r.client.preparedRun = preparedRun{}
	r.judge.record, r.exchange.Exchange = store.Record{}, translate.Exchange{}
	r.beginStream(out)
	timer := time.NewTimer(w.pause - w.pause/4*spread(r.judge.in.RunID)/spreads)
	defer timer.Stop()
	w.pause = min(w.pause*3/2, laterLooks)
	select {
	case <-timer.C:
		return nil
	case <-r.life.ctx.Done():
		return context.Cause(r.life.ctx)
	}
}

// spread distributes the looks of requests that wait for the same run. It depends on the id of the
// request's run, so that a test gets the same times each time.
func spread(runID string) time.Duration {
	return time.Duration(crc32.ChecksumIEEE([]byte(runID)) % spreads)
}

const spreads = 256
