package proxy

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// enter takes the run into the books. It fails when the proxy drains.
//
// The run's context does not end with the request's: a claimed run goes on without its client, so that the outcome of
// what was approved is recorded, and so does one whose dialect wants it. For any other run the client's leaving cancels the upstream, see follow.
func (h *Handler) enter(r *run, req *http.Request) bool {
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(req.Context()))
	r.unfollow = context.AfterFunc(req.Context(), func() { r.cancel(context.Canceled) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return false
	}
	h.live[r] = r.cancel
	return true
}

// leave ends a run for good.
func (r *run) leave() {
	r.renewal.stop()
	r.unfollow()
	if r.unwatch != nil {
		r.unwatch()
	}
	r.alone.stop()
	r.cancel(context.Canceled)
	if r.transcript != nil {
		r.transcript.drop()
	}
	line := r.lastLine()
	if r.h.forget(r) {
		go r.h.report(line) // a log that is slow does not hold back the stream's end
	} else {
		r.h.report(line)
	}
}

// forget takes the run out of the books. few says that not many lines wait for the log.
func (h *Handler) forget(r *run) (few bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.left {
		if h.alone[r.key]--; h.alone[r.key] == 0 {
			delete(h.alone, r.key)
		}
	}
	delete(h.live, r)
	h.reports++
	return h.reports <= maxReports
}

// quiet says, under Handler.mu, that no run is left.
func (h *Handler) quiet() bool { return len(h.live) == 0 && h.reports == 0 }

// Drain waits until every stream has ended. When ctx is done, what is left gets RUN_ERROR PROXY_DRAINING and a clean
// end; a claimed run is in doubt then. New runs are refused from that moment on.
func (h *Handler) Drain(ctx context.Context) error {
	ended := h.allEnded()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	h.draining = true
	for _, cancel := range h.live {
		cancel(errDraining)
	}
	h.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-time.After(storeTimeout):
		return errors.New("proxy: some streams did not end")
	}
}

// allEnded is closed when no stream is left.
func (h *Handler) allEnded() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.quiet() {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	if h.ended == nil {
		h.ended = make(chan struct{})
	}
	return h.ended
}
