package proxy

import (
	"errors"
	"log/slog"
	"net/http"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// serve judges the run and does what the judgement says.
func (r *run) serve(w http.ResponseWriter) {
	out := stream.NewWriter(w, r.h.opts.Heartbeat, stream.LimitsOf(r.request.http, r.h.opts.WriteTimeout))
	defer out.Close()
	defer r.returned(out)
	r.beginSpan()
	if !r.enter() {
		r.turnAway(out)
		return
	}
	if told := r.ruled(r.admit(out)); told != nil {
		r.tell(out, told)
	} else {
		r.forward(out)
	}
}

// turnAway refuses a run that comes while the proxy drains.
func (r *run) turnAway(out *stream.Writer) {
	r.tell(out, r.ruled(contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, errDraining)}))
}

// enter begins the run's life. It fails when the proxy drains.
func (r *run) enter() bool {
	enters := r.life.enter(&r.h.lives, r.request.http.Context())
	r.ledger.SetContext(r.life.ctx)
	return enters
}

// returned is deferred: the handler is done with the run. A panic ends this run only, and the
// client is told. One that is to end the connection (http.ErrAbortHandler) goes on.
func (r *run) returned(out *stream.Writer) {
	p := recover()
	defer func() { // also if what follows panics too
		if !r.life.detached.Load() {
			r.leave(out)
		}
	}()
	if err, _ := p.(error); p != nil && !errors.Is(err, http.ErrAbortHandler) {
		p = r.recovered(p, out)
	}
	if p != nil {
		panic(p)
	}
}

// newRun makes a run of a request that is one. The input is the run's from then on.
func (h *Handler) newRun(req *http.Request, route string, in *agui.RunInput, who principal.Who) *run {
	in = client.WithPublishedIDs(in)
	r := &run{h: h, who: who, request: request{http: req, path: route, input: in, client: clients.Of(in), id: intake.RequestID(req), trace: intake.TraceID(req.Header)}, report: report{started: h.opts.Now()}}
	r.told.NewID = h.opts.NewID
	if h.opts.Client != ClientNative { // what the operator names is shown as it is
		r.told.Line = r.request.client
	}
	r.request.toBackendThread(who)
	r.anew()
	r.log = slog.New(runLog{r})
	voice := ledger.Voice{Sinks: &h.sinks, Who: who, Thread: r.request.clientThread(), Run: in.RunID}
	r.ledger = ledger.New(h.opts.Store, ids.ThreadKey(who.Tenant, h.opts.Agent, route, in.ThreadID), voice, r.log)
	r.ledger.Owner = who.Owner().ID()
	r.life.key, r.life.log = r.ledger.Key, r.log
	return r
}

// recovered ends a run that has panicked. It returns what is to end the client's connection, nil
// if the client was told.
func (r *run) recovered(p any, out *stream.Writer) any {
	r.panicked(p)
	if r.life.detached.Load() {
		return r.abort() // the run goes on without this client
	}
	told := r.giveUpClaim()
	if out.Passing() || r.body != nil && r.body.started {
		return r.abort() // nobody knows where the client's stream stands
	}
	r.tell(out, append([]agui.Event{r.listener().Start()}, told...))
	return nil
}

// abort is the panic that ends the client's connection, as ReverseProxy does: net/http must not
// try to end such a stream in order. It is nil where no server is there to take it.
func (r *run) abort() any {
	if r.request.http.Context().Value(http.ServerContextKey) == nil {
		return nil
	}
	return http.ErrAbortHandler
}

// forward sends the first exchange and writes what comes of it to the client.
func (r *run) forward(out *stream.Writer) {
	r.exchange.begin()
	if r.exchange.Out.None {
		r.body = newBody(r, nil, translate.Unread)
		r.body.end.None = true
		r.beginStream(out)
	} else {
		r.out = out
		r.ledger.SetClient(out)
		r.send(out)
	}
	if r.body != nil {
		r.pump(out)
	}
}

// pump writes the stream to the client. ReverseProxy's own loop has one buffer of one size, which
// decides how much goes out in a system call; and its flushes come from another goroutine.
func (r *run) pump(out *stream.Writer) {
	defer r.body.Close()
	_ = out.FlushError() // of the header, if it is not held; ReverseProxy's own flush may not have come to it
	for {
		made, row, last, err := r.body.pull()
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
