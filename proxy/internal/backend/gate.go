package backend

import "sync"

// A Gate is a lock. One worker goroutine holds it while it works, and releases it while it waits
// for a backend. So other goroutines can inspect the worker's state, however long the wait is. The
// zero Gate is unlocked.
//
// Only the worker calls Enter and Leave. Other goroutines call Lock and Unlock.
type Gate struct {
	sync.Mutex
	inside bool // the worker holds the lock
}

// Enter acquires the lock for the worker.
func (g *Gate) Enter() {
	g.Lock()
	g.inside = true
}

// Leave releases the lock of the worker. If the worker does not hold the lock, or g is nil, Leave
// does nothing and returns false.
func (g *Gate) Leave() bool {
	if g == nil || !g.inside {
		return false
	}
	g.inside = false
	g.Unlock()
	return true
}
