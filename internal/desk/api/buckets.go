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
	size     int
	interval time.Duration
	now      func() time.Time

	mu     sync.Mutex
	fullAt map[K]time.Time // the time at which the key has its full burst again
}

func newBuckets[K comparable](size int, every time.Duration, now func() time.Time) *buckets[K] {
	return &buckets[K]{size: size, interval: every, now: now, fullAt: map[K]time.Time{}}
}

// take counts one use by the key who. It returns 0 if the use is allowed. Otherwise it returns how
// long the key must wait. A refused use is not counted, so the wait does not grow with the number
// of refused uses.
func (b *buckets[K]) take(key K) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	key = b.bucketKey(key, now)
	until := b.fullAt[key]
	if until.Before(now) {
		until = now
	}
	if wait := until.Sub(now) - time.Duration(b.size-1)*b.interval; wait > 0 {
		return wait
	}
	b.fullAt[key] = until.Add(b.interval)
	return 0
}

// bucketKey returns the key under which the uses of who are counted: key itself, or the zero value,
// which is shared if there are too many keys.
func (b *buckets[K]) bucketKey(key K, now time.Time) K {
	if _, ok := b.fullAt[key]; ok || len(b.fullAt) < maxWatched {
		return key
	}
	for one, until := range b.fullAt {
		if !until.After(now) {
			delete(b.fullAt, one)
		}
	}
	if len(b.fullAt) < maxWatched {
		return key
	}
	var shared K
	return shared
}
