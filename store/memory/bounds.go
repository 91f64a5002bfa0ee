package memory

import (
	"slices"
	"time"

	"holdpoint/store"
	"holdpoint/store/internal/rules"
)

// Room is made in this order: what can be replayed becomes tombstones, the record used least recently first, then
// tombstones go, and the owner with them; a record that waits never goes.
//
// A record without anything to replay is small, and forgetting it has a price: the thread belongs to whoever asks
// next, and its ids are unknown. So the bare ones do not count as Entries: a flood of new threads, each of which leaves
// an owner, must not push out what can be replayed, and an owner only after a while.
const bareFactor = 4

// class is the list that a record belongs in.
type class int

const (
	absent class = iota // of an entry that is in no list: it was not kept yet, or there is nothing to keep
	waiting
	ended
	bare
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
	if rec.Owner != "" || len(rec.Results) > 0 {
		return bare
	}
	return absent
}

// use finds the entry of key and makes it the one used last; an absent one if there is none.
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
	return &entry{key: key}
}

// peek is use without using it.
func (s *Store) peek(key store.Key) (*entry, bool) {
	if e, ok := s.waiting[key]; ok {
		return e, true
	}
	if e, ok := s.ended.Peek(key); ok {
		return e, true
	}
	return s.bare.Peek(key)
}

// set makes rec the record of e: in its list, counted, its new results the youngest.
func (s *Store) set(e *entry, rec store.Record) {
	old := e.rec.Results
	e.rec = rec
	if c := classify(&rec); c != e.class {
		s.leave(e)
		s.enter(e, c)
	}
	if !sameSlice(old, rec.Results) {
		s.count(e, old)
	}
}

// sameSlice says whether nothing has changed: rules never writes into a slice of results.
func sameSlice(a, b []*store.Result) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// count brings bytes and replayable up to date with the results of e, which were old. At most one of them is new, since
// a step ends one pause, and Settle is kept before the step.
func (s *Store) count(e *entry, old []*store.Result) {
	before := e.bytes
	for at, r := range old {
		if !has(e.rec.Results, r, at) {
			e.bytes -= size(r)
			if !r.Tombstone {
				s.replayable.Remove(resultRef{e.key, r.PauseID})
			}
		}
	}
	for at, r := range e.rec.Results {
		if !has(old, r, at) {
			e.bytes += size(r)
			if !r.Tombstone {
				s.replayable.Add(resultRef{e.key, r.PauseID}, struct{}{})
			}
		}
	}
	s.bytes += e.bytes - before
}

// has says whether the result is in the list, most likely near the place that it has in another one.
func has(list []*store.Result, r *store.Result, at int) bool {
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
	}
}

func (s *Store) leave(e *entry) {
	switch e.class {
	case waiting:
		delete(s.waiting, e.key)
	case ended:
		s.ended.Remove(e.key)
	case bare:
		s.bare.Remove(e.key)
	}
}

// room says whether one more record may wait. If none may, pauses past the retention, which nobody has looked at since,
// are closed first.
func (s *Store) room(now time.Time) bool {
	if len(s.waiting) < s.entries {
		return true
	}
	if now.Before(s.retireFrom) {
		return false
	}
	// The next time is counted from Opened for claimed ones too: Release gives them their old one back.
	next := now.Add(s.policy.PauseRetention)
	for _, e := range s.waiting {
		rec := e.rec
		if rules.Settle(&rec, now, s.policy) {
			s.set(e, rec)
		}
		if rec.Pause != nil {
			next = earlier(next, rec.Pause.Opened.Add(s.policy.PauseRetention))
		}
	}
	s.retireFrom = next
	return len(s.waiting) < s.entries
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// shrink brings the lists back under their bounds.
func (s *Store) shrink() {
	for len(s.waiting)+s.ended.Len() > s.entries {
		_, e, ok := s.ended.GetOldest()
		if !ok {
			break
		}
		rec := e.rec
		rules.Bury(&rec, "")
		s.set(e, rec)
	}
	for s.bytes > s.replayBytes {
		if ref, _, ok := s.replayable.RemoveOldest(); ok {
			if e, ok := s.peek(ref.key); ok {
				rec := e.rec
				rules.Bury(&rec, ref.pauseID)
				s.set(e, rec)
			}
		} else if _, e, ok := s.bare.RemoveOldest(); ok {
			s.bytes -= e.bytes
		} else {
			break // tombstones of threads that wait
		}
	}
	for s.bare.Len() > bareFactor*s.entries {
		if _, e, ok := s.bare.RemoveOldest(); ok {
			s.bytes -= e.bytes
		}
	}
}

// size of a result, roughly: what backends and clients decide, and something for the rest.
func size(r *store.Result) int {
	const rest = 256
	n := rest + len(r.Finish) + len(r.Messages) + len(r.State)
	for _, id := range r.IDs {
		n += len(id) + 16
	}
	for _, m := range r.Seen {
		n += len(m.ID) + len(m.Digest) + 32
	}
	if p := r.Pause; p != nil {
		n += rest + len(p.Private) + len(p.NativeFinish) + len(p.Finish)
		for _, i := range p.Interrupts {
			n += len(i.ID) + len(i.Native) + len(i.Object) + len(i.Private) + 80
			for _, c := range i.Calls {
				n += len(c.ID) + len(c.Name) + len(c.Args) + 56
			}
		}
		for _, ev := range p.Native {
			n += len(ev) + 24
		}
		for _, m := range p.Seen {
			n += len(m.ID) + len(m.Digest) + 32
		}
	}
	return n
}
