package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// A call that the record knows to have asked is held, whoever claims it. But ids of some models
// repeat: the thread's stream may begin a call of that id again, of a tool of the client's. The
// record notes that, so that each replica knows it, and what the client says on the later call is
// its own.
//
// The earlier question must have been answered. A backend that still waits for it may take the
// message for its answer (RAN agno 2.9.0 and 3.1.10: of two paused runs it goes on with the older).

// maxReused bounds the notes of a thread.
const maxReused = store.MaxNotes

// reusedNote is the id of the note that a call of a pause's questions began again.
func reusedNote(pauseID, call string) string {
	sum := sha256.Sum256([]byte(pauseID + "\n" + call))
	return "reused " + hex.EncodeToString(sum[:16])
}

// askedBy returns the newest pause of the record whose questions a message answers that names the
// call, and how it ended. It is nil if there is none.
func (r *run) askedBy(call string) (*agui.Pause, *store.Result) {
	asks := func(p *agui.Pause) bool {
		return p != nil && slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return slices.Contains(i.Keys, call) })
	}
	if asks(r.record.Pause) {
		return r.record.Pause, nil
	}
	for _, result := range r.record.Results {
		if asks(result.Pause) {
			return result.Pause, result
		}
	}
	return nil, nil
}

// isReused reports whether a tool message at a place is on a later call than the one that asked
// under the same id: the request claims the nearest call before it for the client, and the thread's
// stream has begun that call.
func (r *run) isReused(claims *kit.Claims, at int, call string) bool {
	p, result := r.askedBy(call)
	if result == nil || result.How != store.Finished || contract.EndedBadly(result) {
		return false
	}
	id := reusedNote(p.ID, call)
	return slices.ContainsFunc(r.record.Notes, func(n store.Note) bool { return n.ID == id }) && claims.OwnBefore(at, call)
}

// noteReused notes in the record which of the calls that the stream leaves to the client have the
// id of one that asked. It is called once the claim has ended. If the store cannot be asked, such a
// call is held.
func (r *run) noteReused() {
	for _, c := range r.openCalls {
		p, _ := r.askedBy(c.id)
		if !c.own || p == nil {
			continue
		}
		if err := r.ledger.remember(store.Note{ID: reusedNote(p.ID, c.id), Text: []byte(`{}`)}, maxReused); err != nil {
			r.log.Error("a call that began again is not noted by the store: the client's answer to it may be refused", "call", agui.Cut(c.id), "err", err)
		}
	}
}
