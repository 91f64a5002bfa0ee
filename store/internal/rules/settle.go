package rules

import (
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// Policy is for how long things are kept.
type Policy struct {
	ReplayTTL      time.Duration // a result, unless an interrupt of its pause expires later, see knownUntil
	PauseRetention time.Duration // a pause that nobody answers, and one in doubt that nobody asks about
	// RecordBytes is how large a record may be with its snapshots, roughly counted. 0: no bound.
	RecordBytes int
	// LongestLease is the longest lease that is ever given. 0: not known.
	LongestLease time.Duration
}

// WithDefaults returns the policy with what is not set in it.
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

// longest returns for how long a pause can be known with what becomes of it. It waits for a
// retention, is claimed for less than a day, may be in doubt for another retention, and then its
// result is known.
func (p Policy) longest() time.Duration { return 2*p.PauseRetention + p.ReplayTTL + store.NoteAge }

// Lapsed reports whether the pause is claimed and its lease is over.
func Lapsed(rec *store.Record, now time.Time) bool {
	return rec.State == store.Claimed && !now.Before(rec.Lease)
}

// Doubtful reports whether the pause is in doubt, by Finish or by a lapsed lease.
func Doubtful(rec *store.Record, now time.Time) bool {
	return rec.State == store.InDoubt || Lapsed(rec, now)
}

// Settle applies what time alone has done to the record. It returns false if that is nothing. It
// does not write a lapsed lease down: the claimer may still renew, finish or release, so View reads
// it as a doubt.
func Settle(rec *store.Record, now time.Time, p Policy) bool {
	changed := shorten(rec, now.Add(p.LongestLease), p)
	switch {
	case rec.State == store.Open && past(now, rec.Pause.Opened, p.PauseRetention):
		end(rec, now, store.Result{How: store.Retired, Seen: rec.Pause.Seen})
		changed = true
	case Doubtful(rec, now) && past(now, rec.Lease, p.PauseRetention):
		giveWay(rec, now)
		changed = true
	}
	kept := bury(rec.Results, func(r *store.Result) bool { return !now.Before(knownUntil(r, p)) })
	if kept != nil {
		rec.Results = kept
		changed = true
	}
	return changed
}

// EndedByTime returns the result of the pause that was there before a step, if that pause has ended
// without anybody having said so: it was retired, or it was in doubt by its lease alone. It is nil
// otherwise. A step that closes a pause says so itself.
func EndedByTime(was, is *store.Record) *store.Result {
	if was.Pause == nil || is.Pause != nil && is.Pause.ID == was.Pause.ID {
		return nil
	}
	for _, r := range is.Results {
		if r.PauseID == was.Pause.ID {
			if r.How == store.Retired || r.How == store.Doubtful && was.Doubt == nil {
				return r
			}
			return nil
		}
	}
	return nil
}

// shorten ends leases that no clock as it is now can have given. They are of a server whose clock
// was ahead, such as the one before a failover, and a process that died with it would hold its
// thread for as long as the clocks are apart. Whoever lives renews: so the lease lasts from now.
func shorten(rec *store.Record, until time.Time, p Policy) bool {
	if p.LongestLease <= 0 {
		return false
	}
	changed := false
	if rec.State == store.Claimed && rec.Lease.After(until) {
		rec.Lease, changed = until, true
	}
	if slices.ContainsFunc(rec.Busy, func(b store.Busy) bool { return b.Lease.After(until) }) {
		rec.Busy, changed = slices.Clone(rec.Busy), true
		for n := range rec.Busy {
			if rec.Busy[n].Lease.After(until) {
				rec.Busy[n].Lease = until
			}
		}
	}
	return changed
}

// past reports whether d or more has gone by since t.
func past(now, t time.Time, d time.Duration) bool { return !now.Before(t.Add(d)) }

// knownUntil returns until when a result is more than a tombstone. A client may answer until the
// latest expiry of the pause. The backend chooses that, so it counts only as far as a pause can be
// known at all.
func knownUntil(r *store.Result, p Policy) time.Time {
	kept := p.ReplayTTL
	if r.Unseen { // its chat is to be told of it when it comes back
		kept = max(kept, p.PauseRetention)
	}
	until := r.At.Add(kept)
	expiry := latestExpiry(r.Pause)
	if expiry.After(until) && expiry.After(r.Pause.Opened.Add(p.longest())) {
		expiry = r.Pause.Opened.Add(p.longest())
	}
	return later(until, expiry)
}

// latestExpiry of the pause's interrupts, the zero time if none expires.
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

// View returns the record as Load returns it: with Now, with a lapsed lease read as InDoubt, and
// without the runs whose lease has lapsed. A record with nothing left in it reads as none, because
// an engine may have forgotten it by itself.
func View(rec store.Record, now time.Time) store.Record {
	if Lapsed(&rec, now) {
		rec.State = store.InDoubt
	}
	lapsed := func(b store.Busy) bool { return !now.Before(b.Lease) }
	if slices.ContainsFunc(rec.Busy, lapsed) {
		rec.Busy = slices.DeleteFunc(slices.Clone(rec.Busy), lapsed)
	}
	if Format(&rec) == 0 {
		rec.Version = 0
	}
	rec.Now = now
	return rec
}

// Bury makes a tombstone of the result of a pause, or of every result if pauseID is "".
func Bury(rec *store.Record, pauseID string) {
	kept := bury(rec.Results, func(r *store.Result) bool { return pauseID == "" || r.PauseID == pauseID })
	if kept != nil {
		rec.Results = kept
	}
}

// bury returns a bounded copy of results. Those that dead names are tombstones in it. It returns
// nil if none became one.
func bury(results []*store.Result, dead func(*store.Result) bool) []*store.Result {
	var kept []*store.Result
	for i, r := range results {
		if r.Tombstone || !dead(r) {
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
		PauseID: r.PauseID, IDs: r.IDs, How: r.How, ByArray: r.ByArray, At: r.At, Receipt: r.Receipt,
		Door: r.Door, By: r.By, Tombstone: true,
		Failed: r.Failed || r.How == store.Doubtful || agui.PeekType(r.Finish) == agui.RunErrored,
	}
	if p := r.Pause; p != nil && p.Sticky {
		t.Digest = r.Digest
		t.Pause = &agui.Pause{ID: p.ID, Dialect: p.Dialect, Sticky: true, Interrupts: make([]agui.Interrupt, len(p.Interrupts))}
		for n, i := range p.Interrupts {
			t.Pause.Interrupts[n] = agui.Interrupt{ID: i.ID, Native: i.Native, Question: i.Question}
		}
	}
	return t
}

// bound keeps the newest results, so many of each kind. It writes into results, which must belong
// to the caller.
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
