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

// A processMemory is what a process remembers from one request of an agent to the next. It consists
// of caches, and of facts that only the log needs, so it may be lost.
type processMemory struct {
	routes    routes
	agents    agentPaths
	leftCalls *lru.Cache[passedCall, struct{}] // calls that the client may answer itself, see noteCall
	leftOpen  *lru.Cache[callKey, struct{}]    // calls that runs left open, see leftcalls.go
	// for each thread, the ids of questions that clients named, see noteNamed
	namedQuestions *lru.Cache[store.Key, []string]
	savedPauses    *lru.Cache[string, struct{}] // ids of the pauses that this process has saved, see noteLost
	// how clients send the conversation, see newmessages.go
	senders    *lru.Cache[sender, sendingHabit]
	loggedKeys sync.Map // the keys of log lines that were logged, each only once

	// the backend has asked a question in the configured dialect, see comparison
	dialectProved atomic.Bool

	lostOfOthers atomic.Int32 // number of lost questions that another process saved, see noteLost

	outage outages
	runIDs runIDs
}

// newProcessMemory returns an empty memory.
func newProcessMemory(o *Options, log *slog.Logger) *processMemory {
	m := &processMemory{routes: newRoutes(o.Dialect), agents: newAgentPaths(o.Upstream)}
	m.leftCalls, _ = lru.New[passedCall, struct{}](maxPassed) // an error is possible only for size 0
	m.leftOpen, _ = lru.New[callKey, struct{}](maxPassed)
	m.namedQuestions, _ = lru.New[store.Key, []string](maxNamed)
	m.savedPauses, _ = lru.New[string, struct{}](maxAsked)
	m.senders, _ = lru.New[sender, sendingHabit](maxSenders)
	m.outage.log, m.outage.opts = log, o
	return m
}

func (m *processMemory) logOnce(key string, do func()) {
	if _, done := m.loggedKeys.LoadOrStore(key, true); !done {
		do()
	}
}

// routeDialect returns the dialect last seen on a path, "" if none was seen.
func (m *processMemory) routeDialect(path string) string { return m.routes.dialectOf(path) }

// noteRoute records the dialect seen on a path, see routes.note.
func (m *processMemory) noteRoute(path, dialect, backend string) {
	m.routes.note(path, dialect, backend)
}

// A seenDialect is the dialect last seen on a path.
type seenDialect struct {
	dialect string
	backend string // see translate.Result.Backend
}

// routes has the dialect last seen on each path.
type routes struct {
	*lru.Cache[string, seenDialect] // the key is the path; limited, because clients choose paths
	finder                          translate.Finder
}

func newRoutes(dialect translate.Dialect) routes {
	r := routes{finder: translate.FinderOf(dialect)}
	r.Cache, _ = lru.New[string, seenDialect](maxRoutes) // an error is possible only for size 0
	return r
}

// dialectOf returns the dialect last seen on a path, "" if none was seen.
func (r routes) dialectOf(path string) string {
	at, _ := r.Get(path)
	return r.finder.Speaks(at.dialect)
}

// note records the dialect seen on a path, and the kind of backend. If backend is "" and the
// dialect is the same as before, the recorded backend stays.
func (r routes) note(path, dialect, backend string) {
	if before, _ := r.Get(path); backend == "" && before.dialect == dialect {
		backend = before.backend
	}
	r.Add(strings.Clone(path), seenDialect{dialect, backend}) // a copy, because the path shares memory with the request line
}

// agentPaths has the paths that accept only runs and have no other endpoint.
type agentPaths struct {
	seen *lru.Cache[string, struct{}] // the paths at which a run got a stream
	root bool                         // "/" accepts only runs, because the backend's address has a path
}

func newAgentPaths(upstream *url.URL) agentPaths {
	p := agentPaths{root: strings.Trim(upstream.Path, "/") != ""}
	p.seen, _ = lru.New[string, struct{}](maxRoutes) // an error is possible only for size 0
	return p
}

// has reports whether the path accepts only runs.
func (p agentPaths) has(route string) bool { return route == "/" && p.root || p.seen.Contains(route) }

// note records that a run at the path got a stream. A run without a stream does not show that the
// path is an agent's, because clients choose the path.
func (p agentPaths) note(path string) {
	if !p.seen.Contains(path) {
		p.seen.Add(strings.Clone(path), struct{}{}) // a copy, because the path shares memory with the request line
	}
}
