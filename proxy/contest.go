package proxy

import (
	"errors"

	"holdpoint/store"
)

// Two ordinary runs of a thread may be at the backend at once: the client of one broke off, and
// sent again before anybody knew. One question of the two is kept and told. The backend may wait
// for the other one. Where it takes an answer without an id, a yes to the one could then carry out
// the other. So the pause is contested (agui.Pause.Contested): the dialect sends what the backend
// can give to no other question, or refuses the answer.

// contest notes it of the pause that stands, whoever has claimed it meanwhile. It may be given
// back.
func (r *run) contest() {
	p := r.record.Pause
	if p == nil {
		return
	}
	if err := r.ledger.contest(p.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
		r.log.Error("the record does not know that another run came to another question", "err", err)
	}
}

// beside says whether another run of the thread that may come to a question goes on in this
// process. Those without their clients at other replicas stand in the record (store.Record.Busy).
func (b *lives) beside(l *life) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.live {
		if other != l && other.key == l.key && other.plain.Load() {
			return true
		}
	}
	return false
}
