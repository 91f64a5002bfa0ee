package proxy

import (
	"context"
	"errors"
	"net/http"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// detachTimeout bounds how long a claimed run is read on after its client has left.
const detachTimeout = time.Hour

// enter takes the run into the books. It fails when the proxy drains.
//
// The run's context does not end with the request's: a claimed run goes on without its client, so that the outcome of
// what was approved is recorded. For any other run the client's leaving cancels the upstream, see follow.
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
	r.report()
	r.unfollow()
	if r.unwatch != nil {
		r.unwatch()
	}
	r.alone.stop()
	r.cancel(context.Canceled)
	h := r.h
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.live, r)
	if len(h.live) == 0 && h.ended != nil {
		close(h.ended)
		h.ended = nil
	}
}

// detach reads a claimed run on after its client has left, until the outcome is recorded.
func (r *run) detach(b *body) {
	r.detached = true
	b.left = true
	r.log.Info("client left a claimed run: reading on")
	r.goOnAlone()
	go func() {
		defer r.leave()
		if b.filled != nil {
			<-b.filled
		}
		for !b.over && r.claimedNow() {
			b.rewind()
			b.guarded()
		}
		b.close()
	}()
}

// goOnAlone bounds how long a claimed run goes on without its client, wherever it is by then.
func (r *run) goOnAlone() {
	r.alone.start(detachTimeout, func(context.Context) bool {
		r.cancel(errIdle)
		return false
	})
}

// bound gives up the exchange if its answer's header, or what stands in place of a stream, does not come within the idle
// time. It returns what ends the watch.
func (r *run) bound() (done func()) {
	limit := r.h.opts.IdleTimeout
	if limit == 0 {
		return func() {}
	}
	t := time.AfterFunc(limit, func() { r.cancel(errIdle) })
	return func() { t.Stop() }
}

// reached notes that the backend has the exchange at hand, or a part of it.
func (r *run) reached() {
	r.wrote.Store(true)
	if r.exchange.Out.Resumes {
		r.carried.Store(true)
	}
}

// claimedNow says whether the run holds a claim, so that its end must be seen.
func (r *run) claimedNow() bool { return r.holding.Load() }

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
	if len(h.live) == 0 {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	if h.ended == nil {
		h.ended = make(chan struct{})
	}
	return h.ended
}

// beginLater begins a further run of the same stream, without answers; what it wants sent is dropped.
func (r *run) beginLater() error {
	r.withdraw()
	r.laterRuns++
	r.known, r.taken = nil, true
	r.request = translate.Request{Input: r.in, Show: r.show, Transcript: r.transcript, Pause: agui.Pause{Dialect: r.h.routeDialect(r.path)}}
	_, translation, err := r.h.opts.Dialect.Begin(r.request)
	if err != nil {
		return err
	}
	r.exchange = translate.Exchange{Run: translation}
	return nil
}

// A waiter paces the questions to the store of a request that waits for the same answers' end.
type waiter struct{ pause time.Duration }

func newWaiter() *waiter { return &waiter{pause: 20 * time.Millisecond} }

// next waits. The stream is begun, so that heartbeats keep the client.
func (w *waiter) next(r *run, out *writer) error {
	r.beginStream(out)
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	w.pause = min(w.pause*3/2, time.Second)
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}
