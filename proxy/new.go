package proxy

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"time"

	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/cors"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// New returns a Handler with the given options, or an error if the options are not valid.
func New(opts Options) (*Handler, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	h := &Handler{opts: opts, refuser: refuser{log: opts.Logger}, runs: newRunRegistry()}
	o := &h.opts
	h.log = cmp.Or(h.log, slog.New(slog.DiscardHandler))
	if o.Agent != "" {
		h.log = h.log.With("agent", o.Agent)
	}
	o.Client = cmp.Or(o.Client, ClientAuto)
	o.MaxRequestBytes = cmp.Or(o.MaxRequestBytes, defaultRequestBytes)
	o.MaxFrameBytes = cmp.Or(o.MaxFrameBytes, defaultFrameBytes)
	o.TranscriptBytes = cmp.Or(o.TranscriptBytes, defaultTranscriptBytes)
	o.BodyBytes = cmp.Or(o.BodyBytes, defaultBodyBytes)
	o.ResumeIdleGrace = cmp.Or(o.ResumeIdleGrace, defaultIdleGrace)
	if o.AddressShare >= 100 {
		o.AddressShare = 0
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h.memory = newProcessMemory(o, h.log)
	h.intake = intake.New(intake.Options{
		Dialect: o.Dialect, DialectAt: h.memory.routes.dialectOf, Agent: h.memory.agents.has,
		Room:            intake.NewBodyRoom(o.BodyBytes, o.BodyBytes/100*int64(o.AddressShare)),
		MaxRequestBytes: o.MaxRequestBytes, Shares: o.AddressShare != 0, Underscores: o.Underscores,
	})
	if o.NewID == nil {
		o.NewID = ids.Random72
	}
	h.sinks = ledger.Sinks{
		Events: o.Events, Required: o.EventsRequired, Notices: o.Notices, OnNotices: o.OnNotices,
		Agent: o.Agent, Names: o.ShowPrincipal, Now: o.Now,
	}
	h.runs.reports.log, h.runs.reports.onEmpty = h.log, h.runs.closeWhenEmpty
	h.transports = &transports{o.Transport, o.Transport}
	if o.Transport == nil {
		h.transports.shared, h.transports.single = backend.Transports(o.Upstream, backend.Options{TLS: o.UpstreamTLS, HTTP2: o.UpstreamHTTP2, KeepAlive: o.UpstreamKeepAlive})
	}
	h.destination = destination{upstream: o.Upstream, preserveHost: o.PreserveHost, gate: o.Gate}
	h.SetUpstreamHeaders(o.UpstreamHeaders)
	h.cors = cors.New(o.AllowOrigins, o.Now, http.HandlerFunc(h.passPreflight))
	h.reverseProxy = &httputil.ReverseProxy{
		Rewrite:        h.rewrite,
		ModifyResponse: h.modifyResponse,
		ErrorHandler:   h.upstreamFailed,
		Transport:      h.transports,
		FlushInterval:  -1,
		BufferPool:     &copyBuffers{},
		ErrorLog:       slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	return h, nil
}

// SetUpstreamHeaders replaces Options.UpstreamHeaders for all later requests to the backend.
func (h *Handler) SetUpstreamHeaders(headers http.Header) { h.destination.headers.Store(&headers) }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	dropped, refused := h.intake.Form(req)
	if dropped {
		h.memory.logOnce("underscores", func() {
			h.log.Warn(logHeaderDropped, "variable", "HOLDPOINT_HEADER_UNDERSCORES")
		})
	}
	if refused != nil {
		h.refuse(w, req, refused)
		return
	}
	if h.cors.Answers(req) {
		h.answerPreflight(w, req)
		return
	}
	who, refused := intake.Ask(h.opts.Gate, req)
	if refused != nil {
		h.refuse(w, req, refused)
		return
	}
	switch r, passes := h.recognise(w, req, who); {
	case r != nil:
		r.serve(w)
	case passes:
		stream.ClearDeadline(w)
		w = stream.NewPassing(w, stream.LimitsOf(req, h.opts.WriteTimeout))
		h.reverseProxy.ServeHTTP(w, withClient(req))
	}
}

// recognise returns the run of a request, nil if the request is not a run. passes means that the
// request is passed on unchanged. If r is nil and passes is false, recognise has refused the
// request and has sent the response.
func (h *Handler) recognise(w http.ResponseWriter, req *http.Request, who principal.Identity) (r *run, passes bool) {
	if refused := intake.Path(req); refused != nil {
		h.refuse(w, req, refused)
		return nil, false
	}
	if hint := h.hint(req.URL.Path); hint != "" {
		h.memory.logOnce(hint, func() { h.log.Warn(hint, "path", req.URL.Path, "dialect", h.opts.Dialect.Name()) })
	}
	switch read, refused := h.intake.Read(http.NewResponseController(w), req); {
	case refused != nil:
		h.refuse(w, req, refused)
		return nil, false
	case read == nil:
		return nil, true
	default:
		return h.newRun(newRequest(req, read.Route, read.Input), who), false
	}
}

// OpenRuns returns the number of current runs, with those that continue without their clients.
func (h *Handler) OpenRuns() int { return h.runs.count() }

// Drain waits until every stream has ended. If ctx is done before, Drain ends the remaining
// streams: each gets RUN_ERROR PROXY_DRAINING and ends cleanly. The pauses that their runs had
// claimed are in doubt. From then on, new runs are refused. Drain returns an error if some streams
// do not end.
func (h *Handler) Drain(ctx context.Context) error {
	ended := h.runs.streamsEnded()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	h.runs.drain()
	select {
	case <-ended:
		return nil
	case <-time.After(ledger.StepTimeout):
		return errors.New(textStreamsLeft)
	}
}

// hint returns a warning of the dialect about requests to a path, "" if the dialect has no warning.
func (h *Handler) hint(path string) string {
	if hinter, ok := h.opts.Dialect.(translate.Hinter); ok {
		return hinter.Hint(path)
	}
	return ""
}
