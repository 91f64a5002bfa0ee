package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/cors"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
	"holdpoint/translate"
)

// New checks the options and makes a Handler.
func New(opts Options) (*Handler, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	h := &Handler{opts: opts, refuser: refuser{log: opts.Logger}, lives: lives{live: map[*life]struct{}{}, alone: map[store.Key]int{}}}
	h.routes, _ = lru.New[string, spokenAt](maxRoutes) // fails for a size of 0 only
	h.agents, _ = lru.New[string, struct{}](maxRoutes)
	h.passed, _ = lru.New[passedCall, struct{}](maxPassed)
	h.leftOpen, _ = lru.New[callKey, struct{}](maxPassed)
	h.named, _ = lru.New[store.Key, []string](maxNamed)
	o := &h.opts
	h.foreign, _ = o.Dialect.(translate.Foreign)
	h.guard, _ = o.Dialect.(translate.Guard)
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if o.Agent != "" {
		h.log = h.log.With("agent", o.Agent)
	}
	if o.Client == "" {
		o.Client = ClientAuto
	}
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = defaultRequestBytes
	}
	if o.MaxFrameBytes == 0 {
		o.MaxFrameBytes = defaultFrameBytes
	}
	if o.TranscriptBytes == 0 {
		o.TranscriptBytes = defaultTranscriptBytes
	}
	if o.BodyBytes == 0 {
		o.BodyBytes = defaultBodyBytes
	}
	if o.ResumeIdleGrace == 0 {
		o.ResumeIdleGrace = defaultIdleGrace
	}
	if o.AddressShare >= 100 {
		o.AddressShare = 0
	}
	h.bodyRoom = &bodyRoom{limit: o.BodyBytes, share: o.BodyBytes / 100 * int64(o.AddressShare)}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.Random72
	}
	h.sinks = ledger.Sinks{
		Events: o.Events, Required: o.EventsRequired, Notices: o.Notices, Posted: o.Posted,
		Agent: o.Agent, Shown: o.ShowPrincipal, Now: o.Now,
	}
	h.lives.reports.log, h.lives.reports.quiet = h.log, h.lives.quiet
	h.transports = &transports{o.Transport, o.Transport}
	if o.Transport == nil {
		h.transports.shared, h.transports.single = backend.Transports(o.Upstream, backend.Options{TLS: o.UpstreamTLS, HTTP2: o.UpstreamHTTP2, KeepAlive: o.UpstreamKeepAlive})
	}
	h.destination = destination{upstream: o.Upstream, preserveHost: o.PreserveHost, gate: o.Gate}
	h.SetUpstreamHeaders(o.UpstreamHeaders)
	h.cors = cors.New(o.AllowOrigins, o.Now, preflights{via: h.transports.shared, to: &h.destination, log: h.log})
	h.reverse = &httputil.ReverseProxy{
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

// SetUpstreamHeaders replaces Options.UpstreamHeaders, from the next request to the backend on.
func (h *Handler) SetUpstreamHeaders(headers http.Header) { h.destination.headers.Store(&headers) }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !h.admits(w, req) {
		return
	}
	if h.cors.Answers(req) {
		h.answerPreflight(w, req)
		return
	}
	who, ok := h.ask(w, req)
	if !ok {
		return
	}
	switch r, passes := h.recognise(w, req, who); {
	case r != nil:
		r.serve(w)
	case passes:
		stream.ClearDeadline(w)
		w = stream.NewPassing(w, stream.LimitsOf(req, h.opts.WriteTimeout))
		h.reverse.ServeHTTP(w, withPage(h.cors.WithClient(req)))
	}
}

// recognise makes a run of a request that is one. passes says that it goes on untouched; one that
// does neither was refused.
func (h *Handler) recognise(w http.ResponseWriter, req *http.Request, who principal.Who) (r *run, passes bool) {
	if req.Method == http.MethodConnect {
		h.badRequest(w, req, http.StatusNotImplemented, "CONNECT is not taken: behind it a client would talk to the backend itself")
		return nil, false
	}
	if misleading(req.URL.EscapedPath()) {
		// The backend would take it for another path. The record of that path was not asked.
		h.badRequest(w, req, http.StatusBadRequest, "dot segments and control characters in the path are not taken")
		return nil, false
	}
	if hint := h.hint(req.URL.Path); hint != "" {
		h.once(hint, func() { h.log.Warn(hint, "path", req.URL.Path, "dialect", h.opts.Dialect.Name()) })
	}
	route, ok := h.route(req.URL.Path)
	if !ok {
		return nil, h.guarded(w, req)
	}
	in, isRun, err := h.readRun(w, req)
	if !isRun && err == nil && h.guard != nil && h.refusal(req, false) == "" {
		return nil, true
	}
	var refused *requestError
	posted := strings.EqualFold(req.Method, http.MethodPost) // post is a POST to some backends (werkzeug's)
	switch {
	case isRun && err == nil && !posted, err == nil && h.foreign != nil && !posted && !asksOnly(req):
		h.log.Info("request refused", "status", http.StatusMethodNotAllowed, "method", req.Method)
		w.Header().Set("Allow", http.MethodPost)
		h.badRequest(w, req, http.StatusMethodNotAllowed, "a run is taken by POST only")
	case errors.As(err, &refused):
		h.log.Info("request refused", "status", refused.status, "reason", refused.reason)
		if refused.status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		h.badRequest(w, req, refused.status, refused.reason)
	case err != nil:
		h.log.Debug("request body not read", "err", err)
		h.badRequest(w, req, http.StatusBadRequest, "the body could not be read")
	case !isRun && h.foreign != nil && posted:
		h.log.Info("request refused", "status", http.StatusBadRequest, "reason", "no RunAgentInput")
		h.badRequest(w, req, http.StatusBadRequest, "only an AG-UI RunAgentInput is taken here: the backend's own requests could answer what is asked past the record (HOLDPOINT_DIALECT="+h.opts.Dialect.Name()+")")
	case !isRun:
		return nil, h.guarded(w, req)
	case h.refusal(req, true) != "":
		h.turnAway(w, req, slog.LevelInfo, http.StatusBadRequest, h.refusal(req, true))
	default:
		return h.newRun(req, route, &in, who), false
	}
	return nil, false
}

// asksOnly says whether a request cannot bring anything to a backend: it has no body, and its
// method changes nothing.
func asksOnly(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return !hasBody(req)
	}
	return false
}

// Drain waits until every stream has ended. When ctx is done, what is left gets RUN_ERROR
// PROXY_DRAINING and a clean end; a claimed run is in doubt then. New runs are refused from that
// moment on.
func (h *Handler) Drain(ctx context.Context) error {
	ended := h.lives.allEnded()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	h.lives.drain()
	select {
	case <-ended:
		return nil
	case <-time.After(ledger.StepTimeout):
		return errors.New("proxy: some streams did not end")
	}
}

// route is the path as records are kept for it. ok is false where no run can be: at a backend that
// does not speak AG-UI, where its agent is not.
func (h *Handler) route(path string) (route string, ok bool) {
	route = recordPath(path)
	if h.foreign == nil {
		return route, true
	}
	return h.foreign.Route(route)
}

// hint is what the dialect has to say about requests to a path.
func (h *Handler) hint(path string) string {
	if hinter, ok := h.opts.Dialect.(translate.Hinter); ok {
		return hinter.Hint(path)
	}
	return ""
}
