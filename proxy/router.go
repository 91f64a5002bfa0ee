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
	// Agents are the handlers, each below its Options.Prefix. No two have one prefix, in whatever
	// case, and no two have one Options.Agent: they would share the records of threads.
	Agents []*Handler
	// AllowOrigins are the origins whose pages may read what the Router itself answers, as
	// Options.AllowOrigins. Each agent has its own.
	AllowOrigins []string
	Logger       *slog.Logger // nil: discarded
}

// A Router is several agents at one address. A request goes to the agent with the longest prefix
// that its path is below, by whole segments, and the prefix is taken off. What no agent is for is
// answered 404, unless one has the prefix "".
//
// A path that some servers would read as one below another prefix goes to nobody: /a%2Fb, //a/b and
// /A/b are not /a/b, nor anything else while there is an agent below /a.
type Router struct {
	refuser
	agents []*Handler // the longest prefix first
}

// NewRouter checks the options and makes a Router. The handlers are the Router's from then on: they
// share one memory for request bodies, with the bounds of the first.
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

// CheckPrefix says what is wrong with a prefix. It has a plain spelling only, so that no two read
// it as two paths.
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

// unreserved are the signs that have one spelling in a path (RFC 3986, section 2.3).
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

// agentAt returns the agent that a request is for, nil if there is none. ok is false if the path,
// read as some servers would, is another agent's.
func (rt *Router) agentAt(u *url.URL) (h *Handler, ok bool) {
	written := rt.below(u.EscapedPath(), func(prefix string) string { return prefix })
	read := rt.below(intake.RecordPath(strings.ReplaceAll(u.Path, `\`, "/")), strings.ToLower)
	return written, written == read
}

// below returns the agent with the longest prefix that path is below, nil if there is none.
func (rt *Router) below(path string, as func(prefix string) string) *Handler {
	for _, h := range rt.agents {
		prefix := as(h.opts.Prefix)
		if rest, ok := strings.CutPrefix(path, prefix); ok && (prefix == "" || rest == "" || rest[0] == '/') {
			return h
		}
	}
	return nil
}

// below returns the request with the prefix taken off its path. What is left begins with a slash.
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

// turnAway answers what goes to no agent. It names none of them.
func (rt *Router) turnAway(w http.ResponseWriter, req *http.Request, status int, reason string) {
	switch {
	case rt.cors.Answers(req): // else the page would not learn why
		rt.answerPreflight(w, req)
	case status == http.StatusNotFound && wantsPage(req):
		stream.ClearDeadline(w)
		rt.cors.Allow(w.Header(), req)
		pageHeader(w.Header(), nowherePage)
		w.WriteHeader(status)
		io.WriteString(w, nowherePage) //nolint:errcheck // the client's affair
	default:
		rt.refuse(w, req, intake.TurnAway(req, slog.LevelInfo, status, reason))
	}
}

// Drain is Handler.Drain of all agents at once.
func (rt *Router) Drain(ctx context.Context) error {
	errs := make([]error, len(rt.agents))
	var all sync.WaitGroup
	for n, h := range rt.agents {
		all.Go(func() { errs[n] = h.Drain(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
