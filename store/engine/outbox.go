package engine

import (
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// post writes notices into the record: the step's own notices, if the step changed more than what
// had expired anyway, and the notices about a pause that has ended by time. It returns how many
// notices were given up.
func (s *Store) post(key store.Key, was, settled, rec *store.Record, now time.Time, step rules.Step) (lost int) {
	if s.notices != nil && step.Body && !step.Closes {
		if r := rules.EndedByTime(was, rec); r != nil {
			lost += rules.Post(rec, now, s.notices(key, r))
		}
	}
	if step.Notices != nil && !(rules.SameHead(settled, rec) && rules.SameBody(settled, rec)) {
		lost += rules.Post(rec, now, step.Notices)
	}
	return lost
}
