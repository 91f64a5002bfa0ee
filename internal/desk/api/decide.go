package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/policy"
	"holdpoint/internal/event"
	"holdpoint/internal/event/door"
	"holdpoint/store"
)

// An Agent accepts decisions on its questions, and reports why it could not send them to the
// backend without the chat. proxy.Handler implements it.
type Agent interface {
	Decide(ctx context.Context, key store.Key, pauseID string, who door.Decider, words []door.Decision) (store.Record, error)
	ChatOnlyReasons(p *agui.Pause) []agui.ChatOnlyReason
}

// Limits of one request with decisions, in bytes.
const (
	maxBody    = 1 << 20
	maxComment = 4 << 10
	maxReason  = 4 << 10
)

// The values of the member decision that a caller can send.
const (
	decisionApprove = "approve"
	decisionDeny    = "deny"
	decisionCancel  = "cancel"
	decisionSay     = "answer"
)

// A decisionRequest is a caller's decision on one question, as the request has it.
type decisionRequest struct {
	Question string          `json:"question"`
	Decision string          `json:"decision"`
	Payload  json.RawMessage `json:"payload"`
	Comment  string          `json:"comment"`
	Reason   string          `json:"reason"`
	Digest   string          `json:"digest"`
}

// decideOne serves POST /v1/approvals/{id}/questions/{question}.
func (d *Desk) decideOne(w http.ResponseWriter, req *http.Request) {
	var one decisionRequest
	if !d.read(w, req, &one) {
		return
	}
	name := req.PathValue("question")
	if one.Question != "" && one.Question != name {
		refuse(w, http.StatusBadRequest, codeParameter, textOtherQuestion)
		return
	}
	one.Question = name
	d.decide(w, req, []decisionRequest{one})
}

// decideAll serves POST /v1/approvals/{id}.
func (d *Desk) decideAll(w http.ResponseWriter, req *http.Request) {
	var all struct {
		Decisions []decisionRequest `json:"decisions"`
	}
	if !d.read(w, req, &all) {
		return
	}
	if len(all.Decisions) == 0 {
		refuse(w, http.StatusBadRequest, codeParameter, textNoDecisions)
		return
	}
	d.decide(w, req, all.Decisions)
}

// read parses the JSON body of a request into the parameter into. If it cannot, it responds to the
// request with an error and returns false.
func (d *Desk) read(w http.ResponseWriter, req *http.Request, into any) bool {
	if media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || media != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, codeMediaType, textWantJSON)
		return false
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, codeParameter, fmt.Sprintf(textBodyTooLarge, maxBody))
		return false
	} else if err != nil {
		return false // the caller has closed the connection
	}
	if !utf8.Valid(text) { // a backend could not read such a payload
		refuse(w, http.StatusBadRequest, codeParameter, textBodyNotUTF8)
		return false
	}
	// A repeated key, in any letter case, could be read in two ways. An unknown key could have a
	// meaning that the desk would ignore.
	isRead := agui.ValidJSON(text)
	if isRead {
		if err := agui.CheckKeys(text, agui.KeysOfAnswer); err != nil {
			refuse(w, http.StatusBadRequest, codeParameter, fmt.Sprintf(textBodyKeyTwice, err))
			return false
		}
		if why := misspelledKey(gjson.ParseBytes(text), bodyKeys); why != "" {
			refuse(w, http.StatusBadRequest, codeParameter, why)
			return false
		}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err = dec.Decode(into); err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New(textBodyMore)
		} else if !isRead { // encoding/json reads deeper nesting, and the keys above were not checked
			err = fmt.Errorf(textBodyTooDeep, agui.MaxDepth)
		}
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, codeParameter, fmt.Sprintf(textBodyUnread, err))
		return false
	}
	return true
}

// The keys that a body may have, and those of a decision in it.
var (
	decisionKeys = []string{"question", "decision", "payload", "comment", "reason", "digest"}
	bodyKeys     = append([]string{"decisions"}, decisionKeys...)
)

// misspelledKey returns the reason why a body is refused, or "" if its keys are spelled right. Go
// would read a key in any letter case, but a program between the caller and the desk may not.
func misspelledKey(object gjson.Result, keys []string) (why string) {
	object.ForEach(func(key, value gjson.Result) bool {
		at := slices.IndexFunc(keys, func(name string) bool { return agui.SameKey(name, key.Str) })
		switch {
		case at >= 0 && key.Raw != strconv.Quote(keys[at]):
			why = fmt.Sprintf(textSpelling, agui.Shorten(key.Str), keys[at])
		case key.Str == "decisions" && value.IsArray():
			value.ForEach(func(_, one gjson.Result) bool {
				why = misspelledKey(one, decisionKeys)
				return why == ""
			})
		}
		return why == ""
	})
	return why
}

// decide records the decisions on an approval's questions, either all of them or none. If the
// caller leaves, it continues, so that a recorded decision is also written to the audit log.
func (d *Desk) decide(w http.ResponseWriter, req *http.Request, requests []decisionRequest) {
	key, pauseID, ok := pauseOfPath(w, req)
	if !ok {
		return
	}
	ctx := context.WithoutCancel(req.Context())
	rec, err := d.load(ctx, key)
	if err != nil {
		d.refuseStore(w, err)
		return
	}
	p := rec.PauseByID(pauseID)
	if p == nil {
		refuseNoApproval(w)
		return
	}
	caller := callerIn(ctx)
	if !d.mayDo(w, caller, &rec, policy.Decide) {
		return
	}
	words := make([]door.Decision, len(requests))
	for n := range requests {
		one, refused := decisionOf(p, &requests[n])
		if refused != nil {
			refuse(w, refused.Status, refused.Code, refused.Detail)
			return
		}
		if slices.ContainsFunc(words[:n], func(o door.Decision) bool { return o.Question == one.Question }) {
			refuse(w, http.StatusBadRequest, codeParameter, textQuestionTwice)
			return
		}
		words[n] = one
	}
	agent, _ := d.agentOf(p)
	if agent == nil {
		refuse(w, http.StatusConflict, codeElsewhere, textElsewhere)
		return
	}
	rec, err = agent.Decide(ctx, key, pauseID, door.Decider{Door: event.Desk, Name: caller.Name}, words)
	var refused *agui.RunError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		refuse(w, http.StatusUnprocessableEntity, string(refused.Code), refused.Message)
		return
	case errors.Is(err, store.ErrNotFound):
		refuseNoApproval(w)
		return
	case errors.Is(err, store.ErrConflict):
		d.refuseOtherDecision(ctx, w, key, pauseID)
		return
	case errors.Is(err, door.ErrNotWritten):
		refuse(w, http.StatusServiceUnavailable, string(agui.AuditUnavailable), textNotWritten)
		return
	default:
		d.refuseStore(w, err)
		return
	}
	d.log.Info("decided", "by", caller.Name, "agent", p.Origin.Agent, "thread", agui.Shorten(p.Origin.Thread), "pause", pauseID, "questions", len(words))
	if rec.Pause != nil && rec.Pause.ID == pauseID && rec.Pause.Decided() && d.opts.OnDecided != nil {
		d.opts.OnDecided(key)
	}
	a := d.visiblePause(ctx, key, &rec, pauseID)
	if a == nil {
		refuseNoApproval(w)
		return
	}
	respond(w, http.StatusOK, a)
	_ = http.NewResponseController(w).Flush() // fails if the caller has left or does not wait
	d.rememberDecisions(ctx, key, rec.PauseByID(pauseID), questionsOf(words))
}

func questionsOf(words []door.Decision) []string {
	ids := make([]string, len(words))
	for n, w := range words {
		ids[n] = w.Question
	}
	return ids
}

// mayDo reports whether the caller has the right for a change and has not made too many changes. If
// not, it responds to the request with an error.
func (d *Desk) mayDo(w http.ResponseWriter, who *Caller, rec *store.Record, right policy.Rights) bool {
	if !who.rights(scopeOf(rec)).Has(right) {
		refuse(w, http.StatusForbidden, codeForbidden, fmt.Sprintf(textMayNotDo, strings.Join((right&^(policy.List|policy.Read)).Names(), " or ")))
		return false
	}
	return d.mayChange(w, who)
}

// mayRead reports whether the caller may read the question. If not, it responds to the request with
// an error.
func mayRead(w http.ResponseWriter, who *Caller, rec *store.Record) bool {
	if who.rights(scopeOf(rec)).Has(policy.Read) {
		return true
	}
	refuse(w, http.StatusForbidden, codeForbidden, textMayNotRead)
	return false
}

// agentOf returns the Agent that judges decisions on a pause, or nil if there is none. served
// reports whether this process serves the agent.
func (d *Desk) agentOf(p *agui.Pause) (agent Agent, served bool) {
	if p.Origin == nil {
		return nil, false
	}
	if agent = d.opts.Agents[p.Origin.Agent]; agent != nil {
		return agent, true
	}
	if d.opts.OtherAgents != nil {
		agent = d.opts.OtherAgents(p.Origin.Agent, p.Dialect)
	}
	return agent, false
}

func (d *Desk) canDecide(p *agui.Pause) bool {
	agent, _ := d.agentOf(p)
	return agent != nil
}

// refuseOtherDecision responds that another decision is already recorded, with that decision and
// the name of the person who made it.
func (d *Desk) refuseOtherDecision(ctx context.Context, w http.ResponseWriter, key store.Key, pauseID string) {
	rec, err := d.load(ctx, key)
	if err != nil {
		d.refuseStore(w, err)
		return
	}
	a := d.visiblePause(ctx, key, &rec, pauseID)
	switch {
	case a == nil:
		refuseNoApproval(w)
	case a.State == stateEnded:
		refuseWith(w, http.StatusConflict, codeEnded, textEnded, a)
	case a.State == stateWaiting || a.State == stateDecided:
		refuseWith(w, http.StatusConflict, codeDecided, textDecided, a)
	default:
		refuseWith(w, http.StatusConflict, codeInProgress, textCarried, a)
	}
}

// decisionOf converts a caller's decision on a question of the pause p. If the decision is not
// valid, it returns the problem with which the request is refused.
func decisionOf(p *agui.Pause, request *decisionRequest) (w door.Decision, refusal *problem) {
	no := func(status int, code, detail string) (door.Decision, *problem) {
		return door.Decision{}, &problem{Status: status, Code: code, Detail: detail}
	}
	i := p.Interrupt(request.Question)
	if i == nil {
		return no(http.StatusNotFound, codeNoQuestion, textNoQuestion)
	}
	switch {
	case request.Digest == "":
		return no(http.StatusPreconditionRequired, codeNoDigest, textWantDigest)
	case p.Origin == nil || request.Digest != p.Origin.AskedDigest(i):
		return no(http.StatusPreconditionFailed, codeDigest, textOtherDigest)
	case request.Reason != "" && request.Decision != decisionDeny:
		return no(http.StatusBadRequest, codeParameter, textReasonOfDeny)
	case len(request.Reason) > maxReason:
		return no(http.StatusBadRequest, codeParameter, fmt.Sprintf(textReasonTooLong, maxReason))
	case len(request.Comment) > maxComment:
		return no(http.StatusBadRequest, codeParameter, fmt.Sprintf(textCommentTooLong, maxComment))
	}
	hasPayload := len(request.Payload) > 0 && string(request.Payload) != "null"
	w = door.Decision{Question: i.ID, Status: agui.Resolved, Comment: request.Comment}
	switch request.Decision {
	case decisionApprove, decisionDeny:
		known := i.Yes
		if request.Decision == decisionDeny {
			known = i.No
		}
		switch {
		case known == nil:
			return no(http.StatusUnprocessableEntity, codeNotKnown, fmt.Sprintf(textNotKnown, request.Decision))
		case hasPayload:
			return no(http.StatusBadRequest, codeParameter, fmt.Sprintf(textOwnPayload, request.Decision))
		}
		w.Payload = known
		if request.Reason != "" && request.Decision == decisionDeny {
			if i.ReasonMember == "" {
				return no(http.StatusUnprocessableEntity, codeNoPlace, textNoPlace)
			}
			w.Payload = agui.SetString(slices.Clone(known), i.ReasonMember, request.Reason)
		}
	case decisionCancel:
		if hasPayload {
			return no(http.StatusBadRequest, codeParameter, textCancelPayload)
		}
		w.Status = agui.Cancelled
	case decisionSay:
		if hasPayload {
			w.Payload = request.Payload
		}
	default:
		return no(http.StatusBadRequest, codeParameter, textWantDecision)
	}
	return w, nil
}
