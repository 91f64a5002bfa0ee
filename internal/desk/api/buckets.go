package api

import (
	"sync"
	"time"
)

// maxWatched limits the keys that buckets remember. Further keys share one bucket.
const maxWatched = 4096

// buckets limit how often each key may do something: a burst at once, and then once per interval.
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

// take counts one use by a key. It returns 0, or, if the key has used its limit, how long to wait.
// A refused use is not counted, so waiting always helps, however many refused ones follow.
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

// place returns the key under which who is counted.
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
