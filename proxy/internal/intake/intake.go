// Package intake classifies each request of a client: it is a run, or it is passed to the backend
// unchanged, or it is refused because a backend could read it differently than Holdpoint does. Its
// input is the request, the limits of its body, and what the dialect knows about requests that its
// backends accept as a run or an answer. It neither writes responses nor logs, and has no knowledge
// of records: a Refusal says how its request is answered.
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
	Dialect translate.Dialect // its optional interfaces Foreign, Guard, Taker and HistoryReader are used
	// Spoken returns the dialect last seen on a path of records, "" if none was seen. Agent reports
	// whether only runs are at a path of records; it is not used if the dialect is Foreign.
	Spoken func(route string) string
	Agent  func(route string) bool

	Room            *BodyRoom // memory for the bodies that are being read
	MaxRequestBytes int64     // largest body
	Shares          bool      // the memory of each client address is limited to its share
	Underscores     Underscores
}

// An Intake reads requests. It may be used by several goroutines at once.
type Intake struct {
	Room *BodyRoom // may be shared by several agents

	name    string // of the dialect
	foreign translate.Foreign
	guard   translate.Guard
	taker   translate.Taker
	history translate.HistoryReader
	spoken  func(route string) string
	agents  func(route string) bool

	limit       int64
	shares      bool
	underscores Underscores
}

// New makes an Intake.
func New(o Options) *Intake {
	t := &Intake{
		Room: o.Room, name: o.Dialect.Name(), spoken: o.Spoken, agents: o.Agent,
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
	Route string         // the path in the keys of its records, see Intake.Route
	Input *agui.RunInput // its body
}

// Route returns the path that is used in the keys of records. ok is false for a path where no run
// can be, because the backend does not speak AG-UI and its agent is elsewhere.
func (t *Intake) Route(path string) (route string, ok bool) {
	route = RecordPath(path)
	if t.foreign == nil {
		return route, true
	}
	return t.foreign.Route(route)
}

// Read classifies a request that Path has not refused. It returns the run, or nil if the request is
// to be passed on unchanged, or the refusal. A body that is passed on is complete in req.Body.
// control sets the deadline for reading.
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
	posted := strings.EqualFold(req.Method, http.MethodPost) // some backends (werkzeug) accept "post" as POST
	switch {
	case isRun && err == nil && !posted, err == nil && t.foreign != nil && !posted && !asksOnly(req):
		refused = refuse(http.StatusMethodNotAllowed, textPostOnly)
		refused.Allow = t.methods(req, true)
		refused.Line.Args = []any{"status", refused.Status, "method", req.Method}
	case errors.As(err, &refused):
	case err != nil:
		refused = refuse(http.StatusBadRequest, textBodyUnread)
		refused.Line = Line{slog.LevelDebug, "request body not read", []any{"err", err}}
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

// asksOnly reports whether a request cannot send anything to a backend: it has no body, and its
// method changes nothing.
func asksOnly(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return !HasBody(req)
	}
	return false
}
