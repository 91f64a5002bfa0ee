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
// with the backend or rarely several. One goroutine uses it at a time: the handler's, and after the
// client has left the one that reads on.
type run struct {
	h   *Handler
	log *slog.Logger // names the run

	judge    judge         // the request, and the record that it is judged against
	claim    *ledger.Claim // nil if it has none
	exchange exchange      // with the backend
	client   clientSide
	body     *body // what the client is to get; nil before a request is sent, and if its answer passes as it is

	life   runLife
	report report
}

// A report is for the one line that a run leaves in the log.
type report struct {
	started time.Time
	outcome string
	code    agui.Code

	upstream string        // how the backend has failed, see noteUpstream
	first    time.Duration // until the first bytes of a backend's stream
	told     int           // events of streams of our own
}

// newRun makes a run of a request that is one. The input is the run's from then on.
func (h *Handler) newRun(req request, who principal.Identity) *run {
	r := &run{h: h}
	h.initJudge(&r.judge, req, who)
	r.init()
	return r
}

// init completes a run that has its judge.
func (r *run) init() {
	r.log, r.judge.life = r.judge.log, &r.life
	r.judge.ledger.Ending = r.h.lives.ending
	r.client.judge = &r.judge
	r.exchange.judge, r.exchange.life, r.exchange.reverse = &r.judge, &r.life, r.h.reverse
	r.life.key, r.life.log = r.judge.ledger.Key, r.log
	r.report.started = r.h.opts.Now()
	r.client.told.NewID = r.h.opts.NewID
	if r.h.opts.Client != ClientNative { // what the operator names is shown as it is
		r.client.told.Line = r.judge.request.client
	}
}

// serve judges the run and does what the judgement says.
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

// turnAway refuses a run that comes while the proxy drains.
func (r *run) turnAway(out *stream.Writer) {
	r.tell(out, r.tellRuling(contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, errDraining)}))
}

// enter begins the run's life. It fails when the proxy drains.
func (r *run) enter() bool {
	enters := r.life.enter(&r.h.lives, r.judge.request.http.Context())
	r.judge.setContext(r.life.ctx)
	return enters
}

// finish is deferred: the handler is done with the run. A panic ends this run only, and the
// client is told. One that is to end the connection (http.ErrAbortHandler) goes on.
func (r *run) finish(out *stream.Writer) {
	p := recover()
	defer func() { // also if what follows panics too
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

// recoverRun ends a run that has panicked. It returns what is to end the client's connection, nil
// if the client was told.
func (r *run) recoverRun(p any, out *stream.Writer) any {
	logPanic(r.log, p)
	if r.life.detached.Load() {
		return r.abort() // the run goes on without this client
	}
	told := r.giveUpClaim()
	if out.Passing() || r.body != nil && r.body.started {
		return r.abort() // nobody knows where the client's stream stands
	}
	r.tell(out, append([]agui.Event{r.client.listener().Start()}, told...))
	return nil
}

// abort returns the panic that ends the client's connection, as ReverseProxy does: net/http must
// not try to end such a stream in order. It is nil where no server is there to take it.
func (r *run) abort() any {
	if r.judge.request.http.Context().Value(http.ServerContextKey) == nil {
		return nil
	}
	return http.ErrAbortHandler
}

// sendFirst sends the first exchange and writes what comes of it to the client.
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

// pump writes the stream to the client. ReverseProxy's own loop has one buffer of one size, which
// decides how much goes out in a system call; and its flushes come from another goroutine.
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
	_ = out.FlushError() // of the header, if it is not held; ReverseProxy's own flush may not have come to it
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

// beginSpan begins the run's span, if spans are made. leave ends it, so it begins where a run is
// served: a decision at the desk makes none.
func (r *run) beginSpan() {
	if t := r.h.opts.Tracer; t != nil {
		r.judge.span = t.Begin(r.judge.request.http.Header, r.h.opts.Agent, r.judge.request.clientThread(), r.judge.request.input.RunID)
		r.judge.request.trace, r.judge.ledger.Voice.Span = r.judge.span.TraceID(), r.judge.span
	}
}
