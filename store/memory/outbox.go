package memory

import (
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// maxSends limits the size of all notices in bytes. An eighth of Options.Bytes is a second limit.
// If either is exceeded, new notices are given up, so that notices for a receiver that cannot be
// reached do not take the room of questions.
const maxSends = 64 << 20

// post writes the notices about a pause that has ended by time into the record, and gives up
// notices that are too old.
func (s *Store) post(key store.Key, was, rec *store.Record, now time.Time) {
	s.lost += rules.GiveUpNotices(rec, now)
	s.postEnded(key, was, rec, now)
}

// postEnded is the part of post that a step needs too: an Ask may end a pause in doubt, and opens
// its own pause instead.
func (s *Store) postEnded(key store.Key, was, rec *store.Record, now time.Time) {
	if s.notices != nil {
		if r := rules.EndedByTime(was, rec); r != nil {
			s.lost += rules.Post(rec, now, s.notices(key, r))
		}
	}
}

// postBrought writes the notices that the caller of a step gives into the record, if the step has
// changed the record.
func (s *Store) postBrought(notices []store.Notice, was, rec *store.Record, now time.Time) {
	switch {
	case notices == nil || rules.SameHead(was, rec) && rules.SameBody(was, rec):
	case s.sends >= min(maxSends, s.totalBytes/8):
		s.lost += len(notices)
	default:
		s.lost += rules.Post(rec, now, notices)
	}
}

// list updates the set of entries that have notices to send, and the size of all notices.
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
