package proxy

import (
	"context"
	"net/http"
	"strings"

	"github.com/rs/cors"
)

// Cross-origin answers. What passes has the backend's Access-Control-* headers. Holdpoint's own
// answers (refusals, replays, pauses told again, errors) have what the backend last said to that
// origin, see allowances. With Options.AllowOrigins every answer has what the operator said. The
// specification is the Fetch standard, section "CORS protocol".

// fixedMaxAge is for how many seconds a browser keeps a preflight's answer if Options.AllowOrigins
// decides.
const fixedMaxAge = 600

// newFixed answers preflights and allows origins if the operator names them. Pages of listed
// origins may send credentials. "*" admits everybody's page, so it gets no credentials.
func newFixed(origins []string) *cors.Cors {
	if len(origins) == 0 {
		return nil
	}
	listed := !(len(origins) == 1 && origins[0] == "*")
	return cors.New(cors.Options{
		AllowedOrigins:      origins,
		AllowedMethods:      []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders:      []string{"*"}, // those that are asked for, by name: the backend judges what stands in them
		AllowCredentials:    listed,
		AllowPrivateNetwork: listed,
		MaxAge:              fixedMaxAge,
	})
}

// fixedHeaders are the headers of a backend's answer that the operator's word replaces.
// Access-Control-Expose-Headers stays the backend's: it admits nobody, and only the backend knows
// what its headers are for.
var fixedHeaders = []string{
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
	"Access-Control-Allow-Private-Network", "Access-Control-Max-Age",
}

// headerOnly is a ResponseWriter for callers that want the header alone. rs/cors writes into one
// that is not sent yet, ReverseProxy into one that is never sent (see body.next).
type headerOnly http.Header

func (h headerOnly) Header() http.Header         { return http.Header(h) }
func (h headerOnly) Write(p []byte) (int, error) { return len(p), nil }
func (h headerOnly) WriteHeader(int)             {}

// allowOwn writes into the header of an answer of Holdpoint's own whether the page that asked may
// read it. req is nil if no page asked. It may ask the backend, for at most askTimeout.
func (h *Handler) allowOwn(header http.Header, req *http.Request) {
	if h.fixed != nil && req != nil {
		h.allowFixed(header, req)
		return
	}
	addVary(header, "Origin") // what a cache keeps for one origin must not go to another
	if req == nil || h.allowances == nil || header.Get("Access-Control-Allow-Origin") != "" {
		return // no backend is there to ask (Router), or it has said it, in the answer that this one stands for
	}
	said := h.allowances.of(req)
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
func (h *Handler) allowFixed(header http.Header, req *http.Request) {
	for _, name := range fixedHeaders {
		delete(header, name)
	}
	if len(req.Header["Origin"]) > 1 {
		addVary(header, "Origin")
		return // no browser sends two, and rs/cors would write both back
	}
	h.fixed.HandlerFunc(headerOnly(header), req)
}

// heard looks at the header of a backend's answer to a client's request, before it goes on.
func (h *Handler) heard(client *http.Request, res *http.Response) {
	switch {
	case client == nil || res.StatusCode < http.StatusOK:
	case h.fixed != nil:
		h.allowFixed(res.Header, client)
	default:
		h.allowances.hear(client, res)
	}
}

type clientKey struct{}

// withClient lets modifyResponse find the request as the client sent it, if that names the origin
// of a page.
func (h *Handler) withClient(req *http.Request) *http.Request {
	if h.fixed == nil && req.Header["Origin"] == nil {
		return req
	}
	return req.WithContext(context.WithValue(req.Context(), clientKey{}, req))
}

// clientOf is the client's request that a backend's answer belongs to. It is nil if nobody needs
// it.
func clientOf(ctx context.Context) *http.Request {
	if r := runOf(ctx); r != nil {
		return r.request.http
	}
	req, _ := ctx.Value(clientKey{}).(*http.Request)
	return req
}

func addVary(header http.Header, name string) {
	for _, line := range header["Vary"] {
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.EqualFold(one, name) {
				return
			}
		}
	}
	header.Add("Vary", name)
}
