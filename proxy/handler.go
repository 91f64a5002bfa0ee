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
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/translate"
)

// Defaults of the sizes, see Options.
const (
	defaultRequestBytes    = 16 << 20
	defaultFrameBytes      = 32 << 20
	defaultIdleGrace       = 15 * time.Minute
	defaultTranscriptBytes = 4 << 20
	defaultBodyBytes       = 256 << 20

	maxRoutes = 4096
)

// A Handler is the proxy. Make it with New.
type Handler struct {
	refuser
	opts        Options
	sinks       ledger.Sinks      // of the steps of all threads
	foreign     translate.Foreign // the dialect, if its backend does not speak AG-UI
	intake      *intake.Intake
	destination destination
	reverse     *httputil.ReverseProxy
	transports  *transports

	routes   routes
	agents   agentPaths
	passed   *lru.Cache[passedCall, struct{}] // calls that the client answers past us, see noteCall
	leftOpen *lru.Cache[callKey, struct{}]    // see leftcalls.go
	named    *lru.Cache[store.Key, []string]  // by thread: questions that clients named, see noteNamed
	warned   sync.Map                         // what is logged once

	dialectProved atomic.Bool // the backend was seen to ask in the named dialect, see comparison

	lives  lives
	outage outages
	runIDs runIDs
}

func (h *Handler) once(key string, do func()) {
	if _, done := h.warned.LoadOrStore(key, true); !done {
		do()
	}
}

// routeDialect returns the dialect that the path was seen to speak, "" if none was yet.
func (h *Handler) routeDialect(path string) string { return h.routes.spoken(path) }

// noteRoute notes what a path was seen to speak, see routes.note.
func (h *Handler) noteRoute(path, dialect, backend string) { h.routes.note(path, dialect, backend) }

// A spokenAt is what a path was seen to speak.
type spokenAt struct {
	dialect string
	backend string // see translate.Result.Backend
}

// routes keep what the paths of records were seen to speak.
type routes struct {
	*lru.Cache[string, spokenAt] // by path; clients choose paths
	finder                       translate.Finder
}

func newRoutes(dialect translate.Dialect) routes {
	r := routes{finder: translate.FinderOf(dialect)}
	r.Cache, _ = lru.New[string, spokenAt](maxRoutes) // fails for a size of 0 only
	return r
}

// spoken returns the dialect that a path was seen to speak, "" if none was yet.
func (r routes) spoken(path string) string {
	at, _ := r.Get(path)
	return r.finder.Speaks(at.dialect)
}

// note notes what a path was seen to speak. What is known of its backend stays if the dialect does.
func (r routes) note(path, dialect, backend string) {
	if before, _ := r.Get(path); backend == "" && before.dialect == dialect {
		backend = before.backend
	}
	r.Add(strings.Clone(path), spokenAt{dialect, backend}) // it may lie in the request's line
}

// agentPaths are the paths of records where runs are, and nothing else.
type agentPaths struct {
	seen *lru.Cache[string, struct{}] // by runs that got streams
	root bool                         // "/" is one: the upstream's address has a path
}

func newAgentPaths(upstream *url.URL) agentPaths {
	p := agentPaths{root: strings.Trim(upstream.Path, "/") != ""}
	p.seen, _ = lru.New[string, struct{}](maxRoutes) // fails for a size of 0 only
	return p
}

// has reports whether a path is an agent's.
func (p agentPaths) has(route string) bool { return route == "/" && p.root || p.seen.Contains(route) }

// note notes that a run at the path got a stream. That a client sends runs there says nothing: it
// chooses paths.
func (p agentPaths) note(path string) {
	if !p.seen.Contains(path) {
		p.seen.Add(strings.Clone(path), struct{}{}) // it may lie in the request's line
	}
}
