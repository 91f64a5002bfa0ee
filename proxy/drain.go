package proxy

import (
	"context"
	"errors"
	"net/http"
	"time"

	"holdpoint/proxy/internal/stream"
)

// enter takes the run into the books. It fails when the proxy drains.
//
// The run's context does not end with the request's: a claimed run goes on without its client, so that the outcome of
// what was approved is recorded, and so does one whose dialect wants it. For any other run the client's leaving cancels the upstream, see follow.
func (h *Handler) enter(r *run, req *http.Request) bool {
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(req.Context()))
	r.ledger.ctx = r.ctx
	r.unfollow = context.AfterFunc(req.Context(), func() { r.cancel(context.Canceled) })
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return false
	}
	h.live[r] = r.cancel
	return true
}

// leave ends a run for good. out is nil if its client has left.
func (r *run) leave(out *stream.Writer) {
	r.renewal.stop()
	r.unfollow()
	if r.unwatch != nil {
		r.unwatch()
	}
	r.alone.stop()
	r.cancel(context.Canceled)
	if r.transcript != nil {
		r.transcript.Drop()
	}
	h, line := r.h, r.lastLine()
	h.mu.Lock()
	if r.left {
		if h.alone[r.ledger.key]--; h.alone[r.ledger.key] == 0 {
			delete(h.alone, r.ledger.key)
		}
	}
	delete(h.live, r)
	taken := h.reports.add(line)
	h.mu.Unlock()
	if !taken {
		h.quiet()
		if out != nil {
			_ = out.Send(nil, nil, false)
		}
		h.reports.write(line) // the stream's end waits for the log, what there is to see does not
	}
}

// quiet tells who waits for the end of all runs, if it has come.
func (h *Handler) quiet() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil && len(h.live) == 0 && h.reports.empty() {
		close(h.ended)
		h.ended = nil
	}
}

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
	if len(h.live) == 0 && h.reports.empty() {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	if h.ended == nil {
		h.ended = make(chan struct{})
	}
	return h.ended
}
