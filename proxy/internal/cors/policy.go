// Package cors sets those headers of responses that say which pages of other origins may read them.
// If the operator has listed origins, the list decides. Otherwise the decision is the one that the
// backend last made for the origin. The input of the package consists of the clients' requests, and
// of the headers in the backend's responses, including responses to preflights. If it has no
// response for an origin, it sends a preflight to the backend. It writes no responses, and does not
// depend on their content.
//
// Responses of the backend already have the backend's own Access-Control-* headers. This package is
// for responses that Holdpoint makes: refusals, replays, repeated questions, errors. The
// specification is the Fetch standard, section "CORS protocol".
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

// fixedMaxAge is how long a browser may reuse the response to a preflight, in seconds. It applies
// if the operator has listed origins.
const fixedMaxAge = 600

// A Policy decides which pages may read a response. It may be used by several goroutines at once.
//
// It records what the backend last permitted, by origin, address (path, query, host) and method. A
// permission for one origin or address is not used for another. If the permission is from a
// response to a request, it is also recorded by the credentials of the request, because the
// backend's decision may depend on them. A preflight has no credentials. So the response to a
// preflight counts for all requests that follow it. If nothing is recorded, or only old responses,
// Holdpoint asks the backend by a preflight.
type Policy struct {
	fixed   *rscors.Cors // set if the operator has listed origins; otherwise nil
	backend http.Handler // sends preflights to the backend; nil if there is none
	now     func() time.Time

	mu    sync.Mutex
	known *simplelru.LRU[hash, allowances] // by the address that keysOf returns
}

// New returns a Policy. origins are the origins that the operator has listed. Pages of these
// origins may send credentials. The element "*" permits every page, without credentials. If origins
// is empty, the backend's responses decide, and their age is measured by the clock now. backend
// sends a preflight to the backend, and must call Hear with the response. If backend is nil too, no
// page may read a response.
func New(origins []string, now func() time.Time, backend http.Handler) *Policy {
	if len(origins) == 0 {
		known, _ := simplelru.NewLRU[hash, allowances](maxOrigins, nil) // fails only for size 0
		return &Policy{backend: backend, now: now, known: known}
	}
	listed := !slices.Equal(origins, []string{"*"})
	return &Policy{fixed: rscors.New(rscors.Options{
		AllowedOrigins:      origins,
		AllowedMethods:      []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders:      []string{"*"}, // permits every header; the backend checks the values
		AllowCredentials:    listed,
		AllowPrivateNetwork: listed,
		MaxAge:              fixedMaxAge,
	})}
}

// IsPreflight reports whether a request is a preflight. A browser sends a preflight to find out
// what a page may send.
func IsPreflight(req *http.Request) bool {
	return req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != ""
}

// Answers reports whether a request is a preflight that Allow answers, because the operator has
// listed origins. Such a preflight is not sent to the backend.
func (p *Policy) Answers(req *http.Request) bool { return p.fixed != nil && IsPreflight(req) }

// Allow sets the CORS headers of a response that Holdpoint makes. They let the page that sent the
// request read the response if it is permitted to. req is nil if the request is not from a page.
// Allow may ask the backend by a preflight, and waits for it at most AskTimeout.
func (p *Policy) Allow(header http.Header, req *http.Request) {
	if p.fixed != nil && req != nil {
		p.allowFixed(header, req)
		return
	}
	AddVary(header, "Origin") // so that a cache does not use a response to one origin for another
	if req == nil || p.backend == nil || header.Get("Access-Control-Allow-Origin") != "" {
		return // header is from the backend's response and already contains the permission
	}
	maps.Copy(header, p.permission(req))
}

// allowFixed replaces the backend's CORS headers by those that follow from the operator's list.
func (p *Policy) allowFixed(header http.Header, req *http.Request) {
	maps.DeleteFunc(header, func(name string, _ []string) bool {
		// The backend's list of exposed headers stays. It admits no page, and only the backend
		// knows the purpose of its headers.
		return strings.HasPrefix(name, "Access-Control-") && name != "Access-Control-Expose-Headers"
	})
	if len(req.Header["Origin"]) > 1 {
		AddVary(header, "Origin")
		return // no browser sends two origins, and rs/cors would repeat both
	}
	p.fixed.HandlerFunc(headerWriter(header), req)
}

// Hear reads the header of a backend's response to a client's request, before the response is sent
// to the client. If the operator has listed origins, Hear writes the CORS headers into it.
func (p *Policy) Hear(client *http.Request, res *http.Response) {
	switch {
	case res.StatusCode < http.StatusOK:
	case p.fixed != nil:
		p.allowFixed(res.Header, client)
	case p.backend != nil:
		p.recordPermission(client, res)
	}
}

// AddVary adds a name to the Vary header, unless the header already contains it.
func AddVary(header http.Header, name string) {
	if !slices.ContainsFunc(listOf(header["Vary"]), func(one string) bool { return one == "*" || strings.EqualFold(one, name) }) {
		header.Add("Vary", name)
	}
}

// listOf returns the names in all lines of a header.
func listOf(lines []string) []string {
	return strings.FieldsFunc(strings.Join(lines, ","), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

// A headerWriter is a ResponseWriter that stores only the header. With it, rs/cors writes into a
// header that is not sent yet.
type headerWriter http.Header

func (h headerWriter) Header() http.Header         { return http.Header(h) }
func (h headerWriter) Write(p []byte) (int, error) { return len(p), nil }
func (h headerWriter) WriteHeader(int)             {}
