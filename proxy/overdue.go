package proxy

import (
	"sync"
	"time"
)

// An overdue set tells what was waited for too long. It has one timer for everything that is waited
// for. A timer for each would nearly always be made and stopped again, and a new one may wake
// another thread.
type overdue[K comparable] struct {
	limit time.Duration // 0: for ever
	tell  func(K)       // must not come back to the set

	mu    sync.Mutex
	since map[K]time.Time // zero: it was told of
	ticks bool            // the timer runs
}

// add says that k is waited for from now on, until removed.
func (o *overdue[K]) add(k K) {
	if o.limit == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since == nil {
		o.since = map[K]time.Time{}
	}
	o.since[k] = time.Now()
	if !o.ticks {
		o.ticks = true
		time.AfterFunc(o.limit, o.look)
	}
}

// remove says that k is not waited for any more. It returns whether k was reported.
func (o *overdue[K]) remove(k K) (told bool) {
	if o.limit == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	told = o.since[k].IsZero()
	delete(o.since, k)
	return told
}

// look reports what has taken too long, and comes again when the next one could have.
func (o *overdue[K]) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	next := time.Duration(0)
	for k, since := range o.since {
		if since.IsZero() {
			continue
		}
		left := o.limit - now.Sub(since)
		if left <= 0 {
			o.since[k] = time.Time{}
			o.tell(k)
		} else if next == 0 || left < next {
			next = left
		}
	}
	if o.ticks = next > 0; o.ticks {
		time.AfterFunc(next, o.look)
	}
}
