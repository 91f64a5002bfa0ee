package rules

import (
	"iter"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Ref names the snapshots that were saved when a pause was opened, or when it ended.
type Ref struct {
	PauseID string
	At      store.Moment
}

// A SnapshotPut has the snapshots that a step saves. The store keeps them separately from the
// record.
type SnapshotPut struct {
	Ref
	store.Snapshots
}

// PauseSnapshots returns the snapshots to save when the pause is opened, or nil if it has none.
func PauseSnapshots(p *agui.Pause) []SnapshotPut {
	if p == nil || len(p.Messages)+len(p.State) == 0 {
		return nil
	}
	return []SnapshotPut{{Ref{p.ID, store.AtPause}, store.Snapshots{Messages: p.Messages, State: p.State}}}
}

// ResultSnapshots returns the snapshots to save when the pause ends with this result, or nil if the
// result has none.
func ResultSnapshots(pauseID string, r *store.Result) []SnapshotPut {
	if pauseID == "" || len(r.Messages)+len(r.State) == 0 {
		return nil
	}
	return []SnapshotPut{{Ref{pauseID, store.AtEnd}, store.Snapshots{Messages: r.Messages, State: r.State}}}
}

// Refs returns the Refs of all snapshots to which the record refers. If a step removes a reference,
// the same step must drop its snapshots.
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

// RefersTo reports whether the record refers to the snapshots that ref names.
func RefersTo(rec *store.Record, ref Ref) bool {
	for r := range Refs(rec) {
		if r == ref {
			return true
		}
	}
	return false
}

// SameBody reports whether the pause, the doubt, the results and the notes are the same before and
// after a step. It compares only references, because this package never changes a value to which a
// record refers, but replaces it.
func SameBody(a, b *store.Record) bool {
	return a.Pause == b.Pause && a.Doubt == b.Doubt && Same(a.Results, b.Results) && Same(a.Notes, b.Notes)
}

// SameHead reports whether the parts of the record that SameBody does not compare are the same
// before and after a step.
func SameHead(a, b *store.Record) bool {
	return a.Owner == b.Owner && a.State == b.State && a.Token == b.Token && a.Digest == b.Digest &&
		a.Lease.Equal(b.Lease) && Same(a.Occupants, b.Occupants) && a.Outbox == b.Outbox
}

// Same reports whether two slices are the same slice. It does not compare their elements, because
// rules never writes into a slice of a record.
func Same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// DropSnapshots drops snapshots of a record that is too large. It drops the snapshots of the
// results first, the oldest first, and then those of the pause. It drops nothing else.
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

// DueTime returns the time at which the record of an open pause next changes without a step, or at
// which a process may act on it without a request. A pause with all its decisions is due from the
// time of its last decision on. The parameter opened is the time when the pause was opened.
func DueTime(rec *store.Record, opened, now time.Time, p Policy) time.Time {
	switch {
	case rec.State == store.Open && rec.Pause != nil && rec.Pause.Decided():
		// any process may send the decisions now
		return rec.Pause.Decisions[len(rec.Pause.Decisions)-1].At
	case rec.State == store.Open:
		return opened.Add(p.PauseRetention)
	case IsInDoubt(rec, now):
		return rec.Lease.Add(p.PauseRetention)
	}
	return rec.Lease
}

// ForgetTime returns the time after which a record without an open pause may be deleted, if it is
// not used after now. If the record contains nothing that must be kept, ForgetTime returns now.
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

// KeepTime returns the minimum time for which a record without an open pause is kept after its last
// use.
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

// Format returns the version of the format in which the record must be written. It is
// store.Version, or 0 if the record is empty.
func Format(rec *store.Record) int {
	if rec.Owner == "" && rec.State == store.None && len(rec.Results)+len(rec.Occupants)+len(rec.Notes) == 0 && rec.Outbox == nil {
		return 0
	}
	return store.Version
}
