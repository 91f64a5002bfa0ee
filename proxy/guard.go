package proxy

import (
	"log/slog"
	"net/http"
	"strings"

	"holdpoint/proxy/internal/cors"
	"holdpoint/translate"
)

// guarded reports whether a request that is not a run may reach the backend. It answers one that
// may not.
func (h *Handler) guarded(w http.ResponseWriter, req *http.Request) bool {
	why := h.refusal(req, false)
	if why == "" {
		return true
	}
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if h.guard.Refusal(lineOf(req, method)) == "" {
			methods = append(methods, method)
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	h.turnAway(w, req, slog.LevelInfo, http.StatusMethodNotAllowed, why)
	return false
}

// refusal returns why the dialect's Guard lets a request not pass, "" if it does or if there is no
// Guard. A header that names another method, a WebSocket, and the body of a request that reads are
// refused too: what the Guard reads is then not what the backend does.
func (h *Handler) refusal(req *http.Request, run bool) string {
	switch {
	case h.guard == nil:
		return ""
	case run:
		l := lineOf(req, req.Method)
		l.Run = true
		return h.guard.Refusal(l)
	case cors.IsPreflight(req) && !hasBody(req):
		return ""
	case namesMethod(req.Header):
		return "a header that names another method is not taken"
	case isWebSocket(req):
		return "a WebSocket is not taken: what is said in it could not be read"
	case (req.Method == http.MethodGet || req.Method == http.MethodHead) && hasBody(req):
		return "a request that reads has no body"
	}
	return h.guard.Refusal(lineOf(req, req.Method))
}

func lineOf(req *http.Request, method string) translate.RequestLine {
	return translate.RequestLine{Method: method, Path: req.URL.EscapedPath(), Query: req.URL.RawQuery}
}

// namesMethod reports whether a header tells some frameworks to take another method than the
// request's.
func namesMethod(header http.Header) bool {
	for _, name := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		if len(header[name]) > 0 {
			return true
		}
	}
	return false
}
