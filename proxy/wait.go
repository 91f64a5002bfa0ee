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

// The same answers again, while a run is under way with them, wait for its end. That run may be
// another replica's, so the record alone tells: it is asked again and again. The claim's lease
// bounds the wait. When it lapses, the record reads as in doubt, and the request is told so.

const (
	// firstLook and laterLooks are the times between two looks at the record. Most runs that are
	// waited for end soon, because it is the second click of one person.
	firstLook, laterLooks = 20 * time.Millisecond, time.Second
	// maxMissed is how many looks in a row may fail. A store that fails over takes some seconds, and
	// the answers are on their way all the same.
	maxMissed = 10
	// maxHasty is how often a request may find somebody quicker before it takes its time. After
	// maxQuicker, some 12 s, the record and the store's steps contradict each other.
	maxHasty, maxQuicker = 3, 23
)

var errQuicker = errors.New("each claim is refused, although the record allows it")

// A waiter paces the looks at the record of a request that waits.
type waiter struct {
	pause  time.Duration
	waited bool // the request has seen that its answers are on their way
	missed int  // looks that have failed since the last that did not
	hasty  int
}

func newWaiter() *waiter { return &waiter{pause: firstLook} }

// waitAgain waits for the next look. The stream is begun, so that heartbeats keep the client. What
// the attempt has made is given back: a request that waits holds its body, and no more.
func (w *waiter) waitAgain(r *run, out *stream.Writer) error {
	w.waited, w.missed, w.hasty = true, 0, 0
	return w.wait(r, out)
}

// quicker is again for a request that was about to be sent: somebody else has claimed, or ended,
// what it was for. It is judged again at once, unless that comes to nothing time after time. It
// returns errQuicker if that does not end.
func (w *waiter) quicker(r *run, out *stream.Writer) error {
	switch w.hasty++; {
	case w.hasty <= maxHasty:
		return nil
	case w.hasty > maxQuicker:
		return errQuicker
	}
	return w.wait(r, out)
}

// misses says of a failed look whether the request waits on: what it waits for was seen before.
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

// spread keeps apart the looks of the many that may wait for one run. It is of their run's id, so
// that the same requests do the same.
func spread(runID string) time.Duration {
	return time.Duration(crc32.ChecksumIEEE([]byte(runID)) % spreads)
}

const spreads = 256
