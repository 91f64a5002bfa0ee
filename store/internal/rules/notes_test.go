package rules

import (
	"encoding/json"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// TestNotesAreKept: notes are kept for at least store.NoteAge, however short the retention of
// threads is. A note that refers to a pause is kept for as long as the pause can be kept, whatever
// else the record contains.
func TestNotesAreKept(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		leads     bool
		owner     string
		retention time.Duration
		want      time.Duration
	}{
		"a short retention":                    {false, "", time.Minute, day},
		"a long one":                           {false, "", 30 * day, 30 * day},
		"of a thread":                          {false, "alice", 30 * day, 30 * day},
		"it leads to a pause":                  {true, "", 30 * day, 62 * day},
		"it leads to one, a short retention":   {true, "", time.Minute, 2*day + 2*time.Minute},
		"of a thread, and leads to a pause":    {true, "alice", 30 * day, 62 * day},
		"nothing but the times of the notes":   {false, "", 0, day},
		"the same, and it leads to some pause": {true, "", 0, 2 * day},
	} {
		t.Run(name, func(t *testing.T) {
			rec := store.Record{Owner: c.owner}
			for n, note := range []store.Note{{ID: "a", Text: json.RawMessage("{}"), RefersToPause: c.leads}, {ID: "b", Text: json.RawMessage("{}")}} {
				if err := remember(&rec, now, note, 2); err != nil {
					t.Fatal(n, err)
				}
			}
			if gone := ForgetTime(&rec, now, Policy{PauseRetention: c.retention, ReplayTTL: day}); !gone.Equal(now.Add(c.want)) {
				t.Errorf("it is gone after %s, want %s", gone.Sub(now), c.want)
			}
		})
	}
}

// TestExpiryIsBounded: a result is kept until the latest expiry of its pause, but not longer than a
// pause can be kept, because the backend chooses the expiry.
func TestExpiryIsBounded(t *testing.T) {
	const day = 24 * time.Hour
	opened := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	ended := opened.Add(day)
	for expires, want := range map[string]time.Duration{
		"":                     2 * day,
		"tomorrow":             2 * day,
		"2026-11-25T11:00:00Z": 2 * day,
		"2026-12-25T10:00:00Z": 30 * day,
		"2027-01-26T10:00:00Z": 62 * day,
		"2027-01-26T10:00:01Z": 62 * day,
		"9999-12-31T23:59:59Z": 62 * day,
	} {
		t.Run(expires, func(t *testing.T) {
			p := agui.Pause{ID: "p", Opened: opened, Interrupts: []agui.Interrupt{{ID: "i", Object: json.RawMessage(`{"expiresAt":"` + expires + `"}`)}}}
			rec := store.Record{Results: []*store.Result{{PauseID: "p", At: ended, Pause: &p, EndKind: store.Finished}}}
			policy := Policy{PauseRetention: 30 * day, ReplayTTL: day}
			if got, wanted := ForgetTime(&rec, ended, policy), opened.Add(max(want, 31*day)); !got.Equal(wanted) {
				t.Errorf("it is gone at %s, want %s", got, wanted)
			}
			before := rec
			if Settle(&before, opened.Add(want-1), policy); before.Results[0].Tombstone {
				t.Error("a tombstone too early")
			}
			if Settle(&rec, opened.Add(want), policy); !rec.Results[0].Tombstone {
				t.Error("still known")
			}
		})
	}
}
