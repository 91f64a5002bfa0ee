package settle

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// SavedOutcome is what the record holds of an Outcome, after it was saved.
type SavedOutcome struct {
	Pause    *agui.Pause   // the question that is open now, to be told; nil if none is
	Standing *store.Record // in its place: the record with another question; nil if there is none
	Back     bool          // the claimed pause is open again
	Doubtful bool          // the claimed pause is in doubt
	Err      error         // why the store has not taken the outcome; nil if it has
}
