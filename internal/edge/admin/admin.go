// Package admin answers the questions of whoever runs the process: is it alive, is it ready, which
// build is it. It is a listener of its own, so that a probe never reaches the agent and an agent's
// path never hides a probe.
//
// It deliberately knows nothing of runs and shows nothing of them. Whether Holdpoint is ready never
// depends on the backend: a sidecar starts before its agent. It asks the store at intervals, and
// never because a probe came. It has no login, so nothing on it changes anything but a drain and a
// reload, which are taken from this machine only.
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
	// Build is what /buildinfo shows, as JSON.
	Build any
	// Metrics answers /metrics. Nil: there is no such path.
	Metrics http.Handler
	// Profiles opens Go's profiles under /debug/pprof/. They show code and memory, and cost time.
	Profiles bool
	Logger   *slog.Logger     // nil: discarded
	Now      func() time.Time // nil: time.Now
}

// A Server answers probes. Make it with New. Its methods are safe for concurrent use. A nil Server
// is one that is switched off: it takes note of nothing.
type Server struct {
	log   *slog.Logger
	now   func() time.Time
	http  *http.Server
	paths []string // as the index lists them

	drained chan struct{} // closed at the end of the drain
	agents  agents

	mu       sync.Mutex
	drain    func() <-chan struct{} // nil: it has not started
	draining bool
	reload   func() (failed int) // nil: it has not started
	store    storeState
}

// New makes a Server. It answers from Serve on.
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
		// Not /debug/pprof/cmdline: a command line may hold secrets.
		handle("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol) // go tool pprof sends addresses
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	handle("POST /drain", s.takeDrain)
	handle("GET /drained", s.waitDrained)
	handle("POST /reload", s.takeReload)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "Holdpoint's admin listener\n\n"+strings.Join(s.paths, "\n")+"\n")
	})
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve answers at the listener until Close.
func (s *Server) Serve(l net.Listener) {
	if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		s.log.Error("the admin listener has ended", "err", err)
	}
}

// closeTimeout is for an answer that is on its way: whoever asked for the drain is told of its end.
const closeTimeout = 500 * time.Millisecond

// Close ends Serve. Answers that are on their way have a moment.
func (s *Server) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.http.Shutdown(ctx)
	_ = s.http.Close()
}

// Started says that runs are taken now. From then on POST /drain calls drain, which begins to
// drain, once, and returns a channel that is closed at the end of that.
func (s *Server) Started(drain func() <-chan struct{}) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain = drain
}

// Draining says that the process is about to end. It is not ready from then on.
func (s *Server) Draining() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
}

// Drained says that the drain, or the end after a signal, is over. It is called once.
func (s *Server) Drained() {
	if s != nil {
		close(s.drained)
	}
}

// A Status is what the probes go by.
type Status struct {
	Started  bool // runs are taken
	Draining bool
	// StoreReached says that the store was reached once. It stays true.
	StoreReached bool
	// StoreLost is since when a store that was reached has not answered, zero if it does.
	StoreLost time.Time
}

// Ready reports whether the process is to be sent runs. A store that is lost after it was reached
// does not make it unready: it is lost for all replicas, and with none of them ready, clients would
// not even be told why they are refused.
func (s Status) Ready() bool { return s.Started && !s.Draining && s.StoreReached }

// Status returns what the probes go by at this moment.
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
		answer(w, http.StatusServiceUnavailable, "not started\n")
		return
	}
	answer(w, http.StatusOK, "ok\n")
}

// readyz says why it is not ready, and of a ready one what is wrong all the same. What the store
// answered is in the log only: it may name addresses, and this listener asks nobody who he is.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	st := s.Status()
	code, first := http.StatusOK, "ready"
	if !st.Ready() {
		code, first = http.StatusServiceUnavailable, "not ready"
	}
	started, draining, store := "ok", "ok, not draining", "ok"
	if !st.Started {
		started = "not yet"
	}
	if st.Draining {
		draining = "draining: new runs belong to another replica"
	}
	switch {
	case !st.StoreReached:
		store = "not reached yet, the log says why"
	case !st.StoreLost.IsZero():
		store = fmt.Sprintf("lost since %s, the log says why; runs get STORE_UNAVAILABLE as HOLDPOINT_STORE_OUTAGE says",
			st.StoreLost.UTC().Format(time.RFC3339))
	}
	answer(w, code, fmt.Sprintf("%s\nlistening: %s\ndrain: %s\nstore: %s\n", first, started, draining, store))
}

// Reloads says what POST /reload does: it reads all files again and returns how many are wrong.
func (s *Server) Reloads(reload func() (failed int)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reload = reload
}

// takeReload reads the files again, and reports whether all of them are good. What is wrong with
// one is in the log.
func (s *Server) takeReload(w http.ResponseWriter, req *http.Request) {
	if refuseRemote(w, req, "a reload") {
		return
	}
	s.mu.Lock()
	reload := s.reload
	s.mu.Unlock()
	if reload == nil {
		answer(w, http.StatusServiceUnavailable, "not started\n")
		return
	}
	if failed := reload(); failed > 0 {
		answer(w, http.StatusInternalServerError, fmt.Sprintf("not all was read again: what was read before stays in effect (%d, the log says which and why)\n", failed))
		return
	}
	answer(w, http.StatusOK, "reloaded\n")
}

// refuseRemote refuses a request that did not come from this machine, or came from a page that
// somebody on this machine has open.
func refuseRemote(w http.ResponseWriter, req *http.Request, what string) bool {
	switch {
	case !isLocal(req):
		answer(w, http.StatusForbidden, what+" is taken from this machine only, and through no proxy\n")
	case req.Header.Get("Origin") != "" || req.Header.Get("Sec-Fetch-Site") != "":
		answer(w, http.StatusForbidden, what+" is not taken from a browser\n")
	default:
		return false
	}
	return true
}

// takeDrain drains, and answers at the end of that. A caller that leaves ends nothing.
func (s *Server) takeDrain(w http.ResponseWriter, req *http.Request) {
	if refuseRemote(w, req, "a drain") {
		return
	}
	s.mu.Lock()
	drain := s.drain
	s.mu.Unlock()
	if drain == nil {
		answer(w, http.StatusServiceUnavailable, "not started\n")
		return
	}
	select {
	case <-drain():
		answer(w, http.StatusOK, "drained\n")
	case <-req.Context().Done():
	}
}

// waitDrained answers when a drain has begun and ended. It begins none. It is what the preStop hook
// of an agent asks for beside its sidecar: the agent is needed for as long as streams are open, and
// no longer.
func (s *Server) waitDrained(w http.ResponseWriter, req *http.Request) {
	select {
	case <-s.drained:
		answer(w, http.StatusOK, "drained\n")
	case <-req.Context().Done():
	}
}

// isLocal reports whether a request came by a unix socket, from 127.0.0.1 or ::1, or from the
// address that it was sent to, which only this machine has. Istio's proxy brings requests of other
// pods from 127.0.0.6, so the rest of 127.0.0.0/8 does not count.
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

// forwarding are headers of proxies. A proxy on this machine may bring a request from anywhere.
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
