package api

import (
	"sync"
	"time"
)

// maxWatched bounds what buckets remember. Those that find no room share one place.
const maxWatched = 4096

// buckets bound how often each of many does something: so many times at once, and again every
// while.
type buckets[K comparable] struct {
	size  int
	every time.Duration
	now   func() time.Time

	mu sync.Mutex
	of map[K]time.Time // when all will be forgiven
}

func newBuckets[K comparable](size int, every time.Duration, now func() time.Time) *buckets[K] {
	return &buckets[K]{size: size, every: every, now: now, of: map[K]time.Time{}}
}

// take notes that one did it. If it is one time too many, it is how long he should wait, else 0.
// One too many is not counted: what came before is forgiven in time, however many follow.
func (b *buckets[K]) take(who K) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	who = b.place(who, now)
	until := b.of[who]
	if until.Before(now) {
		until = now
	}
	if wait := until.Sub(now) - time.Duration(b.size-1)*b.every; wait > 0 {
		return wait
	}
	b.of[who] = until.Add(b.every)
	return 0
}

// place returns where one is remembered.
func (b *buckets[K]) place(who K, now time.Time) K {
	if _, ok := b.of[who]; ok || len(b.of) < maxWatched {
		return who
	}
	for one, until := range b.of {
		if !until.After(now) {
			delete(b.of, one)
		}
	}
	if len(b.of) < maxWatched {
		return who
	}
	var shared K
	return shared
}
