package proxy

import "sync"

// runIDs has the ids of runs under way on paths whose backend is not known yet. Mastra keeps a
// waiting run by its run id alone: two threads whose runs have the same id would share one
// question, and a yes in one thread would run the call of the other. Once the backend is known, its
// dialect sends run ids made by Holdpoint. Until then two such runs can collide only while both are
// under way. At two replicas they still collide, as without Holdpoint; preventing that would mean
// sending other run ids to every unknown backend.
type runIDs struct {
	mu sync.Mutex
	of map[runIDAt]*runID
}

type runIDAt struct{ path, id string }

// A runID is a run id that the backend gets as the client sent it.
type runID struct {
	at     runIDAt
	thread string
	runs   int
}

// enter registers a run id for a thread. It returns nil if a run of another thread has the id.
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

// leave removes a run. It does nothing for nil.
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

// sharesRunID reports whether a run of another thread has the same run id, see runIDs.
func (t *thread) sharesRunID() bool {
	if t.memory.routes.finder.Finds(t.spoken()) {
		return false
	}
	if t.runID == nil {
		t.runID = t.memory.runIDs.enter(runIDAt{t.request.path, t.in.RunID}, t.in.ThreadID)
	}
	return t.runID == nil
}

// backend returns which backend of the dialect serves the thread, as seen from its last question or
// from its path; "" if that is not known.
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
