package rules

import (
	"encoding/json"
	"testing"
	"time"

	"holdpoint/store"
)

// TestNotesAreKept: notes are known for store.NoteAge at least, however short the times of threads
// are.
func TestNotesAreKept(t *testing.T) {
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	var rec store.Record
	if err := Remember(&rec, now, store.Note{ID: "a", Text: json.RawMessage("{}")}, 1); err != nil {
		t.Fatal(err)
	}
	for retention, want := range map[time.Duration]time.Duration{time.Minute: store.NoteAge, 720 * time.Hour: 720 * time.Hour} {
		if gone := Gone(&rec, now, Policy{PauseRetention: retention}); !gone.Equal(now.Add(want)) {
			t.Errorf("with a retention of %s it is gone at %s", retention, gone)
		}
	}
}
