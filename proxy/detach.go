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
	go func() {
		defer r.leave()
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

// busyAlone says whether a run of the thread is read on without its client.
func (h *Handler) busyAlone(key store.Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alone[key] > 0
}

// goOnAlone notes that the thread's agent is at work without a client, and bounds how long that may be. It is called as soon
// as the client has left, which the stream itself shows only when something is written to it.
func (r *run) goOnAlone() {
	r.h.mu.Lock()
	if _, live := r.h.live[r]; live && !r.noted {
		r.noted = true
		r.h.alone[r.key]++
	}
	r.h.mu.Unlock()
	r.alone.start(detachTimeout, func(context.Context) bool {
		r.cancel(errIdle)
		return false
	})
}
