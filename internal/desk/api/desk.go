// Package api is the API for those who are not in the chat: what waits for an answer, deciding it,
// how a question has ended, and freeing a thread by hand. It is a door on the records of a store,
// and holds nothing itself.
//
// It deliberately judges no answer, knows no run and no backend, and says nothing to anybody who
// shows no token: in a pod the agent and each of its tools share the loopback address. Arguments
// and messages are what others wrote. They go out as data, in JSON only. Pages of other origins get
// no CORS headers.
//
// Errors are problem documents (RFC 9457) with a code. The token is a bearer token (RFC 6750).
// docs/desk-api.yaml describes all of it.
package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"holdpoint/internal/desk/policy"
	"holdpoint/internal/event"
	"holdpoint/internal/principal"
	"holdpoint/store"
)

// Options of a Desk. Store is required, and Tokens or Gate.
type Options struct {
	Store  store.Store
	Tokens *Tokens
	// Auth is how a caller says who he is. With AuthHeader and AuthJWT the Gate says it, and
	// Tokens is nil.
	Auth Auth
	Gate *principal.Gate
	// Access says who has which rights; nil: everybody whom the desk knows has all of them.
	Access func() policy.Access
	// Trusted says of a request whether its X-Forwarded-Proto is believed; nil: of none.
	Trusted func(*http.Request) bool
	// Keys sign the sessions of browsers; nil: a key of this process.
	Keys *Keys
	// Agents are those of this process, by the names that records have of them. Others judges
	// the decisions on the questions of another process's agent, which carries them; nil, or a
	// nil Agent: they can be read here and not be decided.
	Agents map[string]Agent
	Others func(agent, dialect string) Agent
	// Decided is told of a record whose pause is decided as a whole now, and must not wait;
	// nil: nobody is.
	Decided func(store.Key)
	// Events hears of a thread that was freed; nil: nobody does.
	Events event.Sink
	// EventsRequired: a thread is freed only if Events has taken that it is about to be.
	EventsRequired bool
	// Notices makes of an event what is to be sent of it, if anything is. The step that frees
	// the thread writes it into the record. Posted is told of the record then, and must not
	// wait. nil: nothing is sent.
	Notices func(*event.Event) (store.Notice, bool)
	Posted  func(store.Key)
	// Refused says of a request's context by which status and for which reason its connection
	// is not taken, 0 if it is. nil: all are.
	Refused func(context.Context) (status int, reason string)
	Logger  *slog.Logger     // nil: discarded
	Now     func() time.Time // nil: time.Now. Only for the times of events and of refused tries
}

// A Desk answers the API as an http.Handler. Make it with New. It is safe for concurrent use.
type Desk struct {
	opts    Options
	log     *slog.Logger
	tries   *buckets[netip.Addr]
	changes *buckets[string]
	ahead   atomic.Int64 // how far the store's clock is ahead, in ns, when it last answered
	handler http.Handler
	places  places

	sessions sessions
}

// New makes a Desk.
func New(o Options) *Desk {
	d := &Desk{opts: o, log: o.Logger}
	d.log = cmp.Or(d.log, slog.New(slog.DiscardHandler))
	if d.opts.Now == nil {
		d.opts.Now = time.Now
	}
	d.opts.Auth = cmp.Or(d.opts.Auth, AuthToken)
	d.tries = newTries(d.opts.Now)
	d.changes = newBuckets[string](maxChanges, changeEvery, d.opts.Now)
	d.sessions = sessions{keys: o.Keys, out: map[[16]byte]time.Time{}}
	if d.sessions.keys == nil {
		d.sessions.keys = &Keys{}
		d.sessions.keys.Set(nil)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/approvals", d.list)
	mux.HandleFunc("GET /v1/approvals/{id}", d.show)
	mux.HandleFunc("DELETE /v1/approvals/{id}", d.free)
	mux.HandleFunc("POST /v1/approvals/{id}", d.decideAll)
	mux.HandleFunc("POST /v1/approvals/{id}/questions/{question}", d.decideOne)
	mux.HandleFunc("GET /v1/approvals/{id}/raw/{question}/{call}", d.raw)
	mux.HandleFunc("GET /v1/approvals/{id}/sent/{question}", d.sentFile)
	mux.HandleFunc("/v1/approvals", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("/v1/approvals/{id}", methodNotAllowed("GET, HEAD, POST, DELETE"))
	mux.HandleFunc("/v1/approvals/{id}/questions/{question}", methodNotAllowed("POST"))
	mux.HandleFunc("/v1/approvals/{id}/raw/{question}/{call}", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("/v1/approvals/{id}/sent/{question}", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("GET /v1/me", d.me)
	mux.HandleFunc("/v1/me", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("DELETE /v1/session", d.signOut)
	mux.HandleFunc("/v1/session", methodNotAllowed("POST, DELETE"))
	nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, codeNotFound, textNothingHere)
	})
	mux.Handle("/", nothing)
	// What is here is for those who are known, but for the door of a browser. The page stands
	// before all of it.
	open := http.NewServeMux()
	open.Handle("/v1/", d.requireCaller(mux))
	open.HandleFunc("POST /v1/session", d.signIn)
	open.Handle("/", nothing)
	// A page of another origin changes nothing, whoever is signed in.
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, codeCrossOrigin, textOtherOrigin)
	}))
	inner := origins.Handler(open)
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w = timedWriter{w, d.storeTime}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		if d.opts.Refused != nil {
			if status, reason := d.opts.Refused(req.Context()); status != 0 {
				h.Set("Connection", "close")
				refuse(w, status, codeConnection, reason)
				return
			}
		}
		inner.ServeHTTP(w, req)
	})
	return d
}

// ServeHTTP implements http.Handler.
func (d *Desk) ServeHTTP(w http.ResponseWriter, req *http.Request) { d.handler.ServeHTTP(w, req) }

func methodNotAllowed(methods string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Allow", methods)
		refuse(w, http.StatusMethodNotAllowed, codeMethod, fmt.Sprintf(textMethod, req.Method))
	}
}
