package rules

import (
	"slices"
	"time"

	"holdpoint/store"
)

// Post writes notices into the record. If the record already has a notice with the same id, that
// notice stays unchanged. Post returns how many notices were given up: those that are too large,
// and the oldest if there are too many.
func Post(rec *store.Record, now time.Time, notices []store.Notice) (lost int) {
	var o store.Outbox
	if rec.Outbox != nil {
		o = *rec.Outbox
		o.Notices = slices.Clone(o.Notices)
	} else {
		o.Due = now
	}
	changed := false
	for _, n := range notices {
		switch {
		case slices.ContainsFunc(o.Notices, func(has store.Notice) bool { return has.ID == n.ID }):
			continue
		case len(n.Body) > store.MaxNoticeBytes:
			lost++
			continue
		}
		if n.At.IsZero() {
			n.At = now
		}
		o.Notices, changed = append(o.Notices, n), true
	}
	if over := len(o.Notices) - store.MaxNotices; over > 0 {
		lost += over
		o.Notices = slices.Clone(o.Notices[over:])
	}
	if changed {
		rec.Outbox = &o
	}
	return lost
}

// removeNotices removes the notices of a step that does not count. A notice that was sent meanwhile
// is no longer in the record.
func removeNotices(rec *store.Record, now time.Time, notices []store.Notice) {
	for _, n := range notices {
		applySent(rec, now, store.Sent{IDs: []string{n.ID}})
	}
}

// GiveUpNotices removes the notices that are older than store.NoticeAge from the record. It returns
// how many it has removed.
func GiveUpNotices(rec *store.Record, now time.Time) int {
	if rec.Outbox == nil || !hasPassed(now, rec.Outbox.Notices[0].At, store.NoticeAge) {
		return 0
	}
	before := len(rec.Outbox.Notices)
	keepNotices(rec, func(n store.Notice) bool { return !hasPassed(now, n.At, store.NoticeAge) })
	if rec.Outbox == nil {
		return before
	}
	return before - len(rec.Outbox.Notices)
}

// takeNotices applies the step store.Take.
func takeNotices(rec *store.Record, now time.Time, hold time.Duration) (notices []store.Notice, tries int) {
	if rec.Outbox == nil || now.Before(rec.Outbox.Due) {
		return nil, 0
	}
	o := *rec.Outbox
	o.Due = now.Add(hold)
	rec.Outbox = &o
	return slices.Clone(o.Notices), o.Tries
}

// applySent applies the step store.Sent.
func applySent(rec *store.Record, now time.Time, s store.Sent) {
	if rec.Outbox == nil {
		return
	}
	struck := keepNotices(rec, func(n store.Notice) bool { return !slices.Contains(s.IDs, n.ID) })
	if rec.Outbox == nil {
		return
	}
	o := *rec.Outbox
	o.Due = now.Add(s.Wait)
	if struck {
		o.Tries = 0
	}
	if s.Failed {
		o.Tries++
	}
	rec.Outbox = &o
}

// keepNotices removes the notices for which isWanted returns false. It reports whether it has
// removed any.
func keepNotices(rec *store.Record, isWanted func(store.Notice) bool) bool {
	var left []store.Notice
	for _, n := range rec.Outbox.Notices {
		if isWanted(n) {
			left = append(left, n)
		}
	}
	if len(left) == len(rec.Outbox.Notices) {
		return false
	}
	if len(left) == 0 {
		rec.Outbox = nil
		return true
	}
	o := *rec.Outbox
	o.Notices = left
	rec.Outbox = &o
	return true
}

// Notify returns the record's time in the list of notices to send. It returns the zero time if the
// record has no notices.
func Notify(rec *store.Record) *time.Time {
	if rec.Outbox == nil {
		return &time.Time{}
	}
	return &rec.Outbox.Due
}
