package backend

import "sync"

// A Gate is a lock that one goroutine holds while it works, and opens while it waits for a backend.
// So others can look at what it works on, although nobody knows how long it waits. The zero Gate is
// open.
//
// One goroutine at a time enters and leaves. Others lock and unlock.
type Gate struct {
	sync.Mutex
	inside bool // of the one goroutine
}

// Enter waits until nobody else has the lock.
func (g *Gate) Enter() {
	g.Lock()
	g.inside = true
}

// Leave gives the lock back. It returns false to who has not entered, and does nothing then.
func (g *Gate) Leave() bool {
	if g == nil || !g.inside {
		return false
	}
	g.inside = false
	g.Unlock()
	return true
}
