package bolt_test

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// TestSize measures how many bytes a thread takes in the file. Free pages do not count.
func TestSize(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	begin := func() *engine.Store {
		s, err := bolt.Open(path, bolt.Options{Options: engine.Options{Sweep: -1}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := &reopened{Store: begin()}
	defer func() { _ = s.Stop() }()
	waiting, ended := storetest.Measure(t, s, 300, func() int64 {
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		defer func() { s.Store = begin() }()
		return inUse(t, path)
	})
	if waiting > 15_000 || ended > 25_000 {
		t.Errorf("a thread that waits takes %d bytes, and %d after its end", waiting, ended)
	}
}

// A reopened is a store that the test closes and reopens now and then, on the same file.
type reopened struct{ *engine.Store }

func inUse(t *testing.T, path string) int64 {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var size int64
	if err := db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	free := db.Stats()
	return size - int64(free.FreePageN+free.PendingPageN)*int64(db.Info().PageSize)
}
