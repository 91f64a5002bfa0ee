package proxy

import (
	"context"
	"sync"
	"time"
)

// A renewal does something again and again until it is stopped. Once stop has returned, nothing
// begins any more, and what was under way is told to give up: a claim must not be renewed after its
// run.
type renewal struct {
	mu     sync.Mutex
	timer  *time.Timer
	cancel context.CancelFunc // nil unless it runs
	over   bool               // stopped, for good
}

// start begins, once: step is called every so often until it returns false.
func (r *renewal) start(every time.Duration, step func(ctx context.Context) bool) {
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

func (r *renewal) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.cancel != nil {
		r.cancel()
		r.timer.Stop()
		r.cancel = nil
	}
}
