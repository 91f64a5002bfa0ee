package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/policy"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// approvalIDPattern matches an approval's id: <record key>.<pause id>.
var approvalIDPattern = regexp.MustCompile(`^([0-9a-f]{64})\.([0-9a-f]{32})$`)

// pauseOfPath returns the record key and the pause id in the path. If the path does not have them,
// it responds to the request with an error and returns false.
func pauseOfPath(w http.ResponseWriter, req *http.Request) (key store.Key, pauseID string, ok bool) {
	parts := approvalIDPattern.FindStringSubmatch(req.PathValue("id"))
	if parts == nil {
		refuseNoApproval(w)
		return "", "", false
	}
	return store.Key(parts[1]), parts[2], true
}

func refuseNoApproval(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, codeNoApproval, textNoApproval)
}

// serveApproval serves GET /v1/approvals/{id}.
func (d *Desk) serveApproval(w http.ResponseWriter, req *http.Request) {
	key, pauseID, ok := pauseOfPath(w, req)
	if !ok {
		return
	}
	rec, err := d.load(req.Context(), key)
	switch {
	case req.Context().Err() != nil:
		return
	case err != nil:
		d.refuseStore(w, err)
		return
	}
	if a := d.visiblePause(req.Context(), key, &rec, pauseID); a != nil {
		if !a.Withheld {
			d.addEarlierDecisions(req.Context(), rec.PauseByID(pauseID), a)
		}
		d.addConversation(req.Context(), key, &rec, a)
		respond(w, http.StatusOK, a)
		return
	}
	refuseNoApproval(w)
}

// maxFreeTries is how often serveFree reads a pause again. This is needed if the pause was claimed
// just before it should be freed, and then is in doubt or open again.
const maxFreeTries = 3

// serveFree serves DELETE /v1/approvals/{id}: it ends the pause without sending anything to the
// backend. If the caller leaves, it continues, so that each freed thread is also written to the
// audit log.
func (d *Desk) serveFree(w http.ResponseWriter, req *http.Request) {
	key, pauseID, ok := pauseOfPath(w, req)
	if !ok {
		return
	}
	ctx := context.WithoutCancel(req.Context())
	who := callerIn(ctx)
	rec, err := d.load(ctx, key)
	if err == nil && rec.PauseByID(pauseID) != nil && !d.mayDo(w, who, &rec, policy.Operate) {
		return
	}
	for tries := 1; err == nil && canBeFreed(&rec, pauseID); tries++ {
		var closed bool
		if closed, err = d.freePause(ctx, key, rec.Pause, rec.State, who); err != nil {
			break
		}
		if rec, err = d.load(ctx, key); err != nil || !closed && tries < maxFreeTries {
			continue
		}
		if a := d.visiblePause(ctx, key, &rec, pauseID); closed && a != nil {
			respond(w, http.StatusOK, a)
			// fails if the caller has left or does not wait
			_ = http.NewResponseController(w).Flush()
			d.rememberDecisions(ctx, key, rec.PauseByID(pauseID), nil)
			return
		}
		break
	}
	switch {
	case errors.Is(err, errNotWritten):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, codeAudit, textNotFreed)
	case err != nil:
		d.refuseStore(w, err)
	default:
		d.refuseFree(ctx, w, key, &rec, pauseID)
	}
}

func canBeFreed(rec *store.Record, pauseID string) bool {
	return rec.Pause != nil && rec.Pause.ID == pauseID && rec.State != store.Claimed
}

// freePause ends the pause, and records who ended it. It returns false if the state of the pause
// has changed meanwhile.
func (d *Desk) freePause(ctx context.Context, key store.Key, p *agui.Pause, state store.State, by *Caller) (bool, error) {
	kind, how := event.Withdrawn, store.Withdrawn
	if state == store.InDoubt {
		kind, how = event.InDoubt, store.Doubtful // the answer may have been carried out
	}
	e := d.freeEvent(by, key, p, kind)
	if err := d.announce(e); err != nil {
		d.log.Error(logNotFreed, "pause", p.ID, "by", by.Name, "err", err)
		return false, errNotWritten
	}
	closed, err := d.closePause(ctx, key, store.Close{
		PauseID: p.ID, Notices: d.noticesOf(e),
		Result: store.Result{EndKind: how, SeenMessages: p.SeenMessages, Door: string(event.Desk), By: by.Name},
	})
	if closed {
		d.recordFreed(key, e)
	}
	return closed, err
}

var errNotWritten = errors.New("desk: the audit cannot be written")

// refuseFree responds with the reason why the pause cannot be freed.
func (d *Desk) refuseFree(ctx context.Context, w http.ResponseWriter, key store.Key, rec *store.Record, pauseID string) {
	a := d.visiblePause(ctx, key, rec, pauseID)
	switch {
	case a == nil:
		refuseNoApproval(w)
	case a.State == stateEnded:
		refuseWith(w, http.StatusConflict, codeEnded, textEnded, a)
	default:
		refuseWith(w, http.StatusConflict, codeInProgress, textCarriedStill, a)
	}
}

// closePause ends the pause in the store. It returns false if another request has ended it before.
// If the store's reply to the step was lost, it repeats the step.
func (d *Desk) closePause(ctx context.Context, key store.Key, end store.Close) (bool, error) {
	var err error
	for try := range 2 {
		step, cancel := context.WithTimeout(ctx, loadTimeout)
		_, err = d.opts.Store.Do(step, key, end)
		cancel()
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, store.ErrExists), errors.Is(err, store.ErrNotFound) && try == 0:
			return false, nil
		case errors.Is(err, store.ErrNotFound):
			return d.isClosed(ctx, key, end.PauseID, end.Result)
		}
	}
	return false, err
}

// isClosed reports whether a step of closePause has already ended the pause although the reply to
// it was lost.
func (d *Desk) isClosed(ctx context.Context, key store.Key, pauseID string, by store.Result) (bool, error) {
	rec, err := d.load(ctx, key)
	if err != nil {
		return false, err
	}
	for _, r := range rec.Results {
		if r.PauseID == pauseID {
			return r.Door == by.Door && r.By == by.By, nil
		}
	}
	return false, nil
}

// freeEvent returns the event which says that the caller frees the thread.
func (d *Desk) freeEvent(by *Caller, key store.Key, p *agui.Pause, kind event.Kind) *event.Event {
	thread, run := threadOf(p)
	e := &event.Event{
		Kind: kind, Time: d.opts.Now(), Thread: thread, Run: agui.Shorten(run),
		Pause: p.ID, Approval: idOf(key, p.ID), Dialect: p.Dialect, Door: event.Desk, Principal: by.Name,
	}
	if p.Origin != nil {
		e.Agent, e.Tenant = p.Origin.Agent, p.Origin.Tenant
	}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		q := event.Interrupt{ID: i.ID, Reason: i.Reason(), Tools: tools(i)}
		if p.Origin != nil {
			q.QuestionDigest = p.Origin.AskedDigest(i)
		}
		e.Interrupts = append(e.Interrupts, q)
	}
	return e
}

// announce sends the event to Events before the thread is freed, if EventsRequired is set.
func (d *Desk) announce(e *event.Event) error {
	if !d.opts.EventsRequired || d.opts.Events == nil {
		return nil
	}
	about := *e
	about.Kind = event.Freeing
	return d.opts.Events.Take(&about)
}

// noticesOf returns the webhook's notices of the event, or nil without a webhook.
func (d *Desk) noticesOf(e *event.Event) []store.Notice {
	if d.opts.Notices == nil {
		return nil
	}
	n, ok := d.opts.Notices(e)
	if !ok {
		return nil
	}
	return []store.Notice{n}
}

// recordFreed logs that the thread was freed, and sends the event to Events.
func (d *Desk) recordFreed(key store.Key, e *event.Event) {
	d.log.Info("thread freed by hand", "by", e.Principal, "agent", e.Agent, "thread", agui.Shorten(e.Thread), "pause", e.Pause, "event", string(e.Kind))
	if d.opts.OnNotices != nil {
		d.opts.OnNotices(key)
	}
	if d.opts.Events == nil {
		return
	}
	if err := d.opts.Events.Take(e); err != nil {
		d.log.Error(logFreedUnaudited, "pause", e.Pause, "by", e.Principal, "err", err)
	}
}
