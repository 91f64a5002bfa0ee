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
	for retention, want := range map[time.Duration]time.Duration{time.Minute: 2*time.Minute + store.NoteAge, 720 * time.Hour: 1440*time.Hour + store.NoteAge} {
		if gone := Gone(&rec, now, Policy{PauseRetention: retention}); !gone.Equal(now.Add(want)) {
			t.Errorf("with a retention of %s it is gone at %s", retention, gone)
		}
	}
	rec.Owner = "alice" // a thread with notes is known for as long as others
	if gone := Gone(&rec, now, Policy{PauseRetention: 720 * time.Hour}); !gone.Equal(now.Add(720 * time.Hour)) {
		t.Errorf("a thread is gone at %s", gone)
	}
	later := store.Note{ID: "b", Text: json.RawMessage("{}"), Until: now.Add(9000 * time.Hour)}
	if err := Remember(&rec, now, later, 2); err != nil {
		t.Fatal(err)
	}
	if gone := Gone(&rec, now, Policy{PauseRetention: 720 * time.Hour}); !gone.Equal(later.Until) {
		t.Errorf("a note for longer is gone at %s", gone)
	}
}
