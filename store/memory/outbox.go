package memory

import (
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// maxSends limits the bytes of all notices, as does an eighth of what the records may take, because
// an absent receiver must not take the room of questions. Above it new notices are given up.
const maxSends = 64 << 20

// post writes the notices of a pause that ended by time into the record, and gives up notices that
// are too old.
func (s *Store) post(key store.Key, was, rec *store.Record, now time.Time) {
	s.lost += rules.GiveUpNotices(rec, now)
	s.postEnded(key, was, rec, now)
}

// postEnded is the part of post that a step needs too, because a pause in doubt gives way to that
// of an Ask.
func (s *Store) postEnded(key store.Key, was, rec *store.Record, now time.Time) {
	if s.notices != nil {
		if r := rules.EndedByTime(was, rec); r != nil {
			s.lost += rules.Post(rec, now, s.notices(key, r))
		}
	}
}

// postBrought writes the notices of a step into the record, if the step has changed it.
func (s *Store) postBrought(brought []store.Notice, was, rec *store.Record, now time.Time) {
	switch {
	case brought == nil || rules.SameHead(was, rec) && rules.SameBody(was, rec):
	case s.sends >= min(maxSends, s.totalBytes/8):
		s.lost += len(brought)
	default:
		s.lost += rules.Post(rec, now, brought)
	}
}

// list notes whether an entry has something to send.
func (s *Store) list(e *entry) {
	n := rules.BytesOfOutbox(e.rec.Outbox)
	s.sends += n - e.sends
	e.sends = n
	if e.rec.Outbox != nil {
		s.unsent[e.key] = e
	} else if len(s.unsent) > 0 {
		delete(s.unsent, e.key)
	}
}
