package intake

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"holdpoint/internal/edge/front"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/cors"
)

// Underscores names what becomes of a request with a header whose name has an underscore.
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

// Connection refuses a request that the listener does not take, see front.Refused.
func Connection(req *http.Request) *Refusal {
	status, reason := front.Refused(req.Context())
	if status == 0 {
		return nil
	}
	refused := TurnAway(req, slog.LevelInfo, status, reason)
	refused.Close = true
	if status != http.StatusBadRequest {
		refused.Line.Level = slog.LevelDebug // the listener has said it once
		refused.RetryAfter = 1
	}
	return refused
}

// Form judges a request by its form, before anybody asks who sends it. It takes headers out of the
// request whose names have an underscore if UnderscoresDrop says so; dropped reports that it did.
func (t *Intake) Form(req *http.Request) (dropped bool, refused *Refusal) {
	if refused = Connection(req); refused != nil {
		return false, refused
	}
	if dropped, refused = t.names(req); refused != nil {
		return false, refused
	}
	if isWebSocket(req) && t.isAgents(req.URL.Path) {
		return dropped, TurnAway(req, slog.LevelInfo, http.StatusBadRequest, textWebSocketAtAgent)
	}
	return dropped, nil
}

// names judges the names of headers.
func (t *Intake) names(req *http.Request) (dropped bool, refused *Refusal) {
	if t.underscores == UnderscoresPass {
		return false, nil
	}
	names := underscoredHeaders(req)
	switch {
	case names == nil:
		return false, nil
	case t.underscores == UnderscoresDrop:
		for _, name := range names {
			delete(req.Header, name)
			delete(req.Trailer, name)
		}
		return true, nil
	}
	name := slices.Min(names)
	return false, TurnAway(req, slog.LevelInfo, http.StatusBadRequest, fmt.Sprintf(textUnderscore, name[:min(len(name), 100)]))
}

// underscoredHeaders returns the headers of the request whose names have an underscore.
func underscoredHeaders(req *http.Request) (names []string) {
	for _, header := range []http.Header{req.Header, req.Trailer} {
		for name := range header {
			if strings.IndexByte(name, '_') >= 0 {
				names = append(names, name)
			}
		}
	}
	return names
}

// isWebSocket reports whether a request is to become a WebSocket. Other upgrades are not passed on,
// see proxy's rewrite.
func isWebSocket(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// isAgents reports whether the path is an agent's: the dialect says so, or runs were seen there, or
// they can be nowhere else.
func (t *Intake) isAgents(path string) bool {
	route, ok := t.Route(path)
	if t.foreign != nil {
		return ok
	}
	return t.agents(route)
}

// Ask asks the gate who sends a request. Every request is asked, also one that is not a run,
// because the backend would believe its headers.
func Ask(gate *principal.Gate, req *http.Request) (principal.Identity, *Refusal) {
	who, refused := gate.Ask(req, cors.IsPreflight(req) && !HasBody(req)) // a browser puts no identity into those
	if refused == nil {
		return who, nil
	}
	level := slog.LevelInfo
	if refused.Forged || refused.Err != nil {
		level = slog.LevelWarn
	}
	r := TurnAway(req, level, refused.Status, refused.Reason)
	r.Challenge = refused.Challenge
	if refused.Status == http.StatusServiceUnavailable {
		r.RetryAfter = 1
	}
	return principal.Identity{}, r
}
