package proxy

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/stream"
)

// A run is one run of a client. It has a judge of its request, at most one claim, and one exchange
// with the backend, rarely several. One goroutine at a time uses it: that of the handler, and after
// the client has left the one that reads to the end.
type run struct {
	h   *Handler
	log *slog.Logger // its lines have the ids of the run

	judge    judge         // judges the request against a record
	claim    *ledger.Claim // nil if the run has no answers
	exchange exchange      // the current exchange with the backend
	client   clientSide
	body     *body // the response to the client; nil before a request is sent, and if the response is passed unchanged

	life   runLife
	report report
}

// A report has the values for the line that a run logs at its end.
type report struct {
	started time.Time
	outcome string
	code    agui.Code

	upstream   string        // how the backend failed, see noteUpstream
	first      time.Duration // time until the first bytes of the backend's stream
	eventsMade int           // number of events in streams that Holdpoint made
}

// newRun returns the run of a request. It owns the input from then on.
func (h *Handler) newRun(req request, who principal.Identity) *run {
	r := &run{h: h}
	h.initJudge(&r.judge, req, who)
	r.init()
	return r
}

// init completes a run whose judge is set.
func (r *run) init() {
	r.log, r.judge.life = r.judge.log, &r.life
	r.judge.ledger.Ending = r.h.runs.ending
	r.client.judge = &r.judge
	r.exchange.judge, r.exchange.life, r.exchange.reverse = &r.judge, &r.life, r.h.reverse
	r.life.key, r.life.log = r.judge.ledger.Key, r.log
	r.report.started = r.h.opts.Now()
	r.client.stream.NewID = r.h.opts.NewID
	if r.h.opts.Client != ClientNative { // with HOLDPOINT_CLIENT=native nothing is adapted to the client
		r.client.stream.Line = r.judge.request.client
	}
}

// serve judges the run, and then sends it to the backend or answers it.
func (r *run) serve(w http.ResponseWriter) {
	out := stream.NewWriter(w, r.h.opts.Heartbeat, stream.LimitsOf(r.judge.request.http, r.h.opts.WriteTimeout))
	defer out.Close()
	defer r.finish(out)
	r.beginSpan()
	if !r.enter() {
		r.turnAway(out)
		return
	}
	if told := r.tellRuling(r.admit(out)); told != nil {
		r.tell(out, told)
	} else {
		r.sendFirst(out)
	}
}

// turnAway refuses a run because the proxy is draining.
func (r *run) turnAway(out *stream.Writer) {
	r.tell(out, r.tellRuling(contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, errDraining)}))
}

// enter registers the run. It returns false if the proxy is draining.
func (r *run) enter() bool {
	enters := r.life.enter(&r.h.runs, r.judge.request.http.Context())
	r.judge.setContext(r.life.ctx)
	return enters
}

// finish is deferred by serve. A panic ends only this run, and the client is told of it. A panic
// that is meant to end the connection (http.ErrAbortHandler) is raised again.
func (r *run) finish(out *stream.Writer) {
	p := recover()
	defer func() { // even if the following code panics too
		if !r.life.detached.Load() {
			r.leave(out)
		}
	}()
	if err, _ := p.(error); p != nil && !errors.Is(err, http.ErrAbortHandler) {
		p = r.recoverRun(p, out)
	}
	if p != nil {
		panic(p)
	}
}

// recoverRun ends a run that has panicked with p. It returns the panic that must end the client's
// connection, nil if the client was told of the failure.
func (r *run) recoverRun(p any, out *stream.Writer) any {
	logPanic(r.log, p)
	if r.life.detached.Load() {
		return r.abort() // the run continues without this client
	}
	told := r.giveUpClaim()
	if out.Passing() || r.body != nil && r.body.started {
		return r.abort() // it is not known what the client has received
	}
	r.tell(out, append([]agui.Event{r.client.listener().Start()}, told...))
	return nil
}

// abort returns the panic value that ends the client's connection, as ReverseProxy does, because
// net/http must not end such a stream as if it were complete. It is nil if there is no server that
// would recover from the panic.
func (r *run) abort() any {
	if r.judge.request.http.Context().Value(http.ServerContextKey) == nil {
		return nil
	}
	return http.ErrAbortHandler
}

// sendFirst sends the first exchange and writes the resulting stream to the client.
func (r *run) sendFirst(out *stream.Writer) {
	r.exchange.begin()
	r.body = newBody(r)
	if r.exchange.Out.None {
		r.body.end.None, r.body.opened = true, true
		r.beginStream(out)
	} else {
		r.body.to = out
		r.judge.ledger.SetClient(out)
		r.body.send(out)
	}
	if r.body.untouched {
		r.body = nil
		return
	}
	r.pump(out)
}

// pump writes the stream to the client. It replaces the loop of ReverseProxy, whose fixed buffer
// decides how much one system call writes, and whose flushes come from another goroutine.
func (r *run) pump(out *stream.Writer) {
	b := r.body
	defer func() {
		if b.Close() {
			r.life.detach(func() {
				defer r.leave(nil)
				b.readAlone()
			})
		}
	}()
	_ = out.FlushError() // flushes the header, unless it is held back; ReverseProxy may not have flushed it yet
	for {
		made, row, last, err := b.pull()
		if err != nil {
			return
		}
		if r.report.first == 0 {
			r.report.first = r.h.opts.Now().Sub(r.report.started)
		}
		if err := out.Send(made, row, last); err != nil {
			r.log.Debug("the client is gone", "err", err)
			if p := r.abort(); p != nil {
				panic(p)
			}
			return
		}
	}
}

// beginSpan begins the span of the run, if there is a Tracer. leave ends the span, so serve begins
// it: a decision at the desk makes no span.
func (r *run) beginSpan() {
	if t := r.h.opts.Tracer; t != nil {
		r.judge.span = t.Begin(r.judge.request.http.Header, r.h.opts.Agent, r.judge.request.clientThread(), r.judge.request.input.RunID)
		r.judge.request.trace, r.judge.ledger.Voice.Span = r.judge.span.TraceID(), r.judge.span
	}
}
