package proxy

import (
	"context"
	"time"

	"holdpoint/store"
)

// detachTimeout bounds how long a run is read on after its client has left.
const detachTimeout = time.Hour

// detach reads a run on after its client has left, until the outcome is recorded.
func (r *run) detach(b *body) {
	r.detached = true
	b.left = true
	r.log.Info("client left: reading on")
	r.goOnAlone()
	done := r.h.goesOnAlone(r)
	go func() {
		defer r.leave()
		defer done()
		if b.filled != nil {
			<-b.filled
		}
		for !b.over && !b.asked {
			b.rewind()
			b.guarded()
		}
		b.close()
	}()
}

// goesOnAlone notes that the thread's agent is at work without a client. What it returns takes the note back.
func (h *Handler) goesOnAlone(r *run) (done func()) {
	if r.claimedNow() {
		return func() {} // the record says so
	}
	add := func(n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.alone[r.key] += n; h.alone[r.key] == 0 {
			delete(h.alone, r.key)
		}
	}
	add(1)
	return func() { add(-1) }
}

// busyAlone says whether a run of the thread is read on without its client.
func (h *Handler) busyAlone(key store.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alone[key] > 0
}

// goOnAlone bounds how long a run goes on without its client, wherever it is by then.
func (r *run) goOnAlone() {
	r.alone.start(detachTimeout, func(context.Context) bool {
		r.cancel(errIdle)
		return false
	})
}
