package proxy

import (
	"errors"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A backend may wait on for the answer to a question that Holdpoint has lost: the record is gone
// after a restart, or nobody knows what became of the answer. The ways on are here.

// maxNamed bounds the threads whose clients named questions that the record does not know, and
// maxNamedIDs the questions of one.
const (
	maxNamed    = 4096
	maxNamedIDs = 8
	// maxNamedBytes is more than any id has that Holdpoint has published.
	maxNamedBytes = 1 << 10
)

// noteNamed remembers the interrupts that a request answers and that the record does not know. If
// the backend then refuses a run because it waits, they may be what it waits for.
func (r *run) noteNamed() {
	if r.record.Pause != nil || r.stranger {
		return
	}
	var ids []string
	for _, a := range r.answers.list {
		if a.ID != "" && len(a.ID) <= maxNamedBytes && r.record.ResultOf(a.ID) == nil {
			ids = append(ids, strings.Clone(a.ID))
		}
	}
	if len(ids) == 0 {
		return
	}
	before, _ := r.h.named.Get(r.ledger.key)
	for _, id := range before {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	ids = ids[:min(len(ids), maxNamedIDs)]
	r.h.named.Add(r.ledger.key, ids)
	if calls := r.callsOfLostQuestions(ids); len(calls) > 0 {
		r.h.named.Add(r.lostKey(), ids)
		for _, call := range calls {
			r.h.named.Add(r.lostKey(call), ids)
		}
	}
}

// lostKey returns the key of the note that somebody has named a lost question about a call, or
// about any call. The note holds for the path and the principal. The thread does not count, because
// some clients of .NET take another one between an answer and the next message.
func (r *run) lostKey(call ...string) store.Key {
	return r.indexKey("lost", append([]string{r.ledger.owner}, call...)...)
}

// callsOfLostQuestions returns the calls that questions are about, as far as their ids show that a
// backend has asked that keeps nothing between two runs.
func (r *run) callsOfLostQuestions(ids []string) []string {
	stateless, ok := r.h.opts.Dialect.(translate.Stateless)
	if !ok {
		return nil
	}
	var calls []string
	for _, id := range ids {
		native, _ := kit.NativeID(id)
		if call, asks := stateless.AsksUnder(native, r.spoken()); asks {
			calls = append(calls, call, native) // by request_approval the id of the question is its call's
		}
	}
	return calls
}

// hasLostQuestion reports whether a client has named a question of this chat that the record does
// not know, and under whose id only a backend asks that keeps nothing between two runs. The
// question is of this chat if it was named on its thread, or by a text of its messages, or if it is
// about a call of its messages.
func (r *run) hasLostQuestion() bool {
	if len(r.callsOfLostQuestions(r.namedByText())) > 0 {
		return true
	}
	if r.h.named.Len() == 0 {
		return false
	}
	lost := func(key store.Key) bool {
		named, _ := r.h.named.Get(key)
		return len(r.callsOfLostQuestions(named)) > 0
	}
	return lost(r.ledger.key) || lost(r.lostKey()) && slices.ContainsFunc(r.in.Messages, func(m agui.Message) bool {
		return slices.ContainsFunc(callsIn(m), func(id string) bool { return lost(r.lostKey(id)) })
	})
}

// frees says whether the dialect lets a cancel of the ended pause through.
func (r *run) frees(p *agui.Pause) bool {
	freer, ok := r.h.opts.Dialect.(translate.Freer)
	return ok && freer.Frees(p)
}

// locks reports whether a message would lock the thread of the ended pause for good.
func (r *run) locks(p *agui.Pause) bool {
	locker, ok := r.h.opts.Dialect.(translate.Locker)
	return ok && locker.Locks(p)
}

// namedByClients returns a pause of the questions that clients of the thread named and that the
// record does not know. It is nil if there are none, or if nobody knows how their backend is told
// no.
func (r *run) namedByClients() *agui.Pause {
	reviver, ok := r.h.opts.Dialect.(translate.Reviver)
	if !ok || r.record.Pause != nil || r.stranger {
		return nil
	}
	named, _ := r.h.named.Get(r.ledger.key)
	var ids []string
	for _, id := range named {
		if r.record.ResultOf(id) == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	p := reviver.Revive(ids, r.spoken())
	if len(p.Interrupts) == 0 {
		return nil
	}
	p.Finish = slices.Clone(agui.FinishedEvent(r.in.ThreadID, r.in.RunID).JSON)
	words := len(r.in.Messages)
	for words > 0 && r.in.Messages[words-1].Role == "user" {
		words--
	}
	for _, m := range r.in.Messages[:words] {
		seen := agui.See(m)
		seen.ID = strings.Clone(seen.ID) // it lies in the request's body
		p.Seen = append(p.Seen, seen)
	}
	return &p
}

// reopen opens an ended pause once more, under the same ids, for a cancel and nothing else. So the
// cancel has a claim like any other answer, and goes out once.
func (r *run) reopen(ended *store.Result) {
	p := *ended.Pause
	p.ID = ids.Random128()
	p.Interrupts = slices.Clone(p.Interrupts)
	for n := range p.Interrupts {
		p.Interrupts[n].CancelOnly = true
	}
	p.Seen = ended.Seen
	r.readFor = readFor{} // the answers are for the new pause now
	switch err := r.ledger.open(&p); {
	case err == nil, errors.Is(err, store.ErrExists):
		r.verdict = contract.Ruling{Do: contract.Wait}
	default:
		r.verdict = contract.Ruling{Do: contract.Refuse, Refusal: r.keepError(err)}
	}
}
