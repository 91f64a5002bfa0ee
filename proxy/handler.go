// Package proxy is Holdpoint's HTTP side. It recognises runs, keeps the interrupt contract, and
// rewrites the stream between a backend and its client by what a dialect says.
//
// It does not know any backend's shapes (translate does), nor how records are kept (store does). A
// request that is not a run passes through httputil.ReverseProxy unchanged.
//
// It follows AG-UI 1.0, its page on interrupts (https://docs.ag-ui.com/concepts/interrupts), and
// the event-stream format of the HTML standard.
package proxy

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/rs/cors"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
	"holdpoint/translate"
)

// Defaults of the sizes, see Options.
const (
	defaultRequestBytes    = 16 << 20
	defaultFrameBytes      = 8 << 20
	defaultTranscriptBytes = 4 << 20
	defaultBodyBytes       = 256 << 20

	maxRoutes = 4096
)

// A Handler is the proxy. Make it with New.
type Handler struct {
	opts      Options
	log       *slog.Logger
	foreign   translate.Foreign // the dialect, if its backend does not speak AG-UI
	reverse   *httputil.ReverseProxy
	transport http.RoundTripper // of ordinary exchanges
	single    http.RoundTripper // of exchanges that carry answers, see newTransports

	bodyRoom bodyRoom
	routes   *lru.Cache[string, string]       // path → dialect that it was seen to speak; clients choose paths
	passed   *lru.Cache[passedCall, struct{}] // calls that the client answers past us, see noteCall
	warned   sync.Map                         // what is logged once

	fixed      *cors.Cors // whose pages may read the answers, if the operator says so; else nil
	allowances *allowances

	lives lives

	// holds is asked about each pause that is saved: by which answers its run is to go on, nil if it is
	// not held open. The run waits until one comes, without entries if it is to wait no more. Nothing
	// sets it yet; see hold.go.
	holds func(p *agui.Pause) <-chan []agui.ResumeEntry
}

// New checks the options and makes a Handler.
func New(opts Options) (*Handler, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	h := &Handler{opts: opts, log: opts.Logger, lives: lives{live: map[*life]struct{}{}, alone: map[store.Key]int{}}}
	h.routes, _ = lru.New[string, string](maxRoutes) // fails for a size of 0 only
	h.passed, _ = lru.New[passedCall, struct{}](maxPassed)
	o := &h.opts
	h.foreign, _ = o.Dialect.(translate.Foreign)
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if o.Client == "" {
		o.Client = ClientAuto
	}
	if o.Refusal == "" {
		o.Refusal = RefuseBoth
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
	if o.AddressShare >= 100 {
		o.AddressShare = 0
	}
	h.bodyRoom.limit, h.bodyRoom.share = o.BodyBytes, o.BodyBytes/100*int64(o.AddressShare)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	h.fixed, h.allowances = newFixed(o.AllowOrigins), newAllowances(o.Now)
	h.lives.reports.log, h.lives.reports.quiet = h.log, h.lives.quiet
	h.transport, h.single = o.Transport, o.Transport
	if o.Transport == nil {
		h.transport, h.single = newTransports(o.Upstream)
	}
	h.reverse = &httputil.ReverseProxy{
		Rewrite:        h.rewrite,
		ModifyResponse: h.modifyResponse,
		ErrorHandler:   h.upstreamFailed,
		Transport:      exchangeTransport{h},
		FlushInterval:  -1,
		BufferPool:     &copyBuffers{},
		ErrorLog:       slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	return h, nil
}

// randomID is 72 random bits: the part of an interrupt id that an old answer cannot hit.
func randomID() string {
	var b [9]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// random128 is for pause ids and claim tokens, which nobody sees.
func random128() string {
	var b [16]byte
	rand.Read(b[:])
	return hexOf(b[:])
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if h.fixed != nil && isPreflight(req) {
		stream.ClearDeadline(w)
		h.allowFixed(w.Header(), req)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	switch r, passes := h.recognise(w, req); {
	case r != nil:
		r.serve(w)
	case passes:
		stream.ClearDeadline(w)
		h.reverse.ServeHTTP(w, h.withClient(req))
	}
}

// recognise makes a run of a request that is one. passes says that it goes on untouched; one that does neither was refused.
func (h *Handler) recognise(w http.ResponseWriter, req *http.Request) (r *run, passes bool) {
	if req.Method == http.MethodConnect {
		h.badRequest(w, req, http.StatusNotImplemented, "CONNECT is not taken: behind it a client would talk to the backend itself")
		return nil, false
	}
	if misleading(req.URL.EscapedPath()) {
		// The backend would take it for another path, whose record nobody asked.
		h.badRequest(w, req, http.StatusBadRequest, "dot segments and control characters in the path are not taken")
		return nil, false
	}
	if hint := h.hint(req.URL.Path); hint != "" {
		h.once(hint, func() { h.log.Warn(hint, "path", req.URL.Path, "dialect", h.opts.Dialect.Name()) })
	}
	route, ok := h.route(req.URL.Path)
	if !ok {
		return nil, true
	}
	in, isRun, err := h.readRun(w, req)
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
		return nil, true
	default:
		return h.newRun(req, route, &in), false
	}
	return nil, false
}

// asksOnly says whether a request cannot bring anything to a backend: it has no body, and its method is none that changes a thing.
func asksOnly(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return !hasBody(req)
	}
	return false
}

// route is the path as records are kept for it. ok is false where no run can be: at a backend that does not speak AG-UI,
// where its agent is not.
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

func (h *Handler) once(key string, do func()) {
	if _, done := h.warned.LoadOrStore(key, true); !done {
		do()
	}
}

// routeDialect is the dialect that the path was seen to speak, "" if none was yet.
func (h *Handler) routeDialect(path string) string {
	if _, finds := h.opts.Dialect.(translate.Finder); !finds {
		return h.opts.Dialect.Name()
	}
	name, _ := h.routes.Get(path)
	return name
}

func (h *Handler) badRequest(w http.ResponseWriter, req *http.Request, status int, reason string) {
	stream.ClearDeadline(w)
	h.allowOwn(w.Header(), req)
	body := agui.MustMarshal(map[string]string{"error": reason})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
