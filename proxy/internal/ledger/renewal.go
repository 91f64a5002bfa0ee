package ledger

import (
	"context"
	"sync"
	"time"
)

// A Renewal does something again and again until it is stopped. After Stop has returned, nothing
// begins any more, and what was under way is told to give up: a claim must not be renewed after its
// run. The zero value has not started.
type Renewal struct {
	mu     sync.Mutex
	timer  *time.Timer
	cancel context.CancelFunc // nil unless it runs
	over   bool               // stopped, for good
}

// Start begins, once: step is called every so often until it returns false. It does nothing after
// Stop.
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

// Stop ends it for good, and the context of a step that is under way.
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
