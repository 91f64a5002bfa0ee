package store_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"holdpoint/store"
)

// A record of every format that was ever written must be read without loss. A new format gets a
// file of its own; the old ones stay as they are.
func TestRecordsOfEveryFormatAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/record.v*.json")
	if err != nil || len(files) != store.Version {
		t.Fatalf("%d files for %d formats (%v)", len(files), store.Version, err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rec store.Record
		d := json.NewDecoder(bytes.NewReader(want))
		d.DisallowUnknownFields()
		if err := d.Decode(&rec); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, err := json.MarshalIndent(rec, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytes.TrimSpace(want), got) {
			t.Errorf("%s is read and written as\n%s", file, got)
		}
	}
}
