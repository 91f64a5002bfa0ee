package proxy

import "sync"

// runIDs has the run ids of current runs, on paths whose backend is not known yet. Mastra keeps a
// waiting run by its run id alone. If the runs of two threads had the same id, they would share one
// question, and a yes in one thread would run the call of the other thread. Once Mastra is known as
// the backend, its dialect sends run ids that Holdpoint has made. Before that, two runs with one id
// can collide only while both are active. At two replicas they can still collide, as without
// Holdpoint. To prevent that, Holdpoint would have to send other run ids to every unknown backend.
type runIDs struct {
	mu sync.Mutex
	of map[runIDAt]*runID
}

type runIDAt struct{ path, id string }

// A runID is a run id that the backend gets unchanged from the client. runs is the number of runs
// of the thread that have it.
type runID struct {
	at     runIDAt
	thread string
	runs   int
}

// enter registers a run with its run id and its thread. It returns nil if a run of another thread
// has the same id.
func (b *runIDs) enter(at runIDAt, thread string) *runID {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of[at]
	switch {
	case one == nil:
		if b.of == nil {
			b.of = map[runIDAt]*runID{}
		}
		one = &runID{at: at, thread: thread}
		b.of[at] = one
	case one.thread != thread:
		return nil
	}
	one.runs++
	return one
}

// leave removes a run that enter has registered. It does nothing if one is nil.
func (b *runIDs) leave(one *runID) {
	if one == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.runs--; one.runs == 0 {
		delete(b.of, one.at)
	}
}

// sharesRunID reports whether a run of another thread has the same run id, on a path whose backend
// is not known, see runIDs.
func (t *thread) sharesRunID() bool {
	if t.memory.routes.finder.Finds(t.dialectOfThread()) {
		return false
	}
	if t.runID == nil {
		t.runID = t.memory.runIDs.enter(runIDAt{t.request.path, t.in.RunID}, t.in.ThreadID)
	}
	return t.runID == nil
}

// backend returns the kind of backend within the dialect that serves the thread. It is known from
// the thread's last question, or from the path. If it is not known, backend returns "".
func (t *thread) backend() string {
	if p := t.record.Pause; p != nil && p.Backend != "" {
		return p.Backend
	}
	for _, result := range t.record.Results {
		if result.Pause != nil && result.Pause.Backend != "" {
			return result.Pause.Backend
		}
	}
	at, _ := t.memory.routes.Get(t.request.path)
	return at.backend
}
