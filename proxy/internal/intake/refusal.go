package intake

import (
	"log/slog"
	"net/http"
)

// A Refusal is the response to a request that is neither a run nor passed to the backend. It is an
// error, so that a function which reads a body can return it.
type Refusal struct {
	Status     int
	Reason     string   // for the developer of the client
	Allow      []string // the permitted methods, for status 405
	RetryAfter int      // seconds, 0 for none
	Challenge  string   // value of WWW-Authenticate, "" for none
	Close      bool     // the connection is closed after the response
	Line       Line
}

// A Line is a line of the log.
type Line struct {
	Level   slog.Level
	Message string // "" if nothing is logged
	Args    []any
}

func (r *Refusal) Error() string { return r.Reason }

// refuse returns the Refusal of a request that is refused because of its body.
func refuse(status int, reason string) *Refusal {
	return &Refusal{Status: status, Reason: reason, Line: Line{Message: lineRefused, Args: []any{"status", status, "reason", reason}}}
}

// TurnAway returns the Refusal of a request that is refused before its body is read. Its log line
// has the address of the peer.
func TurnAway(req *http.Request, level slog.Level, status int, reason string) *Refusal {
	r := refuse(status, reason)
	r.Line.Level, r.Line.Args = level, append(r.Line.Args, "peer", req.RemoteAddr)
	return r
}

// unsupportedBody returns the Refusal, with status 415, of a body whose form is not accepted.
func unsupportedBody(reason string) *Refusal { return refuse(http.StatusUnsupportedMediaType, reason) }
