// Package cors says in the header of an answer which pages of other origins may read it: what the
// operator said, or else what the backend last said to that origin. It gets the requests of clients
// and the headers of the backend's answers to them, preflights included. Where it has none, it has
// the backend answer a preflight. It does not write answers, and knows nothing of what they hold.
//
// What passes has the backend's Access-Control-* headers. The room is for Holdpoint's own answers:
// refusals, replays, pauses that are told again, errors. The specification is the Fetch standard,
// section "CORS protocol".
package cors

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	rscors "github.com/rs/cors"
)

// fixedMaxAge is for how many seconds a browser keeps a preflight's answer if the operator names
// the origins.
const fixedMaxAge = 600

// A Policy decides which pages may read an answer. It may be used by several goroutines at once.
//
// It keeps what the backend last said to the origins of pages by the address (path, query, host),
// the method and the origin. Nothing that was said to one origin or at one address is said to
// another. What an answer said is also kept by the request's credentials, because a backend may go
// by those. A preflight has no credentials, and its answer counts for the requests that follow it.
// What is not known, or was said long ago, Holdpoint asks the backend.
type Policy struct {
	fixed   *rscors.Cors // if the operator names the origins, else nil
	backend http.Handler // passes preflights, nil if there is none
	now     func() time.Time

	mu    sync.Mutex
	known *simplelru.LRU[hash, allowances] // by keysOf
}

// New makes a Policy. origins are the origins that the operator names; pages of listed origins may
// send credentials, and "*" admits everybody's page without them. Without origins the word of the
// backend counts, by the clock now. backend passes a preflight to the backend, and calls Hear with
// the answer. If it is nil too, no page may read an answer.
func New(origins []string, now func() time.Time, backend http.Handler) *Policy {
	if len(origins) == 0 {
		known, _ := simplelru.NewLRU[hash, allowances](maxOrigins, nil) // it fails for a size of 0 only
		return &Policy{backend: backend, now: now, known: known}
	}
	listed := !slices.Equal(origins, []string{"*"})
	return &Policy{fixed: rscors.New(rscors.Options{
		AllowedOrigins:      origins,
		AllowedMethods:      []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders:      []string{"*"}, // those that are asked for, by name: the backend judges what stands in them
		AllowCredentials:    listed,
		AllowPrivateNetwork: listed,
		MaxAge:              fixedMaxAge,
	})}
}

// IsPreflight reports whether a browser asks by a request what a page may send.
func IsPreflight(req *http.Request) bool {
	return req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != ""
}

// Answers reports whether a request is a preflight that the operator's word answers, by Allow. It
// does not reach the backend.
func (p *Policy) Answers(req *http.Request) bool { return p.fixed != nil && IsPreflight(req) }

// Allow writes into the header of Holdpoint's own answer whether the page that sent the request may
// read it. req is nil if no page did. Allow may ask the backend, for at most AskTimeout.
func (p *Policy) Allow(header http.Header, req *http.Request) {
	if p.fixed != nil && req != nil {
		p.allowFixed(header, req)
		return
	}
	AddVary(header, "Origin") // what a cache keeps for one origin must not go to another
	if req == nil || p.backend == nil || header.Get("Access-Control-Allow-Origin") != "" {
		return // the backend's answer, which this one replaces, has said it
	}
	maps.Copy(header, p.permission(req))
}

// allowFixed replaces the backend's word by the operator's.
func (p *Policy) allowFixed(header http.Header, req *http.Request) {
	maps.DeleteFunc(header, func(name string, _ []string) bool {
		// What is exposed stays the backend's: it admits nobody, and only the backend knows what its
		// headers are for.
		return strings.HasPrefix(name, "Access-Control-") && name != "Access-Control-Expose-Headers"
	})
	if len(req.Header["Origin"]) > 1 {
		AddVary(header, "Origin")
		return // no browser sends two, and rs/cors would write both back
	}
	p.fixed.HandlerFunc(headerWriter(header), req)
}

// Hear reads the header of a backend's answer to a client's request, before the answer passes. If
// the operator names the origins, it writes his word into that header.
func (p *Policy) Hear(client *http.Request, res *http.Response) {
	switch {
	case res.StatusCode < http.StatusOK:
	case p.fixed != nil:
		p.allowFixed(res.Header, client)
	case p.backend != nil:
		p.hear(client, res)
	}
}

// AddVary adds a name to the Vary of a header, unless it stands there.
func AddVary(header http.Header, name string) {
	if !slices.ContainsFunc(listOf(header["Vary"]), func(one string) bool { return one == "*" || strings.EqualFold(one, name) }) {
		header.Add("Vary", name)
	}
}

// listOf returns the names in the lines of a header.
func listOf(lines []string) []string {
	return strings.FieldsFunc(strings.Join(lines, ","), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

// A headerWriter is a ResponseWriter that takes the header alone: rs/cors writes into one that is
// not sent yet.
type headerWriter http.Header

func (h headerWriter) Header() http.Header         { return http.Header(h) }
func (h headerWriter) Write(p []byte) (int, error) { return len(p), nil }
func (h headerWriter) WriteHeader(int)             {}
