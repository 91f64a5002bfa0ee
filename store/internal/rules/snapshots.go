package rules

import (
	"iter"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Ref names the snapshots of a moment.
type Ref struct {
	PauseID string
	At      store.Moment
}

// A SnapshotPut has snapshots of a step, which an engine stores beside the record.
type SnapshotPut struct {
	Ref
	store.Snapshots
}

// PauseSnapshots returns the snapshots of a pause that is opened, or nil.
func PauseSnapshots(p *agui.Pause) []SnapshotPut {
	if p == nil || len(p.Messages)+len(p.State) == 0 {
		return nil
	}
	return []SnapshotPut{{Ref{p.ID, store.AtPause}, store.Snapshots{Messages: p.Messages, State: p.State}}}
}

// ResultSnapshots returns the snapshots of a result.
func ResultSnapshots(pauseID string, r *store.Result) []SnapshotPut {
	if pauseID == "" || len(r.Messages)+len(r.State) == 0 {
		return nil
	}
	return []SnapshotPut{{Ref{pauseID, store.AtEnd}, store.Snapshots{Messages: r.Messages, State: r.State}}}
}

// Refs returns the snapshots that the record refers to. If a step removes a reference, the engine
// drops the snapshots in the same step.
func Refs(rec *store.Record) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		if rec.Pause != nil && rec.Pause.SnapshotBytes > 0 && !yield(Ref{rec.Pause.ID, store.AtPause}) {
			return
		}
		if rec.Doubt != nil && rec.Doubt.SnapshotBytes > 0 && !yield(Ref{rec.Doubt.PauseID, store.AtEnd}) {
			return
		}
		for _, r := range rec.Results {
			if r.SnapshotBytes > 0 && !yield(Ref{r.PauseID, store.AtEnd}) {
				return
			}
		}
	}
}

// RefersTo reports whether the record refers to the snapshots.
func RefersTo(rec *store.Record, ref Ref) bool {
	for r := range Refs(rec) {
		if r == ref {
			return true
		}
	}
	return false
}

// SameBody reports whether a step has changed neither the pause, nor the doubt, the results or the
// notes. It compares references, because rules replaces what a record refers to.
func SameBody(a, b *store.Record) bool {
	return a.Pause == b.Pause && a.Doubt == b.Doubt && same(a.Results, b.Results) && same(a.Notes, b.Notes)
}

// SameHead reports whether a step has changed no other part of the record.
func SameHead(a, b *store.Record) bool {
	return a.Owner == b.Owner && a.State == b.State && a.Token == b.Token && a.Digest == b.Digest &&
		a.Lease.Equal(b.Lease) && same(a.Occupants, b.Occupants) && a.Outbox == b.Outbox
}

func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// DropSnapshots drops snapshots of a record that is too large: first those of results, oldest
// first, then those of the pause. It drops nothing else.
func DropSnapshots(rec *store.Record, p Policy) {
	if p.RecordBytes <= 0 {
		return
	}
	over := Bytes(rec) - p.RecordBytes
	for n := len(rec.Results) - 1; n >= 0 && over > 0; n-- {
		if r := rec.Results[n]; r.SnapshotBytes > 0 {
			over -= r.SnapshotBytes
			bare := *r
			bare.SnapshotBytes = 0
			rec.Results = slices.Clone(rec.Results)
			rec.Results[n] = &bare
		}
	}
	if d := rec.Doubt; over > 0 && d != nil && d.SnapshotBytes > 0 {
		over -= d.SnapshotBytes
		bare := *d
		bare.SnapshotBytes = 0
		rec.Doubt = &bare
	}
	if over > 0 {
		Strip(rec)
	}
}

// DueTime returns when an open record next changes by time, or may be used by a process without a
// request: a decided pause is due from its last decision on. opened is when its pause was opened.
func DueTime(rec *store.Record, opened, now time.Time, p Policy) time.Time {
	switch {
	case rec.State == store.Open && rec.Pause != nil && rec.Pause.Decided():
		return rec.Pause.Decisions[len(rec.Pause.Decisions)-1].At // a process has to send the decisions
	case rec.State == store.Open:
		return opened.Add(p.PauseRetention)
	case IsInDoubt(rec, now):
		return rec.Lease.Add(p.PauseRetention)
	}
	return rec.Lease
}

// ForgetTime returns when a record that is not open may be forgotten, if it is not used after now.
// It is now if there is nothing to remember.
func ForgetTime(rec *store.Record, now time.Time, p Policy) time.Time {
	gone := now
	if rec.Owner != "" || len(rec.Results) > 0 || len(rec.Notes) > 0 {
		gone = now.Add(KeepTime(rec, p))
	}
	for _, b := range rec.Occupants {
		gone = laterOf(gone, b.Lease)
	}
	for _, r := range rec.Results {
		gone = laterOf(gone, knownUntil(r, p))
	}
	if o := rec.Outbox; o != nil {
		gone = laterOf(gone, o.Notices[len(o.Notices)-1].At.Add(store.NoticeAge))
	}
	return gone
}

// KeepTime returns the minimum time for which a record that is not open is kept after its last use.
func KeepTime(rec *store.Record, p Policy) time.Duration {
	kept := max(p.PauseRetention, p.ReplayTTL)
	for n := range rec.Notes {
		if kept = max(kept, store.NoteAge); rec.Notes[n].RefersToPause {
			return max(kept, p.longestKept())
		}
	}
	return kept
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Format returns store.Version, or 0 for an empty record.
func Format(rec *store.Record) int {
	if rec.Owner == "" && rec.State == store.None && len(rec.Results)+len(rec.Occupants)+len(rec.Notes) == 0 && rec.Outbox == nil {
		return 0
	}
	return store.Version
}
