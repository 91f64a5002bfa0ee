package proxy

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
)

// Underscores says what becomes of a request with a header whose name has an underscore.
type Underscores string

// UnderscoresRefuse: 400. UnderscoresDrop: the header does not reach the backend. UnderscoresPass:
// it does.
//
// CGI, and WSGI with it, has one variable for X-User and X_User. A header that a proxy sets can be
// forged by its other spelling there (CVE-2025-64484). nginx drops such headers by default, and the
// client then looks in vain for what its backend does not get. Envoy's advice for an edge is to
// refuse the request, which says why.
const (
	UnderscoresRefuse Underscores = "refuse"
	UnderscoresDrop   Underscores = "drop"
	UnderscoresPass   Underscores = "pass"
)

// admits judges a request by its form, before anybody asks who sends it. It answers what it turns
// away.
func (h *Handler) admits(w http.ResponseWriter, req *http.Request) bool {
	if !h.admitsConnection(w, req) || !h.admitsNames(w, req) {
		return false
	}
	if isWebSocket(req) && h.isAgents(req.URL.Path) {
		h.turnAway(w, req, slog.LevelInfo, http.StatusBadRequest, "a WebSocket is not taken on the path of an agent: runs in it could not be read")
		return false
	}
	return true
}

// admitsNames judges the names of headers.
func (h *Handler) admitsNames(w http.ResponseWriter, req *http.Request) bool {
	if h.opts.Underscores == UnderscoresPass {
		return true
	}
	names := underscored(req)
	if names == nil {
		return true
	}
	if h.opts.Underscores == UnderscoresDrop {
		h.once("underscores", func() {
			h.log.Warn("a header was dropped because its name has an underscore, said once", "variable", "HOLDPOINT_HEADER_UNDERSCORES")
		})
		for _, name := range names {
			delete(req.Header, name)
			delete(req.Trailer, name)
		}
		return true
	}
	name := slices.Min(names)
	h.turnAway(w, req, slog.LevelInfo, http.StatusBadRequest, "the header "+name[:min(len(name), 100)]+" has an underscore in its name, and some servers take it for another header (HOLDPOINT_HEADER_UNDERSCORES)")
	return false
}

// underscored are the headers of the request whose names have an underscore.
func underscored(req *http.Request) (names []string) {
	for _, header := range []http.Header{req.Header, req.Trailer} {
		for name := range header {
			if strings.IndexByte(name, '_') >= 0 {
				names = append(names, name)
			}
		}
	}
	return names
}

// isWebSocket says whether a request is to become a WebSocket. Other upgrades are not passed on,
// see rewrite.
func isWebSocket(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// isAgents says whether the path is an agent's: the configuration says so by an upstream with a
// path, or runs were seen there, or they can be nowhere else.
func (h *Handler) isAgents(path string) bool {
	route, ok := h.route(path)
	if h.foreign != nil {
		return ok
	}
	if route == "/" && strings.Trim(h.opts.Upstream.Path, "/") != "" {
		return true
	}
	return h.agents.Contains(route)
}

// noteAgents notes that a run at the path got a stream. That a client sends runs there says
// nothing: it chooses paths.
func (h *Handler) noteAgents(path string) {
	if !h.agents.Contains(path) {
		h.agents.Add(strings.Clone(path), struct{}{}) // it may lie in the request's line
	}
}

// CloseIdleConnections closes the connections to the backend that nobody uses. The next ones are
// made anew, with what Options.UpstreamTLS says then.
func (h *Handler) CloseIdleConnections() {
	for _, t := range []http.RoundTripper{h.transports.shared, h.transports.single} {
		if idle, ok := t.(interface{ CloseIdleConnections() }); ok {
			idle.CloseIdleConnections()
		}
	}
}
