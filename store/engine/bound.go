package engine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A bound limits the number of open threads. It counts them only from time to time, so several
// replicas may exceed the limit slightly.
type bound struct {
	most  int // 0 for no limit
	table Table

	mu    sync.Mutex
	count int
	at    time.Time
}

// recount is the maximum age of a count of the open threads.
const recount = 5 * time.Second

// full reports whether no more threads may be opened.
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

// countOpened adds a thread that this process has opened to the count.
func (b *bound) countOpened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
}
