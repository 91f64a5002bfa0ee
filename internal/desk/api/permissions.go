package api

import (
	"context"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/policy"
	"holdpoint/store"
)

// permissions says what the caller may do, as far as this is known in advance.
type permissions struct {
	Approve bool `json:"approve"`
	Deny    bool `json:"deny"`
	Answer  bool `json:"answer"`
	Edit    bool `json:"edit"` // answer with edited arguments of the call
	Cancel  bool `json:"cancel"`
	Operate bool `json:"operate"` // end the whole approval without an answer
	// Reasons has the actions that are not allowed. It maps each of them to the code of the problem
	// that the caller would get.
	Reasons map[string]string `json:"why,omitempty"`
}

// visiblePause returns what the caller may see of the pause with the id, or nil if the record does
// not have the pause.
func (d *Desk) visiblePause(ctx context.Context, key store.Key, rec *store.Record, pauseID string) *approval {
	a := d.approvalInRecord(key, rec, pauseID)
	if a != nil {
		d.limitToCaller(ctx, rec, a)
	}
	return a
}

// limitToCaller adds to an approval what the caller may do. It also removes what the caller may not
// read.
func (d *Desk) limitToCaller(ctx context.Context, rec *store.Record, a *approval) {
	rights := callerIn(ctx).rights(scopeOf(rec))
	p := rec.Pause
	if a.State == stateEnded {
		p = nil
	}
	a.Permissions = &permissions{Reasons: map[string]string{}}
	operate := operateRefusal(a.State, rights)
	for n := range a.Questions {
		m := d.decidePermissions(a, p, a.Questions[n].index, rights, rec.Now)
		m.grant("operate", &m.Operate, operate)
		a.Questions[n].Permissions = m
		a.Permissions.add(m)
	}
	a.Permissions.grant("operate", &a.Permissions.Operate, operate)
	if !rights.Has(policy.Read) {
		a.withhold()
	}
}

// grant sets right to true if why is "". Otherwise it notes why, the code of the reason, unless the
// right was granted before. The parameter what is the name of the action.
func (m *permissions) grant(action string, right *bool, reason string) {
	if reason == "" {
		*right = true
		delete(m.Reasons, action)
	} else if !*right {
		m.Reasons[action] = reason
	}
}

// add adds the permissions of one question to the permissions of its approval.
func (m *permissions) add(of *permissions) {
	m.grant("approve", &m.Approve, of.Reasons["approve"])
	m.grant("deny", &m.Deny, of.Reasons["deny"])
	m.grant("answer", &m.Answer, of.Reasons["answer"])
	m.grant("edit", &m.Edit, of.Reasons["edit"])
	m.grant("cancel", &m.Cancel, of.Reasons["cancel"])
}

// operateRefusal returns the code of the reason why the caller may not give up the pause, or "" if
// the caller may.
func operateRefusal(state string, rights policy.Rights) string {
	switch {
	case !rights.Has(policy.Operate):
		return codeForbidden
	case state == stateEnded:
		return codeEnded
	case state == stateCarrying:
		return codeInProgress
	}
	return ""
}

// decidePermissions returns what the caller may do with the question at index n of the pause p. p
// is nil if the pause is not open; the caller may then do nothing.
func (d *Desk) decidePermissions(a *approval, p *agui.Pause, n int, rights policy.Rights, now time.Time) *permissions {
	m := &permissions{Reasons: map[string]string{}}
	var decide string
	switch {
	case !rights.Has(policy.Decide):
		decide = codeForbidden
	case p == nil:
		decide = codeEnded
	case a.State == stateCarrying || a.State == stateInDoubt:
		decide = codeInProgress
	case !d.canDecide(p):
		decide = codeElsewhere
	case p.Decision(p.Interrupts[n].ID) != nil:
		decide = codeDecided
	}
	m.grant("cancel", &m.Cancel, decide)
	approve, deny, edit := decide, decide, decide
	if decide == "" {
		i := &p.Interrupts[n]
		expires, has := i.Expires()
		switch expired := has && !now.Before(expires); {
		case i.CancelOnly:
			decide = string(agui.InvalidPayload)
		case expired:
			decide = string(agui.InterruptExpired)
		}
		approve, deny, edit = decide, decide, decide
		if decide == "" && i.Yes == nil {
			approve = codeNotKnown
		}
		if decide == "" && i.No == nil {
			deny = codeNotKnown
		}
		if decide == "" && !isEditable(i) {
			edit = codeNotKnown
		}
	}
	m.grant("answer", &m.Answer, decide)
	m.grant("approve", &m.Approve, approve)
	m.grant("deny", &m.Deny, deny)
	m.grant("edit", &m.Edit, edit)
	return m
}

// withhold removes from an approval everything that must be hidden from a caller who may list but
// not read it. The rest shows that a call of a tool waits. Digests are removed too, because they
// would confirm guessed arguments. A new field of approval must be handled here.
func (a *approval) withhold() {
	listed := approval{
		ID: a.ID, State: a.State, Opened: a.Opened, Age: a.Age, Expires: a.Expires, CarriedUntil: a.CarriedUntil,
		Agent: a.Agent, Tenant: a.Tenant, Path: a.Path, Thread: a.Thread, Run: a.Run, Dialect: a.Dialect,
		Requester: a.Requester, RequesterHash: a.RequesterHash, ShownAs: a.ShownAs, Contested: a.Contested,
		Carrier: a.Carrier, WaitsForChat: a.WaitsForChat, Permissions: a.Permissions, Withheld: true, Questions: make([]question, len(a.Questions)),
		QuestionsLeft: a.QuestionsLeft,
	}
	for n := range a.Questions {
		q := &a.Questions[n]
		shown := question{
			ID: q.ID, Kind: q.Kind, Reason: q.Reason, Expires: q.Expires, YesKnown: q.YesKnown, NoKnown: q.NoKnown, CancelOnly: q.CancelOnly, Permissions: q.Permissions,
		}
		for _, c := range q.Calls {
			shown.Calls = append(shown.Calls, call{Name: c.Name})
		}
		if d := q.Decision; d != nil {
			shown.Decision = &decision{Status: d.Status, Verdict: d.Verdict, Edited: d.Edited, By: d.By, At: d.At}
		}
		listed.Questions[n] = shown
	}
	if a.End != nil {
		end := a.End.withoutContent()
		listed.End = &end
	}
	for n := range a.History {
		listed.History = append(listed.History, a.History[n].withoutContent())
	}
	*a = listed
}

func (e *end) withoutContent() end {
	listed := end{ID: e.ID, EndKind: e.EndKind, Door: e.Door, By: e.By, At: e.At, Error: e.Error, NextApproval: e.NextApproval, Forgotten: e.Forgotten, QuestionsLeft: e.QuestionsLeft, Questions: make([]answeredQuestion, len(e.Questions))}
	for n, q := range e.Questions {
		listed.Questions[n] = answeredQuestion{ID: q.ID, Tools: q.Tools, Status: q.Status, Verdict: q.Verdict, Edited: q.Edited}
	}
	return listed
}
