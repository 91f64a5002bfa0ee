package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/policy"
	"holdpoint/store"
)

// Limits of one request for a list.
const (
	defaultLimit  = 50
	maxLimit      = 200
	maxExamined   = 2000 // largest number of records that are examined for one response
	maxSearchTime = 20 * time.Second
	// largest size of the questions in one response; a single approval may exceed it
	maxPageBytes    = 2 << 20
	maxAgentPart    = 16 // with perAgent, the questions of one agent get maxPageBytes / maxAgentPart
	concurrentLoads = 8  // number of records that are loaded at the same time
	loadTimeout     = 10 * time.Second
)

// A listing is the response to a request for a list.
type listing struct {
	Approvals []*approval `json:"approvals"`
	// Next is the cursor of the next page, or "" on the last page. A page before the last one may
	// have fewer entries than the limit, or no entries.
	Next string `json:"next,omitempty"`
	// LimitedAgents has the names of the agents some of whose approvals were left out because of
	// perAgent.
	LimitedAgents []string `json:"left,omitempty"`
	// UnreadRecords is the number of records in this part of the list that could not be read. It is
	// unknown if they have open questions.
	UnreadRecords int `json:"unread,omitempty"`
}

// A filter selects the approvals of a list. An empty field selects all approvals.
type filter struct {
	state, agent, tool, requester, thread string
	perAgent                              int // maximum number of approvals of one agent, 0 for no limit
}

// selects reports whether the filter selects a pause. It is called before an approval is made from
// the pause.
func (f *filter) selects(p *agui.Pause, state string) bool {
	o := p.Origin
	if o == nil {
		o = &agui.Origin{}
	}
	thread, _ := threadOf(p)
	return state == f.state &&
		(f.agent == "" || o.Agent == f.agent) &&
		(f.thread == "" || thread == f.thread) &&
		(f.requester == "" || o.Requester == f.requester || o.RequesterHash == f.requester) &&
		(f.tool == "" || slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
			return slices.ContainsFunc(i.Calls, func(c agui.AskedCall) bool { return c.Name == f.tool })
		}))
}

// query parses the query parameters of a request for a list. It calls read to parse a cursor.
func query(values url.Values, read func(string) (cursor, error)) (f filter, c cursor, limit int, refusal *problem) {
	wrong := func(code, detail string) (filter, cursor, int, *problem) {
		return filter{}, cursor{}, 0, &problem{Status: http.StatusBadRequest, Code: code, Detail: detail}
	}
	f.state, limit = stateWaiting, defaultLimit
	for name, list := range values {
		if len(list) > 1 {
			return wrong(codeParameter, fmt.Sprintf(textTwiceInQuery, cutText(name)))
		}
		value := list[0]
		var err error
		switch name {
		case "state":
			switch value {
			case stateWaiting, stateDecided, stateCarrying, stateInDoubt, stateEnded:
				f.state = value
			default:
				return wrong(codeParameter, textWantState)
			}
		case "agent":
			f.agent = value
		case "tool":
			f.tool = value
		case "requester":
			f.requester = value
		case "thread":
			f.thread = value
		case "cursor":
			if c, err = read(value); err != nil {
				return wrong(codeParameter, textWantCursor)
			}
		case "limit":
			if limit, err = strconv.Atoi(value); err != nil || limit < 1 || limit > maxLimit {
				return wrong(codeParameter, fmt.Sprintf(textWantLimit, maxLimit))
			}
		case "perAgent":
			if f.perAgent, err = strconv.Atoi(value); err != nil || f.perAgent < 1 || f.perAgent > maxLimit {
				return wrong(codeParameter, fmt.Sprintf(textWantPerAgent, maxLimit))
			}
		default:
			return wrong(codeParameter, fmt.Sprintf(textNoParameter, cutText(name)))
		}
	}
	return f, c, limit, nil
}

func cutText(s string) string { return s[:min(len(s), 64)] }

// serveList serves GET /v1/approvals.
func (d *Desk) serveList(w http.ResponseWriter, req *http.Request) {
	values, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, codeParameter, textQueryUnread)
		return
	}
	caller := callerIn(req.Context())
	f, c, limit, refused := query(values, func(text string) (cursor, error) { return d.cursorOf(caller, text) })
	if refused != nil {
		refuse(w, refused.Status, refused.Code, refused.Detail)
		return
	}
	look := d.readPage
	if f.state == stateEnded {
		look = d.endedPage
	}
	l, err := look(req.Context(), &f, c, limit)
	if err == nil && f.state == stateWaiting {
		d.compareListed(req.Context(), l)
	}
	switch {
	case req.Context().Err() != nil:
		return
	case err != nil && c.After != "" && d.canList(req.Context()):
		refuse(w, http.StatusBadRequest, codeParameter, textWantCursor)
		return
	case err != nil:
		d.refuseStore(w, err)
		return
	}
	tag := tagOf(l)
	w.Header().Set("ETag", tag)
	if matchesTag(req.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	respond(w, http.StatusOK, l)
}

// readPage reads the store's list from the cursor on. It stops when it has limit approvals, has
// examined enough rows, or its time is over. Approvals that the caller may not list do not change
// the response, except if the time is over. The response then has a next page, which reveals only
// that this page did not reach the end of the list.
func (d *Desk) readPage(ctx context.Context, f *filter, c cursor, limit int) (*listing, error) {
	l, until, size := &listing{Approvals: []*approval{}}, d.opts.Now().Add(maxSearchTime), 0
	s := d.newShares(callerIn(ctx), f)
	var unread error
	defer func() {
		if l.LimitedAgents = s.agentsLeft(); unread != nil {
			d.log.Warn(logListUnread, "records", l.UnreadRecords, "err", unread)
		}
	}()
	if !callerIn(ctx).rightsAnywhere().Has(policy.List) {
		return l, nil
	}
	for looked := 0; ; {
		p, err := d.opts.Store.List(ctx, store.Query{After: c.After, Limit: store.MaxPage})
		if err != nil {
			return nil, err
		}
		rows := slices.DeleteFunc(p.Rows, c.isPast)
		for len(rows) > 0 {
			var part []store.Row
			part, rows = s.nextPart(rows)
			shown, err := d.loadAll(ctx, f, part)
			if err != nil {
				return nil, err
			}
			for n, one := range shown {
				if one.hidden || s.exceedsShare(part[n].Key) {
					continue
				}
				if len(l.Approvals) == limit || size >= maxPageBytes || looked == maxExamined {
					l.Next = d.cursorFor(callerIn(ctx), c)
					return l, nil
				}
				looked++
				c.Opened, c.Key = part[n].Opened.Truncate(precision), part[n].Key
				switch {
				case one.readErr != nil:
					l.UnreadRecords++
					unread = one.readErr
				case one.approval != nil:
					l.Approvals = append(l.Approvals, one.approval)
					took := one.approval.size + len(one.approval.Questions)*restBytes
					size += took
					s.addApproval(part[n].Key, took)
				}
			}
			if len(rows) > 0 && d.opts.Now().After(until) {
				last := part[len(part)-1]
				c.Opened, c.Key = last.Opened.Truncate(precision), last.Key
				l.Next = d.cursorFor(callerIn(ctx), c)
				return l, nil
			}
		}
		if p.Next == "" {
			return l, nil
		}
		if c = (cursor{After: p.Next}); d.opts.Now().After(until) {
			l.Next = d.cursorFor(callerIn(ctx), c)
			return l, nil
		}
	}
}

// canList reports whether the store's list can be read at all. If it can, an error of readPage
// means that the cursor is wrong.
func (d *Desk) canList(ctx context.Context) bool {
	_, err := d.opts.Store.List(ctx, store.Query{Limit: 1})
	return err == nil
}

// restBytes is roughly the size of a question without its message, its schema and its arguments.
const restBytes = 256

// A row is an entry of the list. It is empty if the filter does not select it, or if its thread no
// longer has an open pause. hidden means that the caller may not list it.
type row struct {
	approval *approval
	readErr  error
	hidden   bool
}

// loadAll loads the records of all rows concurrently.
func (d *Desk) loadAll(ctx context.Context, f *filter, rows []store.Row) ([]row, error) {
	shown, errs := make([]row, len(rows)), make([]error, len(rows))
	var all sync.WaitGroup
	for n := range rows {
		all.Go(func() { shown[n], errs[n] = d.loadRow(ctx, f, rows[n].Key) })
	}
	all.Wait()
	return shown, errors.Join(errs...)
}

func (d *Desk) loadRow(ctx context.Context, f *filter, key store.Key) (row, error) {
	rec, hidden, err := d.loadOrHidden(ctx, key)
	switch {
	case hidden:
		return row{hidden: true}, nil
	case errors.Is(err, store.ErrUnread):
		return row{readErr: err}, nil
	case err != nil:
		return row{}, err
	case rec.Pause == nil || !f.selects(rec.Pause, stateOf(&rec)):
		return row{}, nil
	}
	a := d.approvalOf(key, &rec, true)
	if rec.State == store.Claimed {
		a.CarriedUntil = rec.Lease
	}
	d.limitToCaller(ctx, &rec, a)
	a.pause = rec.Pause
	return row{approval: a}, nil
}

// load returns a record. The caller does not become the owner of its thread. If the caller may not
// list the record, load returns the same as if the record did not exist.
func (d *Desk) load(ctx context.Context, key store.Key) (store.Record, error) {
	rec, _, err := d.loadOrHidden(ctx, key)
	return rec, err
}

// loadOrHidden is like load. hidden also reports that the record exists but the caller may not list
// it.
func (d *Desk) loadOrHidden(ctx context.Context, key store.Key) (rec store.Record, hidden bool, err error) {
	step, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	rec, err = d.opts.Store.Load(step, key, "")
	if err == nil {
		d.clockAhead.Store(int64(rec.Now.Sub(d.opts.Now())))
		d.scopes.note(key, scopeOf(&rec))
	}
	// The agent and the tenant of an unreadable record are unknown, so any caller may lack the
	// right to list it.
	known := err == nil || errors.Is(err, store.ErrUnread)
	if known && !callerIn(ctx).rights(scopeOf(&rec)).Has(policy.List) {
		return store.Record{Now: rec.Now}, true, nil
	}
	return rec, false, err
}

// tagOf returns the ETag of a list. The ETag is weak: it does not cover ages and leases, which
// change just because time passes.
func tagOf(l *listing) string {
	still := listing{Next: l.Next, LimitedAgents: l.LimitedAgents, UnreadRecords: l.UnreadRecords}
	for _, a := range l.Approvals {
		same := *a
		same.Age, same.CarriedUntil = 0, time.Time{}
		still.Approvals = append(still.Approvals, &same)
	}
	text, _ := json.Marshal(still) // cannot fail, because the response is marshalled too
	sum := sha256.Sum256(text)
	return `W/"` + hex.EncodeToString(sum[:16]) + `"`
}

// matchesTag reports whether the client already has the list with this ETag. headers has the values
// of If-None-Match.
func matchesTag(headers []string, tag string) bool {
	for _, header := range headers {
		for one := range strings.SplitSeq(header, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
