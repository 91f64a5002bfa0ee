// Package intake says of each request of a client what it is: a run, a request that passes
// untouched, or one that is refused, because a backend could read it in another way than Holdpoint
// does. It gets the request, the bounds of its body, and from the dialect what else its backends
// take for a run or an answer. It does not write answers, does not log, and does not know records:
// a Refusal says how its request is answered.
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
	Dialect translate.Dialect // what else it can do (Foreign, Guard, Taker, HistoryReader) counts
	// Spoken returns the dialect that a path of records was seen to speak, "" if nobody knows. Agent
	// reports whether runs are at a path of records and nothing else, unless the dialect is Foreign.
	Spoken func(route string) string
	Agent  func(route string) bool

	Room            *BodyRoom // for the bodies that are being read
	MaxRequestBytes int64     // of one body
	Shares          bool      // one address may have a share of the room
	Underscores     Underscores
}

// An Intake reads requests. It may be used by several goroutines at once.
type Intake struct {
	Room *BodyRoom // several agents may have one

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

// A Run is what a request brings that is a run.
type Run struct {
	Route string         // the path of its records, see Intake.Route
	Input *agui.RunInput // its body
}

// Route returns the path by which the records of an address's path are kept. ok is false where no
// run can be: at a backend that does not speak AG-UI, where its agent is not.
func (t *Intake) Route(path string) (route string, ok bool) {
	route = RecordPath(path)
	if t.foreign == nil {
		return route, true
	}
	return t.foreign.Route(route)
}

// Read reads a request, whose Path is not refused, as far as it takes to know what it is. It
// returns the run that it is, or nil if it passes untouched, or why it is refused. A body that
// passes is whole in req.Body. control is for the deadline of reading.
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
	posted := strings.EqualFold(req.Method, http.MethodPost) // post is a POST to some backends (werkzeug's)
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

// asksOnly reports whether a request cannot bring anything to a backend: it has no body, and its
// method changes nothing.
func asksOnly(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return !HasBody(req)
	}
	return false
}
