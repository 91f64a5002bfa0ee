package intake

import (
	"log/slog"
	"net/http"

	"holdpoint/proxy/internal/cors"
	"holdpoint/translate"
)

// guardRequest refuses a request that is not a run, if the dialect's Guard refuses it. The response
// lists the permitted methods. takesRuns is passed to methods.
func (t *Intake) guardRequest(req *http.Request, takesRuns bool) *Refusal {
	why := t.guardReason(req, false)
	if why == "" {
		return nil
	}
	refused := TurnAway(req, slog.LevelInfo, http.StatusMethodNotAllowed, why)
	refused.Allow = t.methods(req, takesRuns)
	return refused
}

// methods returns the methods that are permitted at the request's path. takesRuns means that the
// path is that of the agent, where a run is a POST. If no method is permitted, the list is empty,
// and the response has an empty Allow header (RFC 9110, 10.2.1).
func (t *Intake) methods(req *http.Request, takesRuns bool) (list []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if takesRuns && method == http.MethodPost || t.guard != nil && t.guard.Refusal(lineOf(req, method)) == "" {
			list = append(list, method)
		}
	}
	return list
}

// guardReason returns why the dialect's Guard refuses a request. It returns "" if the Guard accepts
// it, or if there is no Guard. With a Guard it also refuses a header that names another method, a
// WebSocket, and a GET or HEAD request with a body: the backend could then do something that the
// Guard has not checked.
func (t *Intake) guardReason(req *http.Request, run bool) string {
	switch {
	case t.guard == nil:
		return ""
	case run:
		l := lineOf(req, req.Method)
		l.Run = true
		return t.guard.Refusal(l)
	case cors.IsPreflight(req) && !HasBody(req):
		return ""
	case namesMethod(req.Header):
		return textOtherMethod
	case isWebSocket(req):
		return textWebSocket
	case (req.Method == http.MethodGet || req.Method == http.MethodHead) && HasBody(req):
		return textReadWithBody
	}
	return t.guard.Refusal(lineOf(req, req.Method))
}

func lineOf(req *http.Request, method string) translate.RequestLine {
	return translate.RequestLine{Method: method, Path: req.URL.EscapedPath(), Query: req.URL.RawQuery}
}

// namesMethod reports whether a request has a header from which some frameworks take the method,
// instead of the method of the request.
func namesMethod(header http.Header) bool {
	for _, name := range []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		if len(header[name]) > 0 {
			return true
		}
	}
	return false
}
