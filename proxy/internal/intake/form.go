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

// Underscores says what happens to a request with a header whose name has an underscore.
type Underscores string

// UnderscoresRefuse answers 400. UnderscoresDrop removes the header. UnderscoresPass sends it to
// the backend.
//
// CGI, and so WSGI, has a single variable for X-User and X_User, so there a header that a proxy
// sets can be forged by its other spelling (CVE-2025-64484). nginx drops such headers by default,
// and it is then hard to find out why the backend does not get them. Envoy recommends that an edge
// refuses the request, which names the reason.
const (
	UnderscoresRefuse Underscores = "refuse"
	UnderscoresDrop   Underscores = "drop"
	UnderscoresPass   Underscores = "pass"
)

// Connection refuses a request that the listener does not accept, see front.Refused. It returns nil
// for any other.
func Connection(req *http.Request) *Refusal {
	status, reason := front.Refused(req.Context())
	if status == 0 {
		return nil
	}
	refused := TurnAway(req, slog.LevelInfo, status, reason)
	refused.Close = true
	if status != http.StatusBadRequest {
		refused.Line.Level = slog.LevelDebug // the listener has logged it once
		refused.RetryAfter = 1
	}
	return refused
}

// Form refuses a request because of its form, before its sender is identified. With UnderscoresDrop
// it removes headers whose names have an underscore; dropped reports that it did.
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

// names checks the names of headers for underscores. See Form for the results.
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

// isWebSocket reports whether a request asks to become a WebSocket. Other upgrades are not passed
// on, see rewrite in package proxy.
func isWebSocket(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// isAgents reports whether only an agent is at the path: the dialect says so, or runs were seen
// there, or runs can be nowhere else.
func (t *Intake) isAgents(path string) bool {
	route, ok := t.Route(path)
	if t.foreign != nil {
		return ok
	}
	return t.agents(route)
}

// Ask returns who sends a request, according to the gate. It is called even for requests that are
// not runs, because the backend would believe their headers.
func Ask(gate *principal.Gate, req *http.Request) (principal.Identity, *Refusal) {
	who, refused := gate.Ask(req, cors.IsPreflight(req) && !HasBody(req)) // browsers send no credentials with a preflight
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
