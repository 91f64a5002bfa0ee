package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/cors"
	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/stream"
)

// A refuser sends the responses to requests that are neither a run nor passed to the backend.
type refuser struct {
	log  *slog.Logger
	cors *cors.Policy // the pages that may read the responses
}

// answerPreflight answers a preflight from the operator's list of origins. The backend does not get
// the preflight.
func (f refuser) answerPreflight(w http.ResponseWriter, req *http.Request) {
	stream.ClearDeadline(w)
	f.cors.Allow(w.Header(), req)
	w.WriteHeader(http.StatusNoContent)
}

// refuse logs a refusal and sends it as the response. req is nil if the response needs no CORS
// headers.
func (f refuser) refuse(w http.ResponseWriter, req *http.Request, why *intake.Refusal) {
	if line := why.Line; line.Message != "" {
		ctx := context.Background()
		if req != nil {
			ctx = req.Context()
		}
		f.log.Log(ctx, line.Level, line.Message, line.Args...)
	}
	header := w.Header()
	if why.Status == http.StatusMethodNotAllowed {
		header.Set("Allow", strings.Join(why.Allow, ", "))
	}
	if why.RetryAfter != 0 {
		header.Set("Retry-After", strconv.Itoa(why.RetryAfter))
	}
	if why.Challenge != "" {
		header.Set("WWW-Authenticate", why.Challenge)
	}
	if why.Close {
		header.Set("Connection", "close")
	}
	stream.ClearDeadline(w)
	f.cors.Allow(header, req)
	body := agui.MustMarshal(map[string]string{"error": why.Reason})
	header.Set("Content-Type", "application/json")
	w.WriteHeader(why.Status)
	w.Write(append(body, '\n'))
}
