package intake

import (
	"log/slog"
	"net/http"
)

// A Refusal says how a request is answered that is neither a run nor passed to the backend. It is
// an error, so that the reader of a body can return it.
type Refusal struct {
	Status     int
	Reason     string   // for the developer of the client
	Allow      []string // the permitted methods, for status 405
	RetryAfter int      // seconds, 0 for none
	Challenge  string   // WWW-Authenticate, "" for none
	Close      bool     // the connection ends after the answer
	Line       Line
}

// A Line is a line of the log.
type Line struct {
	Level   slog.Level
	Message string // "" for no line
	Args    []any
}

func (r *Refusal) Error() string { return r.Reason }

// refusedRequest is the message of log lines about refused requests.
const refusedRequest = "request refused"

// refuse returns the Refusal of a request because of its body.
func refuse(status int, reason string) *Refusal {
	return &Refusal{Status: status, Reason: reason, Line: Line{Message: refusedRequest, Args: []any{"status", status, "reason", reason}}}
}

// TurnAway returns the Refusal of a request because of something before its body. Its log line
// names the peer.
func TurnAway(req *http.Request, level slog.Level, status int, reason string) *Refusal {
	r := refuse(status, reason)
	r.Line.Level, r.Line.Args = level, append(r.Line.Args, "peer", req.RemoteAddr)
	return r
}

// unsupportedBody returns the Refusal of a body in a form that is not accepted.
func unsupportedBody(reason string) *Refusal { return refuse(http.StatusUnsupportedMediaType, reason) }
