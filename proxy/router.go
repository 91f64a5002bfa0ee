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
	// Agents are the handlers, each at its Options.Prefix. No two may have the same prefix,
	// ignoring case, or the same Options.Agent, because they would share the records of threads.
	Agents []*Handler
	// AllowOrigins lists the origins whose pages may read the responses of the Router itself, as
	// Options.AllowOrigins. Each agent has its own list.
	AllowOrigins []string
	Logger       *slog.Logger // nil: discarded
}

// A Router serves several agents at one address. It passes a request to the agent with the longest
// prefix that is a prefix of the request's path by whole segments, and removes the prefix from the
// path. If no agent matches, it answers 404; an agent with the prefix "" matches every path.
//
// A path that some servers would read as belonging to another prefix matches no agent: /a%2Fb,
// //a/b and /A/b do not match /a/b, nor any other prefix while there is an agent at /a.
type Router struct {
	refuser
	agents []*Handler // the longest prefix first
}

// NewRouter returns a Router for the options, or an error if they are not valid. The Router owns
// the handlers from then on: they share one memory for request bodies, with the limits of the
// first.
func NewRouter(o RouterOptions) (*Router, error) {
	if len(o.Agents) == 0 {
		return nil, errors.New("proxy: no agents")
	}
	rt := &Router{agents: slices.Clone(o.Agents), refuser: refuser{log: o.Logger, cors: cors.New(o.AllowOrigins, nil, nil)}}
	rt.log = cmp.Or(rt.log, slog.New(slog.DiscardHandler))
	prefixes, names := map[string]bool{}, map[string]bool{}
	for _, h := range rt.agents {
		prefix, name := strings.ToLower(h.opts.Prefix), h.opts.Agent
		if prefixes[prefix] {
			return nil, fmt.Errorf("proxy: two agents below %q", h.opts.Prefix)
		}
		if names[name] {
			return nil, fmt.Errorf("proxy: two agents of one name, %q", name)
		}
		prefixes[prefix], names[name] = true, true
		h.intake.Room = rt.agents[0].intake.Room
	}
	slices.SortFunc(rt.agents, func(a, b *Handler) int { return cmp.Compare(len(b.opts.Prefix), len(a.opts.Prefix)) })
	return rt, nil
}

// CheckPrefix returns an error if a prefix is not valid. A prefix has a plain spelling only, so
// that no two servers read it as two paths.
func CheckPrefix(prefix string) error {
	switch {
	case prefix == "":
		return nil
	case prefix[0] != '/':
		return errors.New("want a path that begins with a slash, such as /billing")
	case strings.HasSuffix(prefix, "/"):
		return errors.New("leave out the slash at the end: the path itself and all below it are the agent's")
	}
	for segment := range strings.SplitSeq(prefix[1:], "/") {
		switch strange := strings.Trim(segment, unreserved); {
		case segment == "":
			return errors.New("it has two slashes in a row")
		case segment == ".", segment == "..":
			return errors.New("it has a segment of dots")
		case strange != "":
			return fmt.Errorf("want letters, digits and - . _ ~ between the slashes, not %q", strange)
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
		h.ServeHTTP(w, below(req, h.opts.Prefix))
	}
}

// agentAt returns the agent that matches a request's path, nil if none does. ok is false if some
// servers would read the path as another agent's.
func (rt *Router) agentAt(u *url.URL) (h *Handler, ok bool) {
	written := rt.below(u.EscapedPath(), func(prefix string) string { return prefix })
	read := rt.below(intake.RecordPath(strings.ReplaceAll(u.Path, `\`, "/")), strings.ToLower)
	return written, written == read
}

// below returns the agent with the longest prefix that matches path, nil if none does. as maps each
// prefix before it is compared.
func (rt *Router) below(path string, as func(prefix string) string) *Handler {
	for _, h := range rt.agents {
		prefix := as(h.opts.Prefix)
		if rest, ok := strings.CutPrefix(path, prefix); ok && (prefix == "" || rest == "" || rest[0] == '/') {
			return h
		}
	}
	return nil
}

// below returns the request with the prefix removed from its path. The new path begins with a
// slash.
func below(req *http.Request, prefix string) *http.Request {
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

// turnAway answers a request that no agent matches. The response names no agent.
func (rt *Router) turnAway(w http.ResponseWriter, req *http.Request, status int, reason string) {
	switch {
	case rt.cors.Answers(req): // otherwise the page could not read the reason
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
