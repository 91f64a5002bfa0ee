package proxy

import "sync"

// runIDs are the run ids of the runs that are under way at paths where nobody knows the backend.
// Mastra keeps what waits by run id alone: two threads whose runs have one id would have one
// question, and a yes to one of them runs the call of the other. Once the backend is known, its
// dialect sends ids of Holdpoint's own. Until then such runs could meet only while both are under
// way. At two replicas they meet as they do without Holdpoint: an id of our own for every backend
// that is unknown would change what all the others are sent.
type runIDs struct {
	mu sync.Mutex
	of map[runIDAt]*runID
}

type runIDAt struct{ path, id string }

// A runID is one that was handed on as the client sent it.
type runID struct {
	at     runIDAt
	thread string
	runs   int
}

// enter books a run id for a thread. It returns nil if another thread's run has it already.
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

// leave takes a run out of the books. nil: it is not there.
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

// sharesRunID reports whether another thread's run has the id of this one, see runIDs.
func (t *thread) sharesRunID() bool {
	if t.memory.routes.finder.Finds(t.spoken()) {
		return false
	}
	if t.runID == nil {
		t.runID = t.memory.runIDs.enter(runIDAt{t.request.path, t.in.RunID}, t.in.ThreadID)
	}
	return t.runID == nil
}

// backend returns which backend of its dialect the thread's question was seen to be of, or its path
// was seen to lead to. It is "" if nobody knows.
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
