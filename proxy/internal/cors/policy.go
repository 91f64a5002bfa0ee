// Package cors says in the header of an answer which pages of other origins may read it: what the
// operator said, or else what the backend last said to that origin. It gets the requests of clients
// and the headers of the backend's answers to them, and may ask the backend by a preflight. It does
// not write answers, and knows nothing of what they hold.
//
// What passes has the backend's Access-Control-* headers. The room is for Holdpoint's own answers:
// refusals, replays, pauses that are told again, errors. The specification is the Fetch standard,
// section "CORS protocol".
package cors

import (
	"context"
	"net/http"
	"strings"
	"time"

	rscors "github.com/rs/cors"
)

// fixedMaxAge is for how many seconds a browser keeps a preflight's answer if the operator names
// the origins.
const fixedMaxAge = 600

// fixedHeaders are the headers of a backend's answer that the operator's word replaces.
// Access-Control-Expose-Headers stays the backend's: it admits nobody, and only the backend knows
// what its headers are for.
var fixedHeaders = []string{
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
	"Access-Control-Allow-Private-Network", "Access-Control-Max-Age",
}

// A Policy decides which pages may read an answer. It may be used by several goroutines at once.
type Policy struct {
	fixed *rscors.Cors // if the operator names the origins, else nil
	said  *allowances  // what the backend said, nil if there is none to ask
}

// New makes a Policy. origins are the origins that the operator names; pages of listed origins may
// send credentials, and "*" admits everybody's page without them. Without origins the word of the
// backend counts, by the clock now. If backend is nil too, no page may read an answer.
func New(origins []string, now func() time.Time, backend Backend) *Policy {
	switch {
	case len(origins) > 0:
		return &Policy{fixed: newFixed(origins)}
	case backend != nil:
		return &Policy{said: newAllowances(now, backend)}
	}
	return &Policy{}
}

func newFixed(origins []string) *rscors.Cors {
	listed := !(len(origins) == 1 && origins[0] == "*")
	return rscors.New(rscors.Options{
		AllowedOrigins:      origins,
		AllowedMethods:      []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders:      []string{"*"}, // those that are asked for, by name: the backend judges what stands in them
		AllowCredentials:    listed,
		AllowPrivateNetwork: listed,
		MaxAge:              fixedMaxAge,
	})
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
	if req == nil || p.said == nil || header.Get("Access-Control-Allow-Origin") != "" {
		return // the backend's answer, which this one replaces, has said it
	}
	said := p.said.of(req)
	if said.origin == "" {
		return
	}
	header.Set("Access-Control-Allow-Origin", said.origin)
	if said.credentials {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	if said.expose != "" {
		header.Set("Access-Control-Expose-Headers", said.expose)
	}
}

// allowFixed replaces the backend's word by the operator's.
func (p *Policy) allowFixed(header http.Header, req *http.Request) {
	for _, name := range fixedHeaders {
		delete(header, name)
	}
	if len(req.Header["Origin"]) > 1 {
		AddVary(header, "Origin")
		return // no browser sends two, and rs/cors would write both back
	}
	p.fixed.HandlerFunc(headerWriter(header), req)
}

// Hear reads the header of a backend's answer to a client's request, before the answer passes. If
// the operator names the origins, it writes his word into that header. client is nil if WithClient
// did not keep the request.
func (p *Policy) Hear(client *http.Request, res *http.Response) {
	switch {
	case client == nil || res.StatusCode < http.StatusOK:
	case p.fixed != nil:
		p.allowFixed(res.Header, client)
	case p.said != nil:
		p.said.hear(client, res)
	}
}

type clientKey struct{}

// WithClient keeps the request as the client sent it in its context, for Client, if Hear has to
// know it.
func (p *Policy) WithClient(req *http.Request) *http.Request {
	if p.fixed == nil && req.Header["Origin"] == nil {
		return req
	}
	return req.WithContext(context.WithValue(req.Context(), clientKey{}, req))
}

// Client returns the client's request that WithClient kept in a context, nil if it kept none.
func Client(ctx context.Context) *http.Request {
	req, _ := ctx.Value(clientKey{}).(*http.Request)
	return req
}

// AddVary adds a name to the Vary of a header, unless it stands there.
func AddVary(header http.Header, name string) {
	for _, line := range header["Vary"] {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.EqualFold(one, name) {
				return
			}
		}
	}
	header.Add("Vary", name)
}

// A headerWriter is a ResponseWriter that takes the header alone: rs/cors writes into one that is
// not sent yet.
type headerWriter http.Header

func (h headerWriter) Header() http.Header         { return http.Header(h) }
func (h headerWriter) Write(p []byte) (int, error) { return len(p), nil }
func (h headerWriter) WriteHeader(int)             {}
