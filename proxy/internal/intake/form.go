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

// Underscores is the setting for requests that have a header with an underscore in its name.
type Underscores string

// UnderscoresRefuse answers such a request with status 400. UnderscoresDrop removes the header.
// UnderscoresPass sends the header to the backend.
//
// CGI, and so WSGI, has one variable for both X-User and X_User. So a client can forge the header
// X-User that a proxy sets, by sending X_User (CVE-2025-64484). nginx drops headers with
// underscores by default, and it is then hard to find out why the backend does not get them. Envoy
// recommends that an edge proxy refuses the request, because the refusal names the reason.
const (
	UnderscoresRefuse Underscores = "refuse"
	UnderscoresDrop   Underscores = "drop"
	UnderscoresPass   Underscores = "pass"
)

// Connection refuses a request if the listener marked its connection as not accepted, see
// front.Refused. For any other request it returns nil.
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

// Form refuses a request for its form: its connection, the names of its headers, or a WebSocket at
// an agent's path. It is called before the sender of the request is identified. With
// UnderscoresDrop it removes headers whose names have an underscore; hasDropped reports whether it
// removed any.
func (t *Intake) Form(req *http.Request) (hasDropped bool, refusal *Refusal) {
	if refusal = Connection(req); refusal != nil {
		return false, refusal
	}
	if hasDropped, refusal = t.names(req); refusal != nil {
		return false, refusal
	}
	if isWebSocket(req) && t.isAgents(req.URL.Path) {
		return hasDropped, TurnAway(req, slog.LevelInfo, http.StatusBadRequest, textWebSocketAtAgent)
	}
	return hasDropped, nil
}

// names applies the setting Underscores to the headers of a request. Its results are those of Form.
func (t *Intake) names(req *http.Request) (hasDropped bool, refusal *Refusal) {
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

// underscoredHeaders returns the names of the request's headers that have an underscore.
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

// isWebSocket reports whether a request asks to become a WebSocket. Other upgrades never reach the
// backend: rewrite in package proxy removes them.
func isWebSocket(req *http.Request) bool {
	return req.Method == http.MethodGet && strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
}

// isAgents reports whether the path accepts only runs. The dialect decides this, if it implements
// translate.Foreign. Otherwise the function Options.Agent decides it.
func (t *Intake) isAgents(path string) bool {
	route, ok := t.Route(path)
	if t.foreign != nil {
		return ok
	}
	return t.agents(route)
}

// Ask returns the identity of the sender of a request, as the gate determines it. It is called even
// for requests that are not runs, because otherwise the backend would believe the headers with
// which a client names a user.
func Ask(gate *principal.Gate, req *http.Request) (principal.Identity, *Refusal) {
	who, refused := gate.Identify(req, cors.IsPreflight(req) && !HasBody(req)) // browsers send no credentials with a preflight
	if refused == nil {
		return who, nil
	}
	level := slog.LevelInfo
	if refused.IsForged || refused.Err != nil {
		level = slog.LevelWarn
	}
	r := TurnAway(req, level, refused.Status, refused.Reason)
	r.Challenge = refused.Challenge
	if refused.Status == http.StatusServiceUnavailable {
		r.RetryAfter = 1
	}
	return principal.Identity{}, r
}
