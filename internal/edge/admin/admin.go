// Package admin is the listener for the operator and for probes. It shows if the process is alive
// and ready, which build it is, and metrics, and it starts a drain or a reload. It is separate from
// the listener for clients. So a probe never reaches the agent, and a path of the agent never hides
// a probe.
//
// On purpose it shows nothing about runs. Readiness never depends on the backend, because a sidecar
// starts before its agent. The listener checks the store at intervals, and not when a probe
// arrives. It has no login, so only drain and reload change something, and it accepts these two
// from this machine only.
//
// The paths have the names that Kubernetes' own components use
// (https://kubernetes.io/docs/reference/using-api/health-checks/).
package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Options are the options of a Server.
type Options struct {
	// Build is the description of the build. /buildinfo returns it as JSON.
	Build any
	// Metrics handles /metrics. If it is nil, there is no such path.
	Metrics http.Handler
	// Profiles enables Go's profiles under /debug/pprof/. They show code and memory, and cost time.
	Profiles bool
	Logger   *slog.Logger     // nil discards the log
	Now      func() time.Time // nil means time.Now
}

// A Server is the admin listener. It is made by New. Its methods are safe for concurrent use. A nil
// Server stands for a listener that is switched off; its methods do nothing.
type Server struct {
	log   *slog.Logger
	now   func() time.Time
	http  *http.Server
	paths []string // the paths that the index page of the listener shows

	drainDone chan struct{} // closed when the drain has ended
	agents    agents

	mu         sync.Mutex
	drain      func() <-chan struct{} // nil until MarkStarted is called
	isDraining bool
	reload     func() (failed int) // nil until SetReload is called
	store      storeState
}

// New makes a Server. It serves requests when Serve is called.
func New(o Options) *Server {
	s := &Server{log: o.Logger, now: o.Now, drainDone: make(chan struct{}), agents: agents{known: make(chan struct{})}}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.now == nil {
		s.now = time.Now
	}
	mux := http.NewServeMux()
	handle := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, h)
		_, path, _ := strings.Cut(pattern, " ")
		s.paths = append(s.paths, path)
	}
	handle("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok\n") })
	handle("GET /readyz", s.readyz)
	handle("GET /startupz", s.startupz)
	handle("GET /agentz", s.agentz)
	handle("GET /buildinfo", func(w http.ResponseWriter, _ *http.Request) {
		text, err := json.MarshalIndent(o.Build, "", "  ")
		if err != nil {
			respond(w, http.StatusInternalServerError, err.Error()+"\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		respond(w, http.StatusOK, string(text)+"\n")
	})
	if o.Metrics != nil {
		handle("GET /metrics", o.Metrics.ServeHTTP)
	}
	if o.Profiles {
		// /debug/pprof/cmdline is left out, because a command line may contain secrets.
		handle("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol) // go tool pprof sends addresses in a body
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	handle("POST /drain", s.serveDrain)
	handle("GET /drained", s.serveDrained)
	handle("POST /reload", s.serveReload)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, textListenerTitle+strings.Join(s.paths, "\n")+"\n")
	})
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve serves requests of the listener until Close is called.
func (s *Server) Serve(l net.Listener) {
	if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		s.log.Error(logListenerEnded, "err", err)
	}
}

// closeTimeout is how long Close waits for responses, so that the caller of POST /drain still gets
// its response.
const closeTimeout = 500 * time.Millisecond

// Close ends Serve. Requests in progress have closeTimeout to finish.
func (s *Server) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.http.Shutdown(ctx)
	_ = s.http.Close()
}

// MarkStarted reports that the process accepts runs. POST /drain then calls drain. The first call
// of drain starts the drain; every call returns a channel that is closed when the drain has ended.
func (s *Server) MarkStarted(drain func() <-chan struct{}) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain = drain
}

// MarkDraining reports that the process is about to end. From this call on, the process is not
// ready.
func (s *Server) MarkDraining() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDraining = true
}

// MarkDrained reports that the drain, or the shutdown after a signal, has ended. It must be called
// only once.
func (s *Server) MarkDrained() {
	if s != nil {
		close(s.drainDone)
	}
}

// A Status is the state that probes report.
type Status struct {
	Started  bool // the process accepts runs
	Draining bool
	// StoreReached reports that the store has replied at least once.
	StoreReached bool
	// StoreLost is the time since when the store has not replied, although it replied before. It is
	// zero if the store replies.
	StoreLost time.Time
}

// Ready reports whether the process should get runs. If the store is lost later, the process stays
// ready: the store is then lost for all replicas, and if all of them were unready, clients could
// not even be told why their runs are refused.
func (s Status) Ready() bool { return s.Started && !s.Draining && s.StoreReached }

// Status returns the current state of the process.
func (s *Server) Status() Status {
	if s == nil {
		return Status{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{Started: s.drain != nil, Draining: s.isDraining, StoreReached: s.store.wasReached, StoreLost: s.store.lost}
}

func (s *Server) startupz(w http.ResponseWriter, _ *http.Request) {
	if !s.Status().Started {
		respond(w, http.StatusServiceUnavailable, textNotStarted)
		return
	}
	respond(w, http.StatusOK, "ok\n")
}

// readyz serves GET /readyz: it responds whether the process is ready, with the state of each part.
// The error of the store is only in the log, because the error may contain addresses and this
// listener has no login.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	st := s.Status()
	code, first := http.StatusOK, "ready"
	if !st.Ready() {
		code, first = http.StatusServiceUnavailable, stateNotReady
	}
	started, draining, store := "ok", stateNotDraining, "ok"
	if !st.Started {
		started = stateNotYet
	}
	if st.Draining {
		draining = textDraining
	}
	switch {
	case !st.StoreReached:
		store = textStoreNotReached
	case !st.StoreLost.IsZero():
		store = fmt.Sprintf(textStoreLost,
			st.StoreLost.UTC().Format(time.RFC3339))
	}
	respond(w, code, fmt.Sprintf("%s\nlistening: %s\ndrain: %s\nstore: %s\n", first, started, draining, store))
}

// SetReload sets the function that POST /reload calls. reload reads all files again, and returns
// how many of them are wrong.
func (s *Server) SetReload(reload func() (failed int)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reload = reload
}

// serveReload serves POST /reload. The errors in files are only in the log.
func (s *Server) serveReload(w http.ResponseWriter, req *http.Request) {
	if refuseRemote(w, req, "a reload") {
		return
	}
	s.mu.Lock()
	reload := s.reload
	s.mu.Unlock()
	if reload == nil {
		respond(w, http.StatusServiceUnavailable, textNotStarted)
		return
	}
	if failed := reload(); failed > 0 {
		respond(w, http.StatusInternalServerError, fmt.Sprintf(textReloadFailed, failed))
		return
	}
	respond(w, http.StatusOK, "reloaded\n")
}

// refuseRemote responds with status 403 if the request comes from another machine, or from a page
// in a browser on this machine. It reports whether it has responded.
func refuseRemote(w http.ResponseWriter, req *http.Request, what string) bool {
	switch {
	case !isLocal(req):
		respond(w, http.StatusForbidden, what+textLocalOnly)
	case req.Header.Get("Origin") != "" || req.Header.Get("Sec-Fetch-Site") != "":
		respond(w, http.StatusForbidden, what+textNoBrowser)
	default:
		return false
	}
	return true
}

// serveDrain serves POST /drain. It starts the drain, and responds when the drain has ended. If the
// caller leaves, the drain continues.
func (s *Server) serveDrain(w http.ResponseWriter, req *http.Request) {
	if refuseRemote(w, req, "a drain") {
		return
	}
	s.mu.Lock()
	drain := s.drain
	s.mu.Unlock()
	if drain == nil {
		respond(w, http.StatusServiceUnavailable, textNotStarted)
		return
	}
	select {
	case <-drain():
		respond(w, http.StatusOK, "drained\n")
	case <-req.Context().Done():
	}
}

// serveDrained serves GET /drained. It responds when a drain has ended, but does not start a drain.
// The preStop hook of an agent next to its sidecar uses it, because streams need the agent until
// the drain has ended.
func (s *Server) serveDrained(w http.ResponseWriter, req *http.Request) {
	select {
	case <-s.drainDone:
		respond(w, http.StatusOK, "drained\n")
	case <-req.Context().Done():
	}
}

// isLocal reports whether a request comes from this machine. It must have arrived through a unix
// socket, or from 127.0.0.1, ::1 or the same address to which it was sent, which only this machine
// has. Other addresses of 127.0.0.0/8 do not count, because Istio's proxy forwards requests of
// other pods from 127.0.0.6.
func isLocal(req *http.Request) bool {
	for _, name := range forwardingHeaders {
		if req.Header.Get(name) != "" {
			return false
		}
	}
	local, _ := req.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && local.Network() == "unix" {
		return true
	}
	from, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return false
	}
	peer := from.Addr().Unmap()
	if tcp, ok := local.(*net.TCPAddr); ok && peer == tcp.AddrPort().Addr().Unmap() {
		return true
	}
	return peer == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || peer == netip.IPv6Loopback()
}

// forwardingHeaders has the headers that proxies set. A request with such a header does not count
// as local, because a proxy on this machine may forward requests of other machines.
var forwardingHeaders = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "Via"}

func respond(w http.ResponseWriter, code int, text string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text) //nolint:errcheck // whoever asked is gone
}
