package proxy

import (
	"context"
	"time"

	"holdpoint/proxy/internal/stream"
)

// A waiter paces the questions to the store of a request that waits for the same answers' end.
type waiter struct{ pause time.Duration }

func newWaiter() *waiter { return &waiter{pause: 20 * time.Millisecond} }

// next waits. The stream is begun, so that heartbeats keep the client.
func (w *waiter) next(r *run, out *stream.Writer) error {
	r.beginStream(out)
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	w.pause = min(w.pause*3/2, time.Second)
	select {
	case <-timer.C:
		return nil
	case <-r.life.ctx.Done():
		return context.Cause(r.life.ctx)
	}
}
