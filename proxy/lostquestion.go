package proxy

import (
	"errors"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
)

// A backend may wait on for the answer to a question that Holdpoint has lost: the record is gone
// after a restart, or nobody knows what became of the answer. The ways on are here.

// maxNamed bounds the threads whose clients named questions that the record does not know, and
// maxNamedIDs the questions of one.
const (
	maxNamed    = 4096
	maxNamedIDs = 8
)

// noteNamed remembers the interrupts that a request answers and that the record does not know. If
// the backend then refuses a run because it waits, they may be what it waits for.
func (r *run) noteNamed() {
	if r.record.Pause != nil || r.stranger || len(r.answers.list) == 0 {
		return
	}
	view := r.view()
	ids := history.UnknownQuestions(&view, r.answers.list)
	if len(ids) == 0 {
		return
	}
	before, _ := r.h.named.Get(r.ledger.Key)
	for _, id := range before {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	ids = ids[:min(len(ids), maxNamedIDs)]
	r.h.named.Add(r.ledger.Key, ids)
	if calls := history.CallsOfLostQuestions(&view, ids); len(calls) > 0 {
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
	return r.indexKey("lost", append([]string{r.ledger.Owner}, call...)...)
}

// hasLostQuestion reports whether a client has named a question of this chat that the record does
// not know, and under whose id only a backend asks that keeps nothing between two runs. The
// question is of this chat if it was named on its thread, or by a text of its messages, or if it is
// about a call of its messages.
func (r *run) hasLostQuestion() bool {
	byText := r.namedByText()
	if len(byText) == 0 && r.h.named.Len() == 0 {
		return false
	}
	view := r.view()
	if len(history.CallsOfLostQuestions(&view, byText)) > 0 {
		return true
	}
	lost := func(key store.Key) bool {
		named, _ := r.h.named.Get(key)
		return len(history.CallsOfLostQuestions(&view, named)) > 0
	}
	return lost(r.ledger.Key) || lost(r.lostKey()) && history.HoldsCall(&view, func(id string) bool { return lost(r.lostKey(id)) })
}

// freesOf returns a function that reports whether the dialect lets a cancel of an ended pause
// through.
func freesOf(d translate.Dialect) func(*agui.Pause) bool {
	freer, ok := d.(translate.Freer)
	return func(p *agui.Pause) bool { return ok && freer.Frees(p) }
}

// locksOf returns a function that reports whether a message would lock the thread of an ended pause
// for good.
func locksOf(d translate.Dialect) func(*agui.Pause) bool {
	locker, ok := d.(translate.Locker)
	return func(p *agui.Pause) bool { return ok && locker.Locks(p) }
}

// namedByClients returns a pause of the questions that clients of the thread named and that the
// record does not know. It is nil if there are none, or if nobody knows how their backend is told
// no.
func (r *run) namedByClients() *agui.Pause {
	if r.record.Pause != nil || r.stranger {
		return nil
	}
	named, _ := r.h.named.Get(r.ledger.Key)
	if len(named) == 0 {
		return nil
	}
	view := r.view()
	return history.Revive(&view, named)
}

// reopen opens an ended pause once more, for a cancel and nothing else.
func (r *run) reopen(ended *store.Result) contract.Ruling {
	r.readFor = readFor{} // the answers are for the new pause now
	switch err := r.ledger.Reopen(ended); {
	case err == nil, errors.Is(err, store.ErrExists):
		return contract.Ruling{Do: contract.Wait}
	default:
		return contract.Ruling{Do: contract.Refuse, Refusal: r.keepError(err)}
	}
}
