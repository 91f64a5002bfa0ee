package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A SavedOutcome says what the record contains after an Outcome was saved, or why it was not saved.
type SavedOutcome struct {
	// the pause that is open now, as the client gets it; nil if no pause is open
	Pause *agui.Pause
	// the record, if it already has another open question, which counts instead of this one;
	// otherwise nil
	Standing *store.Record
	Reopened bool  // the claimed pause is open again
	Doubtful bool  // the claimed pause is in doubt
	Err      error // why the outcome was not saved; nil if it was
}
