package engine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A bound keeps the number of threads that wait under a limit. It counts them now and then only, so
// several replicas may go a little over it.
type bound struct {
	most  int // 0: none
	table Table

	mu    sync.Mutex
	count int
	at    time.Time
}

// recount is how old a count may get.
const recount = 5 * time.Second

// full reports whether no more threads may wait.
func (b *bound) full(ctx context.Context) (bool, error) {
	if b.most <= 0 {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() || time.Since(b.at) > recount || b.count >= b.most {
		n, err := b.table.Open(ctx)
		if err != nil {
			return false, fmt.Errorf("store: %w", err)
		}
		b.count, b.at = n, time.Now()
	}
	return b.count >= b.most, nil
}

// countOpened counts one that was opened here.
func (b *bound) countOpened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
}
