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

// A processMemory is what a process remembers across the requests of one agent. Everything in it is
// a cache, or concerns only the log.
type processMemory struct {
	routes         routes
	agents         agentPaths
	passed         *lru.Cache[passedCall, struct{}] // calls that the client may answer itself, see noteCall
	leftOpen       *lru.Cache[callKey, struct{}]    // calls that runs left open, see leftcalls.go
	namedQuestions *lru.Cache[store.Key, []string]  // the questions that clients named, by thread, see noteNamed
	savedPauses    *lru.Cache[string, struct{}]     // ids of the pauses that this process has saved, see noteLost
	senders        *lru.Cache[sender, sendingHabit] // what clients send, see newmessages.go
	warned         sync.Map                         // keys of the lines that are logged once

	dialectProved atomic.Bool // the backend has asked in the named dialect, see comparison

	lostOfOthers atomic.Int32 // number of lost questions of other processes, see noteLost

	outage outages
	runIDs runIDs
}

// newProcessMemory returns an empty memory.
func newProcessMemory(o *Options, log *slog.Logger) *processMemory {
	m := &processMemory{routes: newRoutes(o.Dialect), agents: newAgentPaths(o.Upstream)}
	m.passed, _ = lru.New[passedCall, struct{}](maxPassed) // fails only for size 0
	m.leftOpen, _ = lru.New[callKey, struct{}](maxPassed)
	m.namedQuestions, _ = lru.New[store.Key, []string](maxNamed)
	m.savedPauses, _ = lru.New[string, struct{}](maxAsked)
	m.senders, _ = lru.New[sender, sendingHabit](maxSenders)
	m.outage.log, m.outage.opts = log, o
	return m
}

func (m *processMemory) once(key string, do func()) {
	if _, done := m.warned.LoadOrStore(key, true); !done {
		do()
	}
}

// routeDialect returns the dialect last seen on a path, "" if none was seen.
func (m *processMemory) routeDialect(path string) string { return m.routes.spoken(path) }

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
	*lru.Cache[string, seenDialect] // by path; bounded, because clients choose paths
	finder                          translate.Finder
}

func newRoutes(dialect translate.Dialect) routes {
	r := routes{finder: translate.FinderOf(dialect)}
	r.Cache, _ = lru.New[string, seenDialect](maxRoutes) // fails only for size 0
	return r
}

// spoken returns the dialect last seen on a path, "" if none was seen.
func (r routes) spoken(path string) string {
	at, _ := r.Get(path)
	return r.finder.Speaks(at.dialect)
}

// note records the dialect seen on a path. An empty backend leaves the recorded backend unchanged,
// unless the dialect differs.
func (r routes) note(path, dialect, backend string) {
	if before, _ := r.Get(path); backend == "" && before.dialect == dialect {
		backend = before.backend
	}
	r.Add(strings.Clone(path), seenDialect{dialect, backend}) // a copy, because the path shares memory with the request line
}

// agentPaths has the paths at which only runs are, and no other endpoint.
type agentPaths struct {
	seen *lru.Cache[string, struct{}] // the paths of runs that got a stream
	root bool                         // "/" is such a path, because the upstream's address has a path
}

func newAgentPaths(upstream *url.URL) agentPaths {
	p := agentPaths{root: strings.Trim(upstream.Path, "/") != ""}
	p.seen, _ = lru.New[string, struct{}](maxRoutes) // fails only for size 0
	return p
}

// has reports whether a path is in the set.
func (p agentPaths) has(route string) bool { return route == "/" && p.root || p.seen.Contains(route) }

// note records that a run at the path got a stream. A run without a stream proves nothing, because
// clients choose the path.
func (p agentPaths) note(path string) {
	if !p.seen.Contains(path) {
		p.seen.Add(strings.Clone(path), struct{}{}) // a copy, because the path shares memory with the request line
	}
}
