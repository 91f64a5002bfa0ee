package proxy

import (
	"log/slog"
	"net/http"

	"holdpoint/internal/agui"
	"holdpoint/internal/front"
	"holdpoint/proxy/internal/cors"
	"holdpoint/proxy/internal/stream"
)

// A refuser answers requests that go neither to a run nor to the backend.
type refuser struct {
	log  *slog.Logger
	cors *cors.Policy // who may read the answers
}

// admitsConnection answers what the listener has refused.
func (f refuser) admitsConnection(w http.ResponseWriter, req *http.Request) bool {
	if status, reason := front.Refused(req.Context()); status != 0 {
		level := slog.LevelInfo
		if status != http.StatusBadRequest {
			level = slog.LevelDebug // the listener has said it once
			w.Header().Set("Retry-After", "1")
		}
		w.Header().Set("Connection", "close")
		f.turnAway(w, req, level, status, reason)
		return false
	}
	return true
}

// turnAway logs and answers a request that is refused for its form.
func (f refuser) turnAway(w http.ResponseWriter, req *http.Request, level slog.Level, status int, reason string) {
	f.log.Log(req.Context(), level, "request refused", "status", status, "reason", reason, "peer", req.RemoteAddr)
	f.badRequest(w, req, status, reason)
}

// answerPreflight answers a preflight that goes to no backend, by what the operator said.
func (f refuser) answerPreflight(w http.ResponseWriter, req *http.Request) {
	stream.ClearDeadline(w)
	f.cors.Allow(w.Header(), req)
	w.WriteHeader(http.StatusNoContent)
}

// badRequest answers a request that is refused.
func (f refuser) badRequest(w http.ResponseWriter, req *http.Request, status int, reason string) {
	stream.ClearDeadline(w)
	f.cors.Allow(w.Header(), req)
	body := agui.MustMarshal(map[string]string{"error": reason})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body, '\n'))
}
