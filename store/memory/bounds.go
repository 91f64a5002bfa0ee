package memory

import (
	"fmt"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// The store makes room in this order:
//
//   - results become tombstones, in the record that was used least recently;
//   - the snapshots of pauses are dropped, those of the oldest pause first;
//   - records that have only tombstones are dropped, and with them the owners of their threads.
//
// An open record is never dropped.
//
// A bare record has an owner or tombstones, but no result that can be replayed. It is small, and
// dropping it has a disadvantage: its thread then belongs to the next user who uses it, and its ids
// are unknown. So bare records do not count as Entries. Each thread in a flood of new threads
// leaves a bare record with an owner. These must never displace results that can be replayed, and
// may displace other owners only after some time.
//
// A record that has only notes belongs to no thread. Such records are in a separate list, so that
// they and the bare records do not displace each other. Some of these notes lead to a pause, see
// package proxy.
const (
	bareFactor  = 4
	notedFactor = 2 * bareFactor
)

// A class says in which list a record is.
type class int

const (
	inNoList class = iota // the entry is in no list, because it is new or empty
	waiting
	ended
	bare
	noted
)

func classify(rec *store.Record) class {
	if rec.State != store.None {
		return waiting
	}
	for _, r := range rec.Results {
		if !r.Tombstone {
			return ended
		}
	}
	switch {
	case rec.Owner != "" || len(rec.Results)+len(rec.Occupants) > 0 || rec.Outbox != nil:
		return bare
	case len(rec.Notes) > 0:
		return noted
	}
	return inNoList
}

// use returns the entry with the key, and marks it as the one that was used last. If there is no
// such entry, it returns a new entry that is in no list.
func (s *Store) use(key store.Key) *entry {
	if e, ok := s.waiting[key]; ok {
		return e
	}
	if e, ok := s.ended.Get(key); ok {
		return e
	}
	if e, ok := s.bare.Get(key); ok {
		return e
	}
	if e, ok := s.noted.Get(key); ok {
		return e
	}
	return &entry{key: key}
}

// peek returns the entry with the key like use, but does not mark it.
func (s *Store) peek(key store.Key) (*entry, bool) {
	if e, ok := s.waiting[key]; ok {
		return e, true
	}
	if e, ok := s.ended.Peek(key); ok {
		return e, true
	}
	if e, ok := s.bare.Peek(key); ok {
		return e, true
	}
	return s.noted.Peek(key)
}

// set makes rec the record of the entry e. It also moves e to the right list, and updates the
// totals of the store. The new results count as the youngest.
func (s *Store) set(e *entry, rec store.Record, puts []rules.SnapshotPut) {
	old, pause, doubt := e.rec.Results, e.rec.Pause, e.rec.Doubt
	rec.Version = rules.Format(&rec)
	e.rec = rec
	e.keep(puts)
	if c := classify(&rec); c != e.class {
		s.unlistEntry(e)
		s.enter(e, c)
	}
	if !rules.Same(old, rec.Results) {
		s.count(e, old)
	}
	s.list(e)
	if pause != rec.Pause || doubt != rec.Doubt {
		s.countPause(e, pause)
	}
}

// keep stores the new snapshots of a record, and drops the snapshots to which the record no longer
// refers.
func (e *entry) keep(puts []rules.SnapshotPut) {
	e.kept = slices.DeleteFunc(e.kept, func(k rules.SnapshotPut) bool {
		brought := slices.ContainsFunc(puts, func(p rules.SnapshotPut) bool { return p.Ref == k.Ref })
		return brought || !rules.RefersTo(&e.rec, k.Ref)
	})
	for _, p := range puts {
		if rules.RefersTo(&e.rec, p.Ref) {
			e.kept = append(e.kept, p)
		}
	}
}

// countPause updates the totals of all pauses after the pause of the entry e has changed. old is
// the earlier pause. It is another pause, or the same pause with snapshots that are dropped now.
func (s *Store) countPause(e *entry, old *agui.Pause) {
	now := portionOf(e.rec.Pause, e.rec.Doubt)
	s.openSpace = s.openSpace.less(e.openSpace).plus(now)
	if s.share > 0 {
		s.addToAddress(old, portion{}.less(e.openSpace))
		s.addToAddress(e.rec.Pause, now)
	}
	e.openSpace = now
	if now.bytes == now.questions {
		s.snapshots.Remove(e.key)
	} else if !s.snapshots.Contains(e.key) {
		s.snapshots.Add(e.key, struct{}{})
	}
}

// addToAddress updates the totals of the pauses that come from the client address of the pause p.
func (s *Store) addToAddress(p *agui.Pause, change portion) {
	if p == nil || p.AddressHash == 0 {
		return
	}
	if has := s.spaceByAddress[p.AddressHash].plus(change); has.places > 0 {
		s.spaceByAddress[p.AddressHash] = has
	} else {
		delete(s.spaceByAddress, p.AddressHash)
	}
}

// admits returns an error if the store has no room for the pause p. replaced is the space of the
// pause that p replaces, zero if it replaces no pause. If there is no room at first, admits ends
// the pauses that are older than the retention, and checks again.
func (s *Store) admits(p *agui.Pause, replaced portion, now time.Time) error {
	more := portionOf(p, nil).less(replaced)
	err := s.checkRoom(p, more)
	if err != nil && s.retire(now) {
		err = s.checkRoom(p, more)
	}
	return err
}

func (s *Store) checkRoom(p *agui.Pause, more portion) error {
	if more.places == 0 {
		return nil // the pause replaces another pause
	}
	if s.share > 0 && p.AddressHash != 0 {
		has := s.spaceByAddress[p.AddressHash].plus(more)
		if 100*has.places > s.share*s.entries && has.places > 1 || has.questions > s.totalBytes/100*s.share {
			return fmt.Errorf(textShareFull, store.ErrShare, has.places, has.questions)
		}
	}
	all := s.openSpace.plus(more)
	switch {
	case all.places > s.entries:
		return fmt.Errorf(textEntriesFull, store.ErrFull, s.openSpace.places, s.entries)
	case all.questions > s.totalBytes:
		return fmt.Errorf(textBytesFull, store.ErrFull, s.openSpace.questions, s.totalBytes)
	}
	return nil
}

// count updates s.bytes and s.replayable after the results of the entry e have changed. old are the
// earlier results. At most one result is new, because a step ends one pause, and the effect of
// Settle is stored before the step.
func (s *Store) count(e *entry, old []*store.Result) {
	before := e.bytes
	for at, r := range old {
		if !hasResult(e.rec.Results, r, at) {
			e.bytes -= rules.BytesOfResult(r)
			if !r.Tombstone {
				s.replayable.Remove(resultRef{e.key, r.PauseID})
			}
		}
	}
	for at, r := range e.rec.Results {
		if !hasResult(old, r, at) {
			e.bytes += rules.BytesOfResult(r)
			if !r.Tombstone {
				s.replayable.Add(resultRef{e.key, r.PauseID}, struct{}{})
			}
		}
	}
	s.bytes += e.bytes - before
}

// hasResult reports whether list contains the result r. It looks first near the index at, which r
// has in the other list.
func hasResult(list []*store.Result, r *store.Result, at int) bool {
	for i := max(at-1, 0); i < min(at+2, len(list)); i++ {
		if list[i] == r {
			return true
		}
	}
	return slices.Contains(list, r)
}

func (s *Store) enter(e *entry, c class) {
	switch e.class = c; c {
	case waiting:
		s.waiting[e.key] = e
	case ended:
		s.ended.Add(e.key, e)
	case bare:
		s.bare.Add(e.key, e)
	case noted:
		s.noted.Add(e.key, e)
	}
}

func (s *Store) unlistEntry(e *entry) {
	switch e.class {
	case waiting:
		delete(s.waiting, e.key)
	case ended:
		s.ended.Remove(e.key)
	case bare:
		s.bare.Remove(e.key)
	case noted:
		s.noted.Remove(e.key)
	}
}

// retire ends the pauses that are older than the retention. It returns false if there cannot be
// any.
func (s *Store) retire(now time.Time) bool {
	if now.Before(s.retireFrom) {
		return false
	}
	// The next time is counted from Opened even for a claimed pause, because Release opens the
	// pause again with its old Opened.
	next := now.Add(s.policy.PauseRetention)
	for _, e := range s.waiting {
		rec := e.rec
		if rules.Settle(&rec, now, s.policy) {
			s.noteEnded(e.key, &e.rec, &rec)
			s.post(e.key, &e.rec, &rec, now)
			s.set(e, rec, nil)
		}
		if rec.Pause != nil {
			next = earlierOf(next, rec.Pause.Opened.Add(s.policy.PauseRetention))
		}
	}
	s.retireFrom = next
	return true
}

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// enforceLimits drops data until the store is within its limits. Its parts are separate functions.
// Every step ends with enforceLimits, so otherwise every run would need the stack of all parts.
func (s *Store) enforceLimits() {
	for len(s.waiting)+s.ended.Len() > s.entries && s.buryEnded() {
	}
	for s.bytes > s.replayBytes || s.bytes+s.openSpace.bytes > s.totalBytes {
		if !s.buryResult() && !(s.bytes+s.openSpace.bytes > s.totalBytes && s.strip()) && !s.dropBareThread() {
			break // only tombstones of open threads, and the questions of these threads, remain
		}
	}
	for s.bare.Len() > bareFactor*s.entries && s.dropBareThread() {
	}
	for s.noted.Len() > notedFactor*s.entries {
		s.noted.RemoveOldest()
	}
}

// buryEnded turns the results of the least recently used thread into tombstones. It returns false
// if no thread has results.
func (s *Store) buryEnded() bool {
	_, e, ok := s.ended.GetOldest()
	if ok {
		rec := e.rec
		rules.MakeTombstone(&rec, "")
		s.set(e, rec, nil)
		s.onEvicted("results")
	}
	return ok
}

// buryResult turns the oldest result into a tombstone. It returns false if there is no result.
func (s *Store) buryResult() bool {
	ref, _, ok := s.replayable.RemoveOldest()
	if !ok {
		return false
	}
	if e, ok := s.peek(ref.key); ok {
		rec := e.rec
		rules.MakeTombstone(&rec, ref.pauseID)
		s.set(e, rec, nil)
		s.onEvicted("results")
	}
	return true
}

// strip removes the snapshots of the oldest pause that has snapshots. It returns false if no pause
// has snapshots.
func (s *Store) strip() bool {
	key, _, ok := s.snapshots.GetOldest()
	if ok {
		e := s.waiting[key]
		rec := e.rec
		rules.Strip(&rec)
		s.set(e, rec, nil)
		s.onEvicted("snapshots")
	}
	return ok
}

// dropBareThread drops the bare record that was used least recently. It returns false if there is
// no bare record.
func (s *Store) dropBareThread() bool {
	_, e, ok := s.bare.RemoveOldest()
	if ok {
		s.bytes -= e.bytes
		if o := e.rec.Outbox; o != nil {
			s.lost += len(o.Notices)
			s.sends -= e.sends
			delete(s.unsent, e.key)
		}
	}
	return ok
}

// portionOf returns the space that a pause and its doubt take. If p is nil, it returns the zero
// portion.
func portionOf(p *agui.Pause, inDoubt *store.Result) portion {
	if p == nil {
		return portion{}
	}
	n := rules.BytesOfWaiting(p, inDoubt)
	return portion{1, n + p.SnapshotBytes, n}
}
