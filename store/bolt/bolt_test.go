package bolt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/store"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// open opens a file with the test's clock. It is closed when the test ends.
func open(t *testing.T, path string, o bolt.Options) *engine.Store {
	t.Helper()
	o.Sweep = -1
	s, err := bolt.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T, c *storetest.Clock, o storetest.Options) store.Store {
		return open(t, filepath.Join(t.TempDir(), "new", "state.db"), bolt.Options{
			Options: engine.Options{ReplayTTL: o.ReplayTTL, PauseRetention: o.PauseRetention, RecordBytes: o.RecordBytes, Entries: o.Entries},
			Now:     c.Now,
		})
	}, storetest.Unbounded)
}

// A second process on the file must not begin: both would think that they are the only one.
func TestFileIsForOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	open(t, path, bolt.Options{})
	_, err := bolt.Open(path, bolt.Options{LockTimeout: 1})
	if err == nil || !strings.Contains(err.Error(), "another process has") || !strings.Contains(err.Error(), path) {
		t.Errorf("a second one: %v", err)
	}
}
