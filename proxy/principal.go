package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/internal/principal"
	"holdpoint/store"
)

// readOwner checks whether the record belongs to the principal of the request. If it belongs to
// another principal, everything except the owner is removed from j.record, so that nothing can be
// disclosed. If Holdpoint itself starts a run, for a decision of the desk, the run counts as a
// request of the record's owner.
func (j *judge) readOwner() {
	switch owner := j.record.Owner; {
	case j.request.isOwn || j.principal.Owner().Matches(owner):
		j.ledger.Owner = owner // the owner may be hashed with an older key
	default:
		j.otherPrincipal = true
		j.record = store.Record{Version: j.record.Version, Owner: owner, Now: j.record.Now}
	}
}

// mayBeAnothers reports whether the thread may belong to another principal. Only the record of the
// thread can show that.
func (j *judge) mayBeAnothers() bool { return j.principal.HasPrincipal() && j.request.thread == "" }

// If principals have separate threads, the backend gets another thread id than the client sent. The
// input of a run has the backend's id from the beginning, so that dialects need not know two ids.
// Events to the client get the client's id in every field that has a thread id in AG-UI.

// toBackendThread replaces the client's thread id in the input by the thread id for the backend.
func (r *request) toBackendThread(who principal.Identity) {
	if id := who.Thread(r.input.ThreadID); id != r.input.ThreadID {
		r.thread = r.input.ThreadID
		*r.input = r.input.WithThread(id)
	}
}

// clientThread returns the thread id that the client sent.
func (r *request) clientThread() string {
	if r.thread == "" {
		return r.input.ThreadID
	}
	return r.thread
}

// snapshotsToHide returns which snapshots of the thread the client of a resume must not get. If
// there are no principals, an answer proves only that its sender knows the id of the question, so
// it has seen the question. It does not prove that the sender knows the conversation. Events of the
// backend's own stream are never withheld.
func (t *thread) snapshotsToHide(p *agui.Pause) (w hiddenSnapshots) {
	if t.principal.HasPrincipal() || t.request.isOwn {
		return w
	}
	known := make(map[string]bool, len(p.SeenMessages))
	for _, s := range p.SeenMessages {
		known[s.ID] = s.ID != ""
	}
	for _, m := range t.request.input.Messages {
		if known[m.ID] {
			return w
		}
	}
	return hiddenSnapshots{state: !agui.HasMembers(t.in.State), messages: len(p.SeenMessages) > 0}
}

// A hiddenSnapshots has the kinds of snapshots of a thread that the client must not get.
type hiddenSnapshots struct{ state, messages bool }
