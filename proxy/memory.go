package proxy

import (
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdpoint/store"
	"holdpoint/translate"
)

// A processMemory is what a process remembers of the requests that it has seen.
type processMemory struct {
	routes   routes
	agents   agentPaths
	passed   *lru.Cache[passedCall, struct{}] // calls that the client answers past us, see noteCall
	leftOpen *lru.Cache[callKey, struct{}]    // see leftcalls.go
	named    *lru.Cache[store.Key, []string]  // by thread: questions that clients named, see noteNamed
	asked    *lru.Cache[string, struct{}]     // ids of pauses that this process has kept, see noteLost
	senders  *lru.Cache[sender, sendingHabit] // see newmessages.go
	warned   sync.Map                         // what is logged once

	dialectProved atomic.Bool // the backend was seen to ask in the named dialect, see comparison

	lostOfOthers atomic.Int32 // see noteLost

	outage outages
	runIDs runIDs
}

// newProcessMemory returns the memory of a process that has just started.
func newProcessMemory(o *Options, log *slog.Logger) *processMemory {
	m := &processMemory{routes: newRoutes(o.Dialect), agents: newAgentPaths(o.Upstream)}
	m.passed, _ = lru.New[passedCall, struct{}](maxPassed) // fails for a size of 0 only
	m.leftOpen, _ = lru.New[callKey, struct{}](maxPassed)
	m.named, _ = lru.New[store.Key, []string](maxNamed)
	m.asked, _ = lru.New[string, struct{}](maxAsked)
	m.senders, _ = lru.New[sender, sendingHabit](maxSenders)
	m.outage.log, m.outage.opts = log, o
	return m
}

func (m *processMemory) once(key string, do func()) {
	if _, done := m.warned.LoadOrStore(key, true); !done {
		do()
	}
}

// routeDialect returns the dialect that the path was seen to speak, "" if none was yet.
func (m *processMemory) routeDialect(path string) string { return m.routes.spoken(path) }

// noteRoute notes what a path was seen to speak, see routes.note.
func (m *processMemory) noteRoute(path, dialect, backend string) {
	m.routes.note(path, dialect, backend)
}

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
