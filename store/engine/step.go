package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// maxTries is how often a step is tried if another step has always changed the record first. A
// thread has few concurrent callers, and each time one of them succeeds.
const maxTries = 200

var errBusy = errors.New("store: the record changed too often at once")

// do applies the step to the record with the key. If there is no record, it applies the step to a
// zero record.
func (s *Store) do(ctx context.Context, key store.Key, step rules.Step) (done store.StepResult, err error) {
	full := false
	if step.Opens {
		if full, err = s.bound.isFull(ctx); err != nil {
			return done, err
		}
	}
	for try := range maxTries {
		if err := ctx.Err(); err != nil {
			return done, notAsked(err)
		}
		over, err := s.try(ctx, key, step, full, &done)
		if over || err != nil {
			if step.Opens && err == nil {
				s.bound.countOpened()
			}
			return done, err
		}
		if err := pauseBetween(ctx, try); err != nil {
			return done, err
		}
	}
	return done, errBusy
}

// pauseBetween waits between two tries of a step. It does not wait before the second try, and waits
// longer before each later try.
func pauseBetween(ctx context.Context, try int) error {
	if try < 2 {
		return nil
	}
	t := time.NewTimer(rand.N(time.Millisecond << min(try/2, 6)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return notAsked(ctx.Err())
	}
}

// try applies the step once. It returns false if another step has changed the record first. full
// means that no more threads may be opened.
func (s *Store) try(ctx context.Context, key store.Key, step rules.Step, full bool, done *store.StepResult) (bool, error) {
	row, err := s.table.Read(ctx, key, step.Body)
	if err != nil {
		return false, err
	}
	done.Now = row.Now
	was, err := s.open(key, row, step.Body)
	if err != nil {
		return false, err
	}
	rec := was.Record
	if !step.Body && s.mayHaveExpired(&was, row.Now) {
		step.Body = true
		return s.try(ctx, key, step, full, done)
	}
	step.Guard = step.Guard || step.ForClient && s.isPauseUnsafe(row, &rec)
	settled := step.Body && rules.Settle(&rec, row.Now, s.policy)
	lost := rules.GiveUpNotices(&rec, row.Now)
	before := rec
	var puts []rules.SnapshotPut
	*done, puts, err = rules.Apply(&rec, row.Now, &step)
	switch {
	case err != nil && done.Standing != nil && s.isPauseUnsafe(row, done.Standing):
		// the caller may send the pause of this record to a client
		standing, failed := s.Load(ctx, key, "")
		if done.Standing = &standing; failed != nil {
			done.Standing, err = nil, failed
		}
		return true, err
	case err != nil:
		// The record is not written, so what has expired in this call is not saved either. The next
		// call finds it expired again.
		return true, err
	case full && before.Pause == nil:
		return true, fmt.Errorf(textThreadsWait, store.ErrFull, s.bound.limit)
	// the key has no record, so it is removed from the list of notices to send
	case step.Takes && row.Revision == 0:
		return true, s.table.Unlist(ctx, key)
	}
	if step.Body {
		rules.DropSnapshots(&rec, s.policy)
	}
	lost += s.post(key, &was.Record, &before, &rec, row.Now, step)
	// A decided pause is due at once, and only the body shows whether an open pause is decided.
	known := step.Body || rec.State != store.Open
	overdue := known && was.State != store.None && !row.Now.Before(was.due) && row.Now.Before(rules.DueTime(&rec, was.opened, row.Now, s.policy))
	same := rules.SameHead(&was.Record, &rec) && (!step.Body || rules.SameBody(&was.Record, &rec))
	reseal := step.Body && s.sealedBefore(row, &was)
	if same && !settled && !step.Guard && !overdue && !reseal && !s.needsRenewal(&was, step.Body, row.Now) {
		return true, nil
	}
	change, err := s.change(key, row, &was, &rec, puts, step, reseal)
	if err != nil {
		return false, err
	}
	if change.ForgetAt.Equal(row.Now) && row.Revision == 0 {
		return true, nil // the record was empty before, and is empty now
	}
	ok, err := s.table.Write(ctx, key, change)
	if err != nil {
		return ok, fmt.Errorf("store: %w", err)
	}
	if ok && change.Guard && rec.Pause != nil {
		s.safe.Add(rec.Pause.ID, struct{}{})
	}
	if ok && lost > 0 {
		s.onNoticesLost(lost)
	}
	if ok && s.onEnded != nil && !step.Closes {
		if r := rules.EndedByTime(&was.Record, &rec); r != nil {
			s.onEnded(key, r)
		}
	}
	return ok, nil
}

// isPauseUnsafe reports whether the open pause of a record may be lost: the table guards its
// changes, and this process does not know that the pause is safe, see Row.Guards.
func (s *Store) isPauseUnsafe(row Row, rec *store.Record) bool {
	return row.Guards && rec.State == store.Open && !s.safe.Contains(rec.Pause.ID)
}

// mayHaveExpired reports whether the pause of a record may have ended by time. The record was read
// without its body, and ending the pause needs the body.
func (s *Store) mayHaveExpired(was *openedRow, now time.Time) bool {
	switch {
	case was.State == store.Open:
		return !now.Before(was.opened.Add(s.policy.PauseRetention))
	case rules.IsInDoubt(&was.Record, now):
		return !now.Before(was.Lease.Add(s.policy.PauseRetention))
	}
	return false
}

// needsRenewal reports whether a record without an open pause must be written again, so that it is
// kept longer: it is used now, and a tenth of its time has passed. body reports whether the body of
// the record was read. Without the body it is not known how long the notes of the record must be
// kept, so the longest time counts.
func (s *Store) needsRenewal(was *openedRow, body bool, now time.Time) bool {
	if was.Version == 0 || was.State != store.None {
		return false
	}
	kept := max(s.policy.PauseRetention, s.policy.ReplayTTL)
	if body {
		kept = rules.KeepTime(&was.Record, s.policy)
	}
	return was.forgetAt.Sub(now) < kept*9/10
}

// sealedBefore reports whether a part of the row is not encrypted with the newest key. A load then
// encrypts the record again, so that old keys can be removed although the thread is still used. If
// two replicas have different newest keys, they encrypt the record in turns.
func (s *Store) sealedBefore(row Row, was *openedRow) bool {
	keys := s.keys.Load()
	return row.Revision != 0 && (!keys.newest(row.Head) || was.bodyAt != 0 && !keys.newest(row.Body))
}

// change returns the change that the step makes to the row. reseal means that the whole record is
// encrypted again, because a part of it was encrypted with an older key.
func (s *Store) change(key store.Key, row Row, was *openedRow, rec *store.Record, puts []rules.SnapshotPut, step rules.Step, reseal bool) (Change, error) {
	c := Change{From: row.Revision, To: row.Revision + 1, Guard: step.Guard}
	if row.Revision == 0 {
		c.To = firstRevision()
	}
	next := openedRow{Record: *rec, bodyAt: was.bodyAt}
	next.Version = rules.Format(rec)
	if rec.Outbox != was.Outbox {
		c.Notify = rules.Notify(rec)
	}
	unseen := !step.Body && was.bodyAt != 0 // the row has a body that the step did not read
	if unseen {
		next.Version = store.Version
	}
	if rec.State == store.None {
		next.forgetAt = rules.ForgetTime(rec, row.Now, s.policy)
		if unseen && was.forgetAt.After(next.forgetAt) {
			next.forgetAt = was.forgetAt
		}
		c.ForgetAt = next.forgetAt
	} else {
		// The times in the lists change as rarely as possible, because a lease is renewed often. So
		// the time in a list may be earlier than the right time.
		next.opened = was.opened
		if rec.Pause != nil {
			next.opened = rec.Pause.Opened
		}
		next.due = rules.DueTime(rec, next.opened, row.Now, s.policy)
		if !step.Body && rec.State == store.Open {
			next.due = was.due
		}
		if was.State != store.None && row.Now.Before(was.due) && was.due.Before(next.due) {
			next.due = was.due
		}
		c.Opened, c.Due = next.opened, next.due
	}
	if step.Body && (!rules.SameBody(&was.Record, rec) || row.Revision == 0 || reseal && was.bodyAt != 0) {
		next.bodyAt = c.To
		body, err := s.sealBody(key, &next)
		if err != nil {
			return c, err
		}
		c.Body = body
		if err := s.changeSnapshots(key, &c, &was.Record, rec, puts); err != nil {
			return c, err
		}
	} else if row.Revision == 0 {
		next.bodyAt = 0
	}
	var err error
	c.Head, err = s.sealHead(key, &next)
	return c, err
}

// changeSnapshots adds the new snapshots of the record to the change. It also removes the snapshots
// to which the record no longer refers.
func (s *Store) changeSnapshots(key store.Key, c *Change, was, rec *store.Record, puts []rules.SnapshotPut) error {
	for ref := range rules.Refs(was) {
		if !rules.RefersTo(rec, ref) {
			c.Drop = append(c.Drop, snapshotName(ref))
		}
	}
	for _, p := range puts {
		if !rules.RefersTo(rec, p.Ref) {
			continue
		}
		sealed, err := s.sealSnapshots(key, snapshotName(p.Ref), p.Snapshots)
		if err != nil {
			return err
		}
		if c.Put == nil {
			c.Put = map[string][]byte{}
		}
		c.Put[snapshotName(p.Ref)] = sealed
	}
	return nil
}
