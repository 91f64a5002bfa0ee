package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"holdpoint/proxy/internal/cors"
	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/stream"
)

// RouterOptions configure a Router. Agents is required.
type RouterOptions struct {
	// Agents are the handlers. Each serves the paths below its Options.Prefix. Two agents must not
	// have the same prefix, ignoring case. They must not have the same Options.Agent either,
	// because they would share the records of threads.
	Agents []*Handler
	// AllowOrigins lists the origins whose pages may read the Router's own responses, in the format
	// of Options.AllowOrigins. The responses of each agent follow the agent's own list.
	AllowOrigins []string
	Logger       *slog.Logger // nil: nothing is logged
}

// A Router serves several agents at one address. Each agent has a prefix of whole path segments,
// and a request goes to the agent whose prefix is the longest at the beginning of the request's
// path. The Router removes the prefix from the path. If no agent matches, the Router answers 404.
// An agent with the prefix "" matches every path.
//
// If some servers would read a path as that of another prefix, no agent matches it. If there is an
// agent at /a/b, the paths /a%2Fb, //a/b and /A/b match no agent, not even one with a shorter
// prefix.
type Router struct {
	refuser
	agents []*Handler // sorted by the length of their prefixes, the longest first
}

// NewRouter returns a Router with the given options, or an error if they are not valid. From then
// on the Router owns the handlers: they share the memory for request bodies, with the limits of the
// first handler.
func NewRouter(o RouterOptions) (*Router, error) {
	if len(o.Agents) == 0 {
		return nil, errors.New(textNoAgents)
	}
	rt := &Router{agents: slices.Clone(o.Agents), refuser: refuser{log: o.Logger, cors: cors.New(o.AllowOrigins, nil, nil)}}
	rt.log = cmp.Or(rt.log, slog.New(slog.DiscardHandler))
	prefixes, names := map[string]bool{}, map[string]bool{}
	for _, h := range rt.agents {
		prefix, name := strings.ToLower(h.opts.Prefix), h.opts.Agent
		if prefixes[prefix] {
			return nil, fmt.Errorf(textTwoBelow, h.opts.Prefix)
		}
		if names[name] {
			return nil, fmt.Errorf(textTwoNames, name)
		}
		prefixes[prefix], names[name] = true, true
		h.intake.Room = rt.agents[0].intake.Room
	}
	slices.SortFunc(rt.agents, func(a, b *Handler) int { return cmp.Compare(len(b.opts.Prefix), len(a.opts.Prefix)) })
	return rt, nil
}

// CheckPrefix returns an error if a prefix is not valid. A valid prefix has only one spelling, so
// that all servers read it as the same path.
func CheckPrefix(prefix string) error {
	switch {
	case prefix == "":
		return nil
	case prefix[0] != '/':
		return errors.New(textPathBegins)
	case strings.HasSuffix(prefix, "/"):
		return errors.New(textPathEnds)
	}
	for segment := range strings.SplitSeq(prefix[1:], "/") {
		switch strange := strings.Trim(segment, unreserved); {
		case segment == "":
			return errors.New(textPathSlashes)
		case segment == ".", segment == "..":
			return errors.New(textPathDots)
		case strange != "":
			return fmt.Errorf(textPathCharacters, strange)
		}
	}
	return nil
}

// unreserved are the characters that have only one spelling in a path (RFC 3986, section 2.3).
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// ServeHTTP implements http.Handler.
func (rt *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if refused := intake.Connection(req); refused != nil {
		rt.refuse(w, req, refused)
		return
	}
	h, ok := rt.agentAt(req.URL)
	switch {
	case !ok:
		rt.turnAway(w, req, http.StatusBadRequest, textAmbiguousPath)
	case h == nil:
		rt.turnAway(w, req, http.StatusNotFound, textNoAgent)
	default:
		h.ServeHTTP(w, withoutPrefix(req, h.opts.Prefix))
	}
}

// agentAt returns the agent whose prefix matches the path of a request, nil if no prefix matches.
// ok is false if some servers would read the path as that of another agent.
func (rt *Router) agentAt(u *url.URL) (h *Handler, ok bool) {
	written := rt.agentBelow(u.EscapedPath(), func(prefix string) string { return prefix })
	read := rt.agentBelow(intake.RecordPath(strings.ReplaceAll(u.Path, `\`, "/")), strings.ToLower)
	return written, written == read
}

// agentBelow returns the agent with the longest prefix that matches path, nil if no prefix matches.
// The function as is applied to each prefix before it is compared.
func (rt *Router) agentBelow(path string, as func(prefix string) string) *Handler {
	for _, h := range rt.agents {
		prefix := as(h.opts.Prefix)
		if rest, ok := strings.CutPrefix(path, prefix); ok && (prefix == "" || rest == "" || rest[0] == '/') {
			return h
		}
	}
	return nil
}

// withoutPrefix returns a copy of the request whose path lacks the prefix. The new path begins with
// a slash.
func withoutPrefix(req *http.Request, prefix string) *http.Request {
	if prefix == "" {
		return req
	}
	to, u := *req, *req.URL
	if u.Path = u.Path[len(prefix):]; u.Path == "" {
		u.Path = "/"
	}
	if u.RawPath != "" {
		u.RawPath = u.RawPath[len(prefix):]
	}
	to.URL = &u
	return &to
}

// turnAway answers a request that matches no agent. The response does not mention any agent.
func (rt *Router) turnAway(w http.ResponseWriter, req *http.Request, status int, reason string) {
	switch {
	// without an answer to the preflight, the page could not read the reason
	case rt.cors.Answers(req):
		rt.answerPreflight(w, req)
	case status == http.StatusNotFound && wantsPage(req):
		stream.ClearDeadline(w)
		rt.cors.Allow(w.Header(), req)
		pageHeader(w.Header(), nowherePage)
		w.WriteHeader(status)
		io.WriteString(w, nowherePage) //nolint:errcheck // a write error concerns only the client
	default:
		rt.refuse(w, req, intake.TurnAway(req, slog.LevelInfo, status, reason))
	}
}

// Drain calls Handler.Drain for all agents at once.
func (rt *Router) Drain(ctx context.Context) error {
	errs := make([]error, len(rt.agents))
	var all sync.WaitGroup
	for n, h := range rt.agents {
		all.Go(func() { errs[n] = h.Drain(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
