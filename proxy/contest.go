package proxy

// contest notes of the pause that stands that another run of the thread came to another question.
func (r *run) contest() {
	p := r.record.Pause
	if p == nil {
		return
	}
	if err := r.ledger.Contest(p.ID); err != nil {
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
