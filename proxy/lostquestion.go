package proxy

import (
	"errors"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
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
	r.h.named.Add(r.ledger.key, ids[:min(len(ids), maxNamedIDs)])
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

// reopen opens an ended pause once more, under the same ids, for a cancel and nothing else. So the
// cancel has a claim like any other answer, and goes out once.
func (r *run) reopen(ended *store.Result) {
	p := *ended.Pause
	p.ID = random128()
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
