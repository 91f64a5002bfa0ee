package bolt_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// open opens a store on a file and closes it when the test ends. The caller sets the clock in o.
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

// TestUnsentOutlivesItsRow: the store forgets a row that still has notices to send. The row's entry
// in the list of unsent notices remains, because the file keeps that list separately. The next Take
// must remove the entry.
func TestUnsentOutlivesItsRow(t *testing.T) {
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	o := bolt.Options{Now: func() time.Time { return now }}
	path := filepath.Join(t.TempDir(), "state.db")
	o.Sweep = -1
	s, err := bolt.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	notices := []store.Notice{{ID: "n", Body: []byte("{}")}}
	err = errors.Join(
		storetest.Do(t.Context(), s, "k", store.Ask{Pause: agui.Pause{ID: "p"}, Notices: notices}),
		storetest.Do(t.Context(), s, "k", store.Close{PauseID: "p", Result: store.Result{EndKind: store.Withdrawn}}), s.Stop(),
	)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, path, o)
	for n, want := range []int{1, 1, 0} {
		if page, err := s.List(t.Context(), store.Query{WithNotices: true, Due: now}); err != nil || len(page.Rows) != want {
			t.Errorf("%d: %v, %v", n, page.Rows, err)
		}
		switch n {
		case 0:
			now = now.Add(store.DefaultPauseRetention)
			s.Sweep(t.Context())
		case 1:
			if taken, err := s.Do(t.Context(), "k", store.Take{Hold: time.Minute}); err != nil || taken.Notices != nil {
				t.Errorf("took %v, %v", taken, err)
			}
		}
	}
}

// TestFileIsForOneProcess: a second process must not open the file, because each process assumes
// that it is the only one.
func TestFileIsForOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	open(t, path, bolt.Options{})
	_, err := bolt.Open(path, bolt.Options{LockTimeout: 1})
	if !errors.Is(err, bolt.ErrInUse) || !strings.Contains(err.Error(), "another process has") || !strings.Contains(err.Error(), path) {
		t.Errorf("a second one: %v", err)
	}
}

// TestOpenWhenFree: a waiting process gets the file as soon as the other process closes it. If the
// context of the waiting process ends first, it stops waiting.
func TestOpenWhenFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	first, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stops := errors.New("a signal")
	ctx, stop := context.WithCancelCause(t.Context())
	waits := 0
	if s, err := bolt.OpenWhenFree(ctx, path, bolt.Options{}, func() { waits++; stop(stops) }); !errors.Is(err, stops) || s != nil || waits != 1 {
		t.Errorf("at the signal: %v, %v, told %d times", s, err, waits)
	}
	waits = 0
	s, err := bolt.OpenWhenFree(t.Context(), path, bolt.Options{}, func() { waits++; go first.Stop() })
	if err != nil || waits != 1 {
		t.Fatalf("when it is free: %v, told %d times", err, waits)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	waits = 0
	if s, err = bolt.OpenWhenFree(ctx, path, bolt.Options{}, func() { waits++ }); err != nil || waits != 0 {
		t.Fatalf("a file that is free: %v, told %d times", err, waits)
	}
	s.Stop()
	if _, err := bolt.OpenWhenFree(t.Context(), filepath.Dir(path), bolt.Options{}, func() { t.Error("it waits for a folder") }); err == nil {
		t.Error("a folder was opened")
	}
}
