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
	limit int // 0 for no limit
	table Table

	mu        sync.Mutex
	count     int
	countedAt time.Time
}

// maxCountAge is the maximum age of a count of the open threads.
const maxCountAge = 5 * time.Second

// isFull reports whether no more threads may be opened.
func (b *bound) isFull(ctx context.Context) (bool, error) {
	if b.limit <= 0 {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.countedAt.IsZero() || time.Since(b.countedAt) > maxCountAge || b.count >= b.limit {
		n, err := b.table.Open(ctx)
		if err != nil {
			return false, fmt.Errorf("store: %w", err)
		}
		b.count, b.countedAt = n, time.Now()
	}
	return b.count >= b.limit, nil
}

// countOpened adds a thread that this process has opened to the count.
func (b *bound) countOpened() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
}
