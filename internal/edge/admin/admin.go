// Package admin is the listener for the operator and for probes: whether the process is alive and
// ready, which build it is, metrics, drain and reload. It is separate from the listener for
// clients, so that a probe never reaches the agent, and a path of the agent never hides a probe.
//
// It deliberately shows nothing of runs. Readiness never depends on the backend, because a sidecar
// starts before its agent. The listener checks the store at intervals, and not when a probe
// arrives. It has no login, so the only requests that change something are drain and reload, which
// it accepts from this machine only.
//
// The names of the paths are those of Kubernetes' own components
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

// Options of a Server.
type Options struct {
	// Build is marshalled to JSON for /buildinfo.
	Build any
	// Metrics handles /metrics. If it is nil there is no such path.
	Metrics http.Handler
	// Profiles enables Go's profiles under /debug/pprof/. They show code and memory, and cost time.
	Profiles bool
	Logger   *slog.Logger     // nil: discarded
	Now      func() time.Time // nil: time.Now
}

// A Server answers probes. Use New to make one. Methods are safe for concurrent use, and do nothing
// on a nil Server, which stands for a listener that is switched off.
type Server struct {
	log   *slog.Logger
	now   func() time.Time
	http  *http.Server
	paths []string // the paths that the index page lists

	drained chan struct{} // closed at the end of the drain
	agents  agents

	mu       sync.Mutex
	drain    func() <-chan struct{} // nil before Started
	draining bool
	reload   func() (failed int) // nil before Reloads
	store    storeState
}

// New makes a Server, which answers requests after Serve is called.
func New(o Options) *Server {
	s := &Server{log: o.Logger, now: o.Now, drained: make(chan struct{}), agents: agents{known: make(chan struct{})}}
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
	handle("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	handle("GET /readyz", s.readyz)
	handle("GET /startupz", s.startupz)
	handle("GET /agentz", s.agentz)
	handle("GET /buildinfo", func(w http.ResponseWriter, _ *http.Request) {
		text, err := json.MarshalIndent(o.Build, "", "  ")
		if err != nil {
			answer(w, http.StatusInternalServerError, err.Error()+"\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer(w, http.StatusOK, string(text)+"\n")
	})
	if o.Metrics != nil {
		handle("GET /metrics", o.Metrics.ServeHTTP)
	}
	if o.Profiles {
		// There is no /debug/pprof/cmdline, because a command line may contain secrets.
		handle("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol) // go tool pprof sends addresses in a body
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	handle("POST /drain", s.takeDrain)
	handle("GET /drained", s.waitDrained)
	handle("POST /reload", s.takeReload)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, textListenerTitle+strings.Join(s.paths, "\n")+"\n")
	})
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers requests of the listener until Close.
func (s *Server) Serve(l net.Listener) {
	if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		s.log.Error(logListenerEnded, "err", err)
	}
}

// closeTimeout is how long Close waits for answers, so that the caller of POST /drain gets its
// answer.
const closeTimeout = 500 * time.Millisecond

// Close ends Serve. Requests in progress have closeTimeout to end.
func (s *Server) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.http.Shutdown(ctx)
	_ = s.http.Close()
}

// Started reports that the process accepts runs. From then on POST /drain calls drain, which starts
// the drain at its first call and returns a channel that is closed at the end of the drain.
func (s *Server) Started(drain func() <-chan struct{}) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain = drain
}

// Draining reports that the process is about to end. It is not ready from then on.
func (s *Server) Draining() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
}

// Drained reports that the drain, or the shutdown after a signal, has ended. It must be called only
// once.
func (s *Server) Drained() {
	if s != nil {
		close(s.drained)
	}
}

// A Status is the state that probes report.
type Status struct {
	Started  bool // the process accepts runs
	Draining bool
	// StoreReached reports that the store has answered at least once.
	StoreReached bool
	// StoreLost is the time since which a store that answered before does not answer. It is zero if
	// the store answers.
	StoreLost time.Time
}

// Ready reports whether the process should get runs. A store that is lost later does not make the
// process unready: it is lost for all replicas, and if none were ready, clients could not even be
// told why their runs are refused.
func (s Status) Ready() bool { return s.Started && !s.Draining && s.StoreReached }

// Status returns the current state.
func (s *Server) Status() Status {
	if s == nil {
		return Status{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{Started: s.drain != nil, Draining: s.draining, StoreReached: s.store.reached, StoreLost: s.store.lost}
}

func (s *Server) startupz(w http.ResponseWriter, _ *http.Request) {
	if !s.Status().Started {
		answer(w, http.StatusServiceUnavailable, textNotStarted)
		return
	}
	answer(w, http.StatusOK, "ok\n")
}

// readyz reports whether the process is ready, with the state of each part. The error of the store
// is in the log only, because it may contain addresses, and this listener has no login.
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
	answer(w, code, fmt.Sprintf("%s\nlistening: %s\ndrain: %s\nstore: %s\n", first, started, draining, store))
}

// Reloads sets the function of POST /reload. It reads all files again and returns how many of them
// are wrong.
func (s *Server) Reloads(reload func() (failed int)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reload = reload
}

// takeReload handles POST /reload. The errors of files are in the log only.
func (s *Server) takeReload(w http.ResponseWriter, req *http.Request) {
	if refuseRemote(w, req, "a reload") {
		return
	}
	s.mu.Lock()
	reload := s.reload
	s.mu.Unlock()
	if reload == nil {
		answer(w, http.StatusServiceUnavailable, textNotStarted)
		return
	}
	if failed := reload(); failed > 0 {
		answer(w, http.StatusInternalServerError, fmt.Sprintf(textReloadFailed, failed))
		return
	}
	answer(w, http.StatusOK, "reloaded\n")
}

// refuseRemote answers with 403 if the request comes from another machine, or from a page in a
// browser on this machine. It reports whether it has answered.
func refuseRemote(w http.ResponseWriter, req *http.Request, what string) bool {
	switch {
	case !isLocal(req):
		answer(w, http.StatusForbidden, what+textLocalOnly)
	case req.Header.Get("Origin") != "" || req.Header.Get("Sec-Fetch-Site") != "":
		answer(w, http.StatusForbidden, what+textNoBrowser)
	default:
		return false
	}
	return true
}

// takeDrain handles POST /drain. It starts the drain and answers at its end. The drain continues if
// the caller leaves.
func (s *Server) takeDrain(w http.ResponseWriter, req *http.Request) {
	if refuseRemote(w, req, "a drain") {
		return
	}
	s.mu.Lock()
	drain := s.drain
	s.mu.Unlock()
	if drain == nil {
		answer(w, http.StatusServiceUnavailable, textNotStarted)
		return
	}
	select {
	case <-drain():
		answer(w, http.StatusOK, "drained\n")
	case <-req.Context().Done():
	}
}

// waitDrained handles GET /drained. It answers when a drain has ended, and starts none. The preStop
// hook of an agent next to its sidecar uses it, because streams need the agent until the drain
// ends.
func (s *Server) waitDrained(w http.ResponseWriter, req *http.Request) {
	select {
	case <-s.drained:
		answer(w, http.StatusOK, "drained\n")
	case <-req.Context().Done():
	}
}

// isLocal reports whether a request arrived through a unix socket, or from 127.0.0.1, ::1, or the
// address that it was sent to, which only this machine has. Other addresses of 127.0.0.0/8 do not
// count, because Istio's proxy forwards requests of other pods from 127.0.0.6.
func isLocal(req *http.Request) bool {
	for _, name := range forwarding {
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

// forwarding are headers that proxies set. A proxy on this machine may forward requests of other
// machines.
var forwarding = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "Via"}

func answer(w http.ResponseWriter, code int, text string) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text) //nolint:errcheck // whoever asked is gone
}
