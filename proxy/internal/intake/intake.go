// Package intake classifies each request of a client. The request is a run, or it is passed to the
// backend unchanged, or it is refused because a backend could read it differently than Holdpoint.
// The input of the package is the request, the limits of its body, and the dialect's knowledge of
// the requests that its backends accept as a run or an answer. The package writes no responses and
// no log lines, and does not know the records. Instead, a Refusal says what to respond.
package intake

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Options configure an Intake.
type Options struct {
	// its optional interfaces Foreign, Guard, Taker and HistoryReader are used
	Dialect translate.Dialect
	// Both functions get a path as Intake.Route returns it. Spoken returns the dialect last seen on
	// the path, "" if none was seen. Agent reports whether the path accepts only runs. It is not
	// used if the dialect implements Foreign.
	DialectAt func(route string) string
	Agent     func(route string) bool

	Room            *BodyRoom // memory for the bodies that are being read
	MaxRequestBytes int64     // largest body
	Shares          bool      // limits the memory of each client address to its share
	Underscores     Underscores
}

// An Intake reads requests. It may be used by several goroutines at once.
type Intake struct {
	Room *BodyRoom // may be shared by several agents

	name      string // the dialect's name
	foreign   translate.Foreign
	guard     translate.Guard
	taker     translate.Taker
	history   translate.HistoryReader
	dialectAt func(route string) string
	agents    func(route string) bool

	limit       int64
	shares      bool
	underscores Underscores
}

// New makes an Intake.
func New(o Options) *Intake {
	t := &Intake{
		Room: o.Room, name: o.Dialect.Name(), dialectAt: o.DialectAt, agents: o.Agent,
		limit: o.MaxRequestBytes, shares: o.Shares, underscores: o.Underscores,
	}
	t.foreign, _ = o.Dialect.(translate.Foreign)
	t.guard, _ = o.Dialect.(translate.Guard)
	t.taker, _ = o.Dialect.(translate.Taker)
	t.history, _ = o.Dialect.(translate.HistoryReader)
	return t
}

// A Run is the content of a request that is a run.
type Run struct {
	Route string         // the path in the keys of the thread's records, see Intake.Route
	Input *agui.RunInput // the body of the request
}

// Route returns the form of the path that is used in the keys of records. ok is false if there can
// be no run at the path: the dialect implements Foreign, and its agent is at another path.
func (t *Intake) Route(path string) (route string, ok bool) {
	route = RecordPath(path)
	if t.foreign == nil {
		return route, true
	}
	return t.foreign.Route(route)
}

// Read classifies a request that the function Path has not refused. It returns the run, or the
// refusal, or nil for both if the request is to be passed on unchanged. Then req.Body contains the
// whole body. control sets the deadline for reading.
func (t *Intake) Read(control *http.ResponseController, req *http.Request) (*Run, *Refusal) {
	route, ok := t.Route(req.URL.Path)
	if !ok {
		return nil, t.guardRequest(req, false)
	}
	in, isRun, err := t.readRun(control, req)
	if !isRun && err == nil && t.guard != nil && t.guardReason(req, false) == "" {
		return nil, nil
	}
	refused := (*Refusal)(nil)
	// some backends (werkzeug) read the method "post" as POST
	posted := strings.EqualFold(req.Method, http.MethodPost)
	switch {
	case isRun && err == nil && !posted, err == nil && t.foreign != nil && !posted && !asksOnly(req):
		refused = refuse(http.StatusMethodNotAllowed, textPostOnly)
		refused.Allow = t.methods(req, true)
		refused.Line.Args = []any{"status", refused.Status, "method", req.Method}
	case errors.As(err, &refused):
	case err != nil:
		refused = refuse(http.StatusBadRequest, textBodyUnread)
		refused.Line = Line{slog.LevelDebug, lineBodyUnread, []any{"err", err}}
	case !isRun && t.foreign != nil && posted:
		refused = refuse(http.StatusBadRequest, fmt.Sprintf(textOnlyRuns, t.name))
		refused.Line.Args = []any{"status", refused.Status, "reason", "no RunAgentInput"}
	case !isRun:
		refused = t.guardRequest(req, true)
	default:
		if why := t.guardReason(req, true); why != "" {
			refused = TurnAway(req, slog.LevelInfo, http.StatusBadRequest, why)
			break
		}
		return &Run{Route: route, Input: &in}, nil
	}
	return nil, refused
}

// asksOnly reports whether a request only reads: it has no body, and its method changes nothing.
func asksOnly(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return !HasBody(req)
	}
	return false
}
