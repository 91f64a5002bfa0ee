// Package api is the desk's HTTP API, for people and programs outside the chat. It lists the open
// questions, accepts decisions on them, shows how questions have ended, and frees threads by hand.
// It works on the records of a store, and stores nothing elsewhere.
//
// The package does not judge answers, and does not know runs and backends. It reveals nothing to a
// caller without a token, because in a pod the agent and each of its tools share the loopback
// address. Arguments and messages come from others, so they are sent as data, in JSON only. Pages
// of other origins get no CORS headers.
//
// Errors are problem documents (RFC 9457) with a code. The token is a bearer token (RFC 6750).
// docs/desk-api.yaml describes the whole API.
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

// Options are the options of a Desk. Store is required, and so is one of Tokens and Gate.
type Options struct {
	Store  store.Store
	Tokens *Tokens
	// Auth is the way in which callers authenticate. For AuthHeader and AuthJWT, the Gate
	// identifies callers, and Tokens is nil.
	Auth Auth
	Gate *principal.Gate
	// Access returns the rights of callers. If it is nil, every known caller has all rights.
	Access func() policy.Access
	// Trusted reports whether the X-Forwarded-Proto of a request is believed. If it is nil, the
	// header is never believed.
	Trusted func(*http.Request) bool
	// Keys sign the sessions of browsers. If Keys is nil, this process makes a key.
	Keys *Keys
	// Agents has the agents of this process, keyed by their names in records. OtherAgents returns
	// an Agent that judges decisions on questions of an agent that another process serves; that
	// process sends the answers. If OtherAgents is nil, or returns nil, such questions can be read
	// here but not decided.
	Agents      map[string]Agent
	OtherAgents func(agent, dialect string) Agent
	// OnDecided, if set, is called with the key of a record when every question of its pause has a
	// decision. It must not block.
	OnDecided func(store.Key)
	// Events, if set, gets an event for each thread that is freed.
	Events event.Sink
	// EventsRequired means that a thread is freed only after Events has accepted an event that
	// announces this.
	EventsRequired bool
	// Notices, if set, makes the notice of an event, which the webhook sends. The step that frees
	// the thread writes the notice into the record. OnNotices, if set, is then called with the key
	// of the record. It must not block.
	Notices   func(*event.Event) (store.Notice, bool)
	OnNotices func(store.Key)
	// Refused, if set, returns the status and the reason if the listener has refused the connection
	// of the request. It returns 0 as the status if not.
	Refused func(context.Context) (status int, reason string)
	Logger  *slog.Logger // nil discards the log
	// nil means time.Now; used only for the times of events and of refused tries
	Now func() time.Time
}

// A Desk serves the API as an http.Handler. It is made by New, and is safe for concurrent use.
type Desk struct {
	opts       Options
	log        *slog.Logger
	tries      *buckets[netip.Addr]
	changes    *buckets[string]
	clockAhead atomic.Int64 // how far the store's clock was ahead at its last reply, in nanoseconds
	handler    http.Handler
	scopes     recordScopes

	sessions sessions
}

// New returns a Desk.
func New(o Options) *Desk {
	d := &Desk{opts: o, log: o.Logger}
	d.log = cmp.Or(d.log, slog.New(slog.DiscardHandler))
	if d.opts.Now == nil {
		d.opts.Now = time.Now
	}
	d.opts.Auth = cmp.Or(d.opts.Auth, AuthToken)
	d.tries = newTries(d.opts.Now)
	d.changes = newBuckets[string](maxChanges, changeEvery, d.opts.Now)
	d.sessions = sessions{keys: o.Keys, signedOut: map[[16]byte]time.Time{}}
	if d.sessions.keys == nil {
		d.sessions.keys = &Keys{}
		d.sessions.keys.Set(nil)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/approvals", d.serveList)
	mux.HandleFunc("GET /v1/approvals/{id}", d.serveApproval)
	mux.HandleFunc("DELETE /v1/approvals/{id}", d.serveFree)
	mux.HandleFunc("POST /v1/approvals/{id}", d.decideAll)
	mux.HandleFunc("POST /v1/approvals/{id}/questions/{question}", d.decideOne)
	mux.HandleFunc("GET /v1/approvals/{id}/raw/{question}/{call}", d.serveRaw)
	mux.HandleFunc("GET /v1/approvals/{id}/sent/{question}", d.serveSentFile)
	mux.HandleFunc("/v1/approvals", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("/v1/approvals/{id}", methodNotAllowed("GET, HEAD, POST, DELETE"))
	mux.HandleFunc("/v1/approvals/{id}/questions/{question}", methodNotAllowed("POST"))
	mux.HandleFunc("/v1/approvals/{id}/raw/{question}/{call}", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("/v1/approvals/{id}/sent/{question}", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("GET /v1/me", d.serveMe)
	mux.HandleFunc("/v1/me", methodNotAllowed("GET, HEAD"))
	mux.HandleFunc("DELETE /v1/session", d.signOut)
	mux.HandleFunc("/v1/session", methodNotAllowed("POST, DELETE"))
	nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, codeNotFound, textNothingHere)
	})
	mux.Handle("/", nothing)
	// These paths need a known caller, except for a browser's sign-in. The files of the page are
	// served before these paths.
	open := http.NewServeMux()
	open.Handle("/v1/", d.requireCaller(mux))
	open.HandleFunc("POST /v1/session", d.signIn)
	open.Handle("/", nothing)
	// A page of another origin cannot change anything, whoever is signed in.
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, codeCrossOrigin, textOtherOrigin)
	}))
	inner := origins.Handler(open)
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w = storeTimeWriter{w, d.storeTime}
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
