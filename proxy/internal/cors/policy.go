// Package cors sets the headers of responses that say which pages of other origins may read them:
// according to the operator's list, or else as the backend last did for that origin. Its input is
// the requests of clients and the headers of the backend's responses, including those to
// preflights. If it has none for an origin, it sends a preflight to the backend. It writes no
// responses, and does not depend on their content.
//
// Responses that are passed on have the backend's own Access-Control-* headers. This package is for
// responses that Holdpoint makes: refusals, replays, repeated questions, errors. The specification
// is the Fetch standard, section "CORS protocol".
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

// fixedMaxAge is the time in seconds for which a browser may reuse the response to a preflight, if
// the operator names the origins.
const fixedMaxAge = 600

// A Policy decides which pages may read a response. It may be used by several goroutines at once.
//
// It records what the backend last permitted, by origin, address (path, query, host) and method. A
// permission for one origin or address is not used for another. A permission in the response to a
// request is also recorded by the credentials of the request, because a backend may depend on them.
// A preflight has no credentials, and its response counts for the requests that follow it. If
// nothing is recorded, or only old responses, Holdpoint asks the backend.
type Policy struct {
	fixed   *rscors.Cors // set if the operator names the origins, else nil
	backend http.Handler // passes preflights to the backend, nil if there is none
	now     func() time.Time

	mu    sync.Mutex
	known *simplelru.LRU[hash, allowances] // by keysOf
}

// New returns a Policy. origins are the origins that the operator names: pages of listed origins
// may send credentials, and "*" permits every page, without credentials. Without origins the
// backend's responses decide, by the clock now. backend passes a preflight to the backend, and must
// call Hear with the response. If it is nil too, no page may read a response.
func New(origins []string, now func() time.Time, backend http.Handler) *Policy {
	if len(origins) == 0 {
		known, _ := simplelru.NewLRU[hash, allowances](maxOrigins, nil) // fails only for size 0
		return &Policy{backend: backend, now: now, known: known}
	}
	listed := !slices.Equal(origins, []string{"*"})
	return &Policy{fixed: rscors.New(rscors.Options{
		AllowedOrigins:      origins,
		AllowedMethods:      []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders:      []string{"*"}, // every requested header, by name: the backend checks their values
		AllowCredentials:    listed,
		AllowPrivateNetwork: listed,
		MaxAge:              fixedMaxAge,
	})}
}

// IsPreflight reports whether a request is a preflight, by which a browser asks what a page may
// send.
func IsPreflight(req *http.Request) bool {
	return req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != ""
}

// Answers reports whether a request is a preflight that Allow answers by the operator's list. It is
// not sent to the backend.
func (p *Policy) Answers(req *http.Request) bool { return p.fixed != nil && IsPreflight(req) }

// Allow sets the CORS headers of a response that Holdpoint makes, so that the page that sent the
// request may read it if it is permitted to. req is nil if no page did. Allow may ask the backend,
// for at most AskTimeout.
func (p *Policy) Allow(header http.Header, req *http.Request) {
	if p.fixed != nil && req != nil {
		p.allowFixed(header, req)
		return
	}
	AddVary(header, "Origin") // a cache must not use a response to one origin for another
	if req == nil || p.backend == nil || header.Get("Access-Control-Allow-Origin") != "" {
		return // the header is that of the backend's response, which has the permission
	}
	maps.Copy(header, p.permission(req))
}

// allowFixed replaces the backend's headers by those of the operator's list.
func (p *Policy) allowFixed(header http.Header, req *http.Request) {
	maps.DeleteFunc(header, func(name string, _ []string) bool {
		// The backend's list of exposed headers is kept: it admits nobody, and only the backend
		// knows the purpose of its headers.
		return strings.HasPrefix(name, "Access-Control-") && name != "Access-Control-Expose-Headers"
	})
	if len(req.Header["Origin"]) > 1 {
		AddVary(header, "Origin")
		return // no browser sends two, and rs/cors would repeat both
	}
	p.fixed.HandlerFunc(headerWriter(header), req)
}

// Hear reads the header of a backend's response to a client's request, before the response is
// passed on. If the operator names the origins, it writes their headers into it.
func (p *Policy) Hear(client *http.Request, res *http.Response) {
	switch {
	case res.StatusCode < http.StatusOK:
	case p.fixed != nil:
		p.allowFixed(res.Header, client)
	case p.backend != nil:
		p.recordPermission(client, res)
	}
}

// AddVary adds a name to the Vary header, unless it is there already.
func AddVary(header http.Header, name string) {
	if !slices.ContainsFunc(listOf(header["Vary"]), func(one string) bool { return one == "*" || strings.EqualFold(one, name) }) {
		header.Add("Vary", name)
	}
}

// listOf returns the names in the lines of a header.
func listOf(lines []string) []string {
	return strings.FieldsFunc(strings.Join(lines, ","), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

// A headerWriter is a ResponseWriter that keeps only the header: rs/cors writes into a header that
// is not sent yet.
type headerWriter http.Header

func (h headerWriter) Header() http.Header         { return http.Header(h) }
func (h headerWriter) Write(p []byte) (int, error) { return len(p), nil }
func (h headerWriter) WriteHeader(int)             {}
