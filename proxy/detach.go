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
	r.detached.Store(true)
	b.left = true
	r.goOnAlone()
	go func() {
		defer r.leave(nil)
		if b.busy {
			<-b.filled
			b.busy = false
		}
		b.endFills()
		for !b.over && !b.settled() {
			b.out.Clear()
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

// goOnAlone notes that the client has left, wherever the run is by then, and bounds how long it goes on without it.
func (r *run) goOnAlone() {
	h := r.h
	h.mu.Lock()
	_, live := h.live[r]
	first := live && !r.left
	if first {
		r.left = true
		h.alone[r.ledger.key]++
	}
	h.mu.Unlock()
	if !first {
		return
	}
	r.log.Info("client left: the run goes on")
	r.alone.start(detachTimeout, func(context.Context) bool {
		r.cancel(errIdle)
		return false
	})
}
