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

// A run is one run of a client. It has a judge for its request, at most one claim, and one exchange
// with the backend, or rarely several. Only one goroutine uses it at a time: first the goroutine of
// the handler. If the client leaves and the run continues, it is then the goroutine that reads the
// stream to its end.
type run struct {
	h   *Handler
	log *slog.Logger // adds the ids of the run to each line

	judge    judge         // judges the request against a record
	claim    *ledger.Claim // nil if the run has no answers
	exchange exchange      // the current exchange with the backend
	client   clientSide
	// The response to the client. It is nil before a request is sent, and if the response is passed
	// on unchanged.
	body *body

	life   runLife
	report report
}

// A report has the values for the line that a run logs at its end.
type report struct {
	started time.Time
	outcome string
	code    agui.Code

	upstream   string        // in what way the backend failed, see noteUpstream
	first      time.Duration // time until the first bytes of the backend's stream
	eventsMade int           // number of events in the streams that Holdpoint made without the backend
}

// newRun returns the run of a request. From then on the run owns the input.
func (h *Handler) newRun(req request, who principal.Identity) *run {
	r := &run{h: h}
	h.initJudge(&r.judge, req, who)
	r.init()
	return r
}

// init sets the other fields of a run whose judge is already set.
func (r *run) init() {
	r.log, r.judge.life = r.judge.log, &r.life
	r.judge.ledger.Ending = r.h.runs.ending
	r.client.judge = &r.judge
	r.exchange.judge, r.exchange.life, r.exchange.reverseProxy = &r.judge, &r.life, r.h.reverseProxy
	r.life.key, r.life.log = r.judge.ledger.Key, r.log
	r.report.started = r.h.opts.Now()
	r.client.stream.NewID = r.h.opts.NewID
	if r.h.opts.Client != ClientNative { // with HOLDPOINT_CLIENT=native nothing is adapted to the client
		r.client.stream.Line = r.judge.request.client
	}
}

// serve judges the run. Then it sends the run to the backend, or answers it without the backend.
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
		r.sendReply(out, told)
	} else {
		r.sendFirst(out)
	}
}

// turnAway refuses a run because Holdpoint is about to end.
func (r *run) turnAway(out *stream.Writer) {
	r.sendReply(out, r.tellRuling(contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, errDraining)}))
}

// enter registers the run. It returns false if Holdpoint is about to end and accepts no more runs.
func (r *run) enter() bool {
	enters := r.life.enter(&r.h.runs, r.judge.request.http.Context())
	r.judge.setContext(r.life.ctx)
	return enters
}

// finish is deferred by serve. If the run has panicked, only this run ends, and its client gets an
// error. A panic that is meant to end the connection (http.ErrAbortHandler) is raised again.
func (r *run) finish(out *stream.Writer) {
	p := recover()
	defer func() { // this runs even if the code below panics
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

// recoverRun ends a run that has panicked with p. If the client could be sent an error, it returns
// nil. Otherwise it returns the panic value that must end the client's connection.
func (r *run) recoverRun(p any, out *stream.Writer) any {
	logPanic(r.log, p)
	if r.life.detached.Load() {
		return r.abort() // the run continues without this client
	}
	told := r.giveUpClaim()
	if out.Passing() || r.body != nil && r.body.started {
		return r.abort() // it is not known how much the client has received
	}
	r.sendReply(out, append([]agui.Event{r.client.listener().Start()}, told...))
	return nil
}

// abort returns the panic value that makes net/http end the client's connection, as ReverseProxy
// does. Without it, net/http would end the incomplete stream as if it were complete. abort returns
// nil if no server would recover from the panic.
func (r *run) abort() any {
	if r.judge.request.http.Context().Value(http.ServerContextKey) == nil {
		return nil
	}
	return http.ErrAbortHandler
}

// sendFirst sends the first exchange of the run, and writes the stream that results to the client.
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
	if r.body.passedUnchanged {
		r.body = nil
		return
	}
	r.pump(out)
}

// pump writes the stream to the client. It replaces the copy loop of ReverseProxy. That loop has a
// buffer of a fixed size, which decides how much one system call writes, and it flushes from
// another goroutine.
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
	// Flushes the header, unless it is held back. ReverseProxy may not have flushed it yet.
	_ = out.FlushError()
	for {
		made, row, last, err := b.nextOutput()
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

// beginSpan begins the trace span of the run, if there is a Tracer. serve calls it, because leave
// ends the span. A decision at the desk has no span.
func (r *run) beginSpan() {
	if t := r.h.opts.Tracer; t != nil {
		r.judge.span = t.Begin(r.judge.request.http.Header, r.h.opts.Agent, r.judge.request.clientThread(), r.judge.request.input.RunID)
		r.judge.request.trace, r.judge.ledger.Reporter.Span = r.judge.span.TraceID(), r.judge.span
	}
}
