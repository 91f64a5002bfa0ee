package api

import (
	"sync"
	"time"
)

// maxWatched is the largest number of keys that buckets remember. All further keys share one
// bucket.
const maxWatched = 4096

// buckets limits how often each key may do something: size times at once, and then once in each
// interval every.
type buckets[K comparable] struct {
	size  int
	every time.Duration
	now   func() time.Time

	mu sync.Mutex
	of map[K]time.Time // the time at which the key has its full burst again
}

func newBuckets[K comparable](size int, every time.Duration, now func() time.Time) *buckets[K] {
	return &buckets[K]{size: size, every: every, now: now, of: map[K]time.Time{}}
}

// take counts one use by the key who. It returns 0 if the use is allowed. Otherwise it returns how
// long the key must wait. A refused use is not counted, so the wait does not grow with the number
// of refused uses.
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

// place returns the key under which the uses of who are counted: who itself, or the zero value,
// which is shared if there are too many keys.
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
