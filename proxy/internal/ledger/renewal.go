package ledger

import (
	"context"
	"sync"
	"time"
)

// A Renewal calls a function at an interval until it is stopped. Stop cancels the context of a
// running call, and no call begins after Stop has returned, because a claim must not be renewed
// after its run. The zero value is a Renewal that has not started.
type Renewal struct {
	mu     sync.Mutex
	timer  *time.Timer
	cancel context.CancelFunc // nil unless the Renewal is running
	over   bool               // stopped, and never started again
}

// Start starts the Renewal. step is called at the interval every, until it returns false. Start
// does nothing if Start or Stop was called before.
func (r *Renewal) Start(every time.Duration, step func(ctx context.Context) bool) {
	ctx, cancel := context.WithCancel(context.Background())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil || r.over {
		cancel()
		return
	}
	r.cancel = cancel
	r.timer = time.AfterFunc(every, func() {
		again := step(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if again && r.cancel != nil {
			r.timer.Reset(every)
		}
	})
}

// Stop ends the Renewal for good, and cancels the context of a running step.
func (r *Renewal) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.cancel != nil {
		r.cancel()
		r.timer.Stop()
		r.cancel = nil
	}
}
