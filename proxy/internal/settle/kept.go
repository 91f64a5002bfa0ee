package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A SavedOutcome is what the record has after an Outcome was saved.
type SavedOutcome struct {
	Pause    *agui.Pause   // the pause that is open now, for the client; nil if there is none
	Standing *store.Record // the record with another open question, which counts in its place; nil if there is none
	Back     bool          // the claimed pause is open again
	Doubtful bool          // the claimed pause is in doubt
	Err      error         // why the outcome was not saved; nil if it was
}
