package rules

import (
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Policy says how long a store keeps pauses, results and leases, and how large a record may be.
type Policy struct {
	// How long a result can be replayed; longer if an interrupt of its pause expires later, see
	// knownUntil.
	ReplayTTL      time.Duration
	PauseRetention time.Duration // how long a pause is kept that got no answer or is in doubt
	// RecordBytes is the maximum size of a record with its snapshots, in bytes. The size is an
	// estimate. 0 means no limit.
	RecordBytes int
	// LongestLease is the longest lease that any caller requests. 0 means that it is unknown.
	LongestLease time.Duration
}

// WithDefaults returns the policy with the default for each field that is not set, except
// LongestLease.
func (p Policy) WithDefaults() Policy {
	if p.RecordBytes <= 0 {
		p.RecordBytes = store.DefaultRecordBytes
	}
	if p.ReplayTTL <= 0 {
		p.ReplayTTL = store.DefaultReplayTTL
	}
	if p.PauseRetention <= 0 {
		p.PauseRetention = store.DefaultPauseRetention
	}
	return p
}

// longestKept returns the longest time for which a pause and its result can be known. That is
// the retention while the pause is open, less than a day while it is claimed, the retention again
// while it is in doubt, and then the replay time of its result.
func (p Policy) longestKept() time.Duration { return 2*p.PauseRetention + p.ReplayTTL + store.NoteAge }

// IsLapsed reports whether the pause is claimed and its lease is over.
func IsLapsed(rec *store.Record, now time.Time) bool {
	return rec.State == store.Claimed && !now.Before(rec.Lease)
}

// IsInDoubt reports whether the pause is in doubt, because a Finish said so or because its lease
// has lapsed.
func IsInDoubt(rec *store.Record, now time.Time) bool {
	return rec.State == store.InDoubt || IsLapsed(rec, now)
}

// Settle makes the changes to the record that are due by time alone. It returns false if nothing
// changes. It does not record that a lease has lapsed, because the owner of the claim may still
// renew, finish or release it. View shows such a pause as in doubt.
func Settle(rec *store.Record, now time.Time, p Policy) bool {
	changed := shorten(rec, now.Add(p.LongestLease), p)
	switch {
	case rec.State == store.Open && hasPassed(now, rec.Pause.Opened, p.PauseRetention):
		end(rec, now, store.Result{EndKind: store.Retired, SeenMessages: rec.Pause.SeenMessages})
		changed = true
	case IsInDoubt(rec, now) && hasPassed(now, rec.Lease, p.PauseRetention):
		giveWay(rec, now)
		changed = true
	}
	kept := makeTombstones(rec.Results, func(r *store.Result) bool { return !now.Before(knownUntil(r, p)) })
	if kept != nil {
		rec.Results = kept
		changed = true
	}
	return changed
}

// EndedByTime returns the result of a pause that ended during a step, although the step itself did
// not end it: it was retired, or was in doubt only because its lease had lapsed. Otherwise it
// returns nil. was and is are the record before and after the step. If the step is a Close, its
// caller reports the end, and EndedByTime must not be called.
func EndedByTime(was, is *store.Record) *store.Result {
	if was.Pause == nil || is.Pause != nil && is.Pause.ID == was.Pause.ID {
		return nil
	}
	for _, r := range is.Results {
		if r.PauseID == was.Pause.ID {
			if r.EndKind == store.Retired || r.EndKind == store.Doubtful && was.Doubt == nil {
				return r
			}
			return nil
		}
	}
	return nil
}

// shorten shortens leases that last longer than until. Such a lease comes from a server whose clock
// was ahead, such as the server before a failover. Without shorten, a process that died with such a
// lease would hold its thread for as long as the clocks differ. A process that lives renews its
// lease, and the new lease has the right time.
func shorten(rec *store.Record, until time.Time, p Policy) bool {
	if p.LongestLease <= 0 {
		return false
	}
	changed := false
	if rec.State == store.Claimed && rec.Lease.After(until) {
		rec.Lease, changed = until, true
	}
	if slices.ContainsFunc(rec.Occupants, func(b store.Occupant) bool { return b.Lease.After(until) }) {
		rec.Occupants, changed = slices.Clone(rec.Occupants), true
		for n := range rec.Occupants {
			if rec.Occupants[n].Lease.After(until) {
				rec.Occupants[n].Lease = until
			}
		}
	}
	return changed
}

// hasPassed reports whether at least the duration d has passed since t.
func hasPassed(now, t time.Time, d time.Duration) bool { return !now.Before(t.Add(d)) }

// knownUntil returns until when a result is kept as a whole. After that it becomes a tombstone. A
// client may answer until the latest expiry of the pause's questions. The backend chooses that
// expiry, so it counts only up to the longest time for which a pause can be known.
func knownUntil(r *store.Result, p Policy) time.Time {
	kept := p.ReplayTTL
	if r.EndUnseen { // the chat has not received this end yet
		kept = max(kept, p.PauseRetention)
	}
	until := r.At.Add(kept)
	expiry := latestExpiry(r.Pause)
	if expiry.After(until) && expiry.After(r.Pause.Opened.Add(p.longestKept())) {
		expiry = r.Pause.Opened.Add(p.longestKept())
	}
	return laterOf(until, expiry)
}

// latestExpiry returns the latest expiry among the pause's interrupts. It returns the zero time if
// no interrupt expires.
func latestExpiry(p *agui.Pause) time.Time {
	var latest time.Time
	if p == nil {
		return latest
	}
	for _, i := range p.Interrupts {
		if t, ok := i.Expires(); ok && t.After(latest) {
			latest = t
		}
	}
	return latest
}

// View returns the record as Load returns it. Now is set, a claimed pause whose lease has lapsed is
// in doubt, and runs whose lease has lapsed are left out of Occupants. If the record is empty, its
// Version is 0, as if there were no record, because a store may have forgotten it.
func View(rec store.Record, now time.Time) store.Record {
	if IsLapsed(&rec, now) {
		rec.State = store.InDoubt
	}
	lapsed := func(b store.Occupant) bool { return !now.Before(b.Lease) }
	if slices.ContainsFunc(rec.Occupants, lapsed) {
		rec.Occupants = slices.DeleteFunc(slices.Clone(rec.Occupants), lapsed)
	}
	if Format(&rec) == 0 {
		rec.Version = 0
	}
	rec.Now = now
	return rec
}

// MakeTombstone turns the result of the pause into a tombstone. If pauseID is "", it turns every
// result into a tombstone.
func MakeTombstone(rec *store.Record, pauseID string) {
	kept := makeTombstones(rec.Results, func(r *store.Result) bool { return pauseID == "" || r.PauseID == pauseID })
	if kept != nil {
		rec.Results = kept
	}
}

// makeTombstones returns a copy of results in which each result for which isDead returns true is a
// tombstone. The number of results in the copy is limited. If no result becomes a tombstone,
// makeTombstones returns nil.
func makeTombstones(results []*store.Result, isDead func(*store.Result) bool) []*store.Result {
	var kept []*store.Result
	for i, r := range results {
		if r.Tombstone || !isDead(r) {
			continue
		}
		if kept == nil {
			kept = slices.Clone(results)
		}
		kept[i] = tombstone(r)
	}
	if kept == nil {
		return nil
	}
	return bound(kept)
}

func tombstone(r *store.Result) *store.Result {
	t := &store.Result{
		PauseID: r.PauseID, IDs: r.IDs, EndKind: r.EndKind, ByArray: r.ByArray, At: r.At, Receipt: r.Receipt,
		Door: r.Door, By: r.By, Tombstone: true,
		Failed: r.Failed || r.EndKind == store.Doubtful || agui.PeekType(r.Finish) == agui.RunErrored,
	}
	if p := r.Pause; p != nil && p.KeepsFirstAnswer {
		t.Digest = r.Digest
		t.Pause = &agui.Pause{ID: p.ID, Dialect: p.Dialect, KeepsFirstAnswer: true, Interrupts: make([]agui.Interrupt, len(p.Interrupts))}
		for n, i := range p.Interrupts {
			t.Pause.Interrupts[n] = agui.Interrupt{ID: i.ID, Native: i.Native, Question: i.Question}
		}
	}
	return t
}

// bound returns the newest results, with a limited number of whole results and a limited number of
// tombstones. It changes the slice results.
func bound(results []*store.Result) []*store.Result {
	replayable, tombstones := 0, 0
	kept := results[:0]
	for _, r := range results {
		if !r.Tombstone {
			if replayable++; replayable > store.MaxReplayable {
				r = tombstone(r)
			}
		}
		if r.Tombstone {
			if tombstones++; tombstones > store.MaxTombstones {
				continue
			}
		}
		kept = append(kept, r)
	}
	clear(results[len(kept):])
	return kept
}
