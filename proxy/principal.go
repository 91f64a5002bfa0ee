package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/internal/principal"
	"holdpoint/store"
)

// readOwner sees whether the record is the principal's. Of another's record nothing is left but
// that it is one, so that nothing of it can be told, by whatever way. A pause that Holdpoint itself
// carries on is its owner's.
func (j *judge) readOwner() {
	switch owner := j.record.Owner; {
	case j.request.ours || j.who.Owner().Is(owner):
		j.ledger.Owner = owner // it may be by an older key
	default:
		j.stranger = true
		j.record = store.Record{Version: j.record.Version, Owner: owner, Now: j.record.Now}
	}
}

// mayBeAnothers reports whether the thread may be another principal's for all that the request
// shows. Only its record tells.
func (j *judge) mayBeAnothers() bool { return j.who.Known() && j.request.thread == "" }

// With threads of his own, a principal's thread has another id at the backend. It stands in the
// input from the beginning, so that dialects need not know of it. In what the client gets back, its
// own id stands at the places where AG-UI has one.

// toBackendThread puts the backend's id of the thread into the input.
func (r *request) toBackendThread(who principal.Identity) {
	if id := who.Thread(r.input.ThreadID); id != r.input.ThreadID {
		r.thread = r.input.ThreadID
		*r.input = r.input.WithThread(id)
	}
}

// clientThread returns the client's id of the thread.
func (r *request) clientThread() string {
	if r.thread == "" {
		return r.input.ThreadID
	}
	return r.thread
}

// withholds says what of a thread must not be told to the resume that goes on with it. Without
// principals an answer shows no more than that its sender knows the thread's id: by that he was
// told the question. What the stream itself brings is the backend's to tell.
func (t *thread) withholds(p *agui.Pause) (w hiddenSnapshots) {
	if t.who.Known() || t.request.ours {
		return w
	}
	known := make(map[string]bool, len(p.Seen))
	for _, s := range p.Seen {
		known[s.ID] = s.ID != ""
	}
	for _, m := range t.request.input.Messages {
		if known[m.ID] {
			return w
		}
	}
	return hiddenSnapshots{state: !agui.HasMembers(t.in.State), messages: len(p.Seen) > 0}
}

// A hiddenSnapshots says which snapshots of a thread are not told.
type hiddenSnapshots struct{ state, messages bool }
