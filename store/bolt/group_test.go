package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"holdpoint/store"
	"holdpoint/store/engine"
)

// A file is a table whose transactions a test can delay.
type file struct {
	testing.TB
	*table
}

func newFile(t testing.TB) *file {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "state.db"), 0o600, options(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &file{t, &table{db: db, writes: group{db: db}, now: time.Now}}
	if err := f.prepare(); err != nil {
		t.Fatal(err)
	}
	return f
}

// transactions returns the number of writing transactions so far.
func (f *file) transactions() (n int) {
	f.Helper()
	if err := f.db.View(func(tx *bbolt.Tx) error { n = tx.ID(); return nil }); err != nil {
		f.Fatal(err)
	}
	return n
}

// together makes changes concurrently, and returns the number of transactions that they took. While
// the first change waits for the file, the other changes arrive.
func (f *file) together(changes ...func()) int {
	f.Helper()
	before := f.transactions()
	held, err := f.db.Begin(true)
	if err != nil {
		f.Fatal(err)
	}
	waiting := func(n int) {
		for got := -1; got != n; runtime.Gosched() {
			f.writes.mu.Lock()
			got = len(f.writes.waiting)
			f.writes.mu.Unlock()
		}
	}
	var all sync.WaitGroup
	for n, change := range changes {
		all.Go(change)
		if n == 0 {
			for begun := false; !begun; runtime.Gosched() { // the first change waits for the file
				f.writes.mu.Lock()
				begun = f.writes.writing && len(f.writes.waiting) == 0
				f.writes.mu.Unlock()
			}
		}
	}
	waiting(len(changes) - 1)
	if err := held.Rollback(); err != nil {
		f.Fatal(err)
	}
	all.Wait()
	return f.transactions() - before
}

func change(from int64) engine.Change {
	return engine.Change{From: from, To: from + 1, Head: []byte("{}"), Opened: time.Now(), Due: time.Now()}
}

// TestTogether: changes that arrive while a transaction is written share the next transaction. Each
// caller must get the result of its own change, and each open thread must be counted once.
func TestTogether(t *testing.T) {
	const n = 100
	write := func(f *file, key string, from int64, want bool) func() {
		return func() {
			if done, err := f.Write(context.Background(), store.Key(key), change(from)); done != want || err != nil {
				f.Errorf("%s: %t, %v; want %t", key, done, err, want)
			}
		}
	}
	t.Run("pauses", func(t *testing.T) {
		f := newFile(t)
		var list []func()
		for i := range n {
			list = append(list, write(f, fmt.Sprint("k", i), 0, true))
		}
		if got := f.together(list...); got != 2 {
			t.Errorf("%d changes in %d transactions, want 2", n, got)
		}
		if open, _ := f.Open(t.Context()); open != n {
			t.Errorf("%d are open, want %d", open, n)
		}
		for i := range n {
			if row, err := f.Read(t.Context(), store.Key(fmt.Sprint("k", i)), false); err != nil || row.Revision != 1 {
				t.Errorf("k%d: %+v, %v", i, row, err)
			}
		}
	})
	t.Run("the same row", func(t *testing.T) {
		f := newFile(t)
		var mu sync.Mutex
		won := 0
		var list []func()
		for range n {
			list = append(list, func() {
				done, err := f.Write(context.Background(), "k", change(0))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if done {
					won++
				}
			})
		}
		if f.together(list...); won != 1 {
			t.Errorf("%d changes of the same row, want 1", won)
		}
		if open, _ := f.Open(t.Context()); open != 1 {
			t.Errorf("%d are open, want 1", open)
		}
	})
	t.Run("one that fails", func(t *testing.T) {
		f := newFile(t)
		err := f.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(rowsBucket).Put([]byte("bad"), []byte("short")) })
		if err != nil {
			t.Fatal(err)
		}
		f.together(write(f, "first", 0, true), write(f, "a", 0, true), func() {
			if done, err := f.Write(context.Background(), "bad", change(0)); done || err == nil {
				t.Errorf("a damaged row: %t, %v", done, err)
			}
		}, write(f, "b", 0, true), write(f, "moved", 7, false))
		if open, _ := f.Open(t.Context()); open != 3 {
			t.Errorf("%d are open, want 3", open)
		}
	})
	t.Run("nothing to change", func(t *testing.T) {
		f := newFile(t)
		if got := f.together(write(f, "a", 7, false), write(f, "b", 7, false), write(f, "c", 7, false)); got != 0 {
			t.Errorf("%d transactions wrote nothing", got)
		}
	})
	t.Run("more than one transaction may have", func(t *testing.T) {
		f := newFile(t)
		var list []func()
		for i := range mostTogether + 2 {
			list = append(list, write(f, fmt.Sprint("k", i), 0, true))
		}
		if got := f.together(list...); got != 3 {
			t.Errorf("%d changes in %d transactions, want 3", len(list), got)
		}
	})
	t.Run("a file that is closed", func(t *testing.T) {
		f := newFile(t)
		if err := f.db.Close(); err != nil {
			t.Fatal(err)
		}
		if done, err := f.Write(t.Context(), "k", change(0)); done || err == nil {
			t.Errorf("%t, %v", done, err)
		}
	})
}

// TestTogetherWithAPanic: several callers make changes in one transaction, and one change panics.
// The caller that writes the transaction must panic too. The callers of the other changes must get
// an error, because the results of their changes are unknown. The file must accept later changes.
func TestTogetherWithAPanic(t *testing.T) {
	f := newFile(t)
	var mu sync.Mutex
	panics, lost := 0, 0
	step := func(change func(*bbolt.Tx) (bool, error)) func() {
		return func() {
			defer func() {
				if recover() != nil {
					mu.Lock()
					defer mu.Unlock()
					panics++
				}
			}()
			if err := f.writes.update(change); errors.Is(err, errBroken) {
				mu.Lock()
				defer mu.Unlock()
				lost++
			} else if err != nil {
				t.Error(err)
			}
		}
	}
	fine := step(func(*bbolt.Tx) (bool, error) { return true, nil })
	f.together(fine, fine, step(func(*bbolt.Tx) (bool, error) { panic("a bug") }), fine)
	if panics != 1 || lost != 2 {
		t.Errorf("%d callers panicked and %d lost their change, want 1 and 2", panics, lost)
	}
	if done, err := f.Write(t.Context(), "k", change(0)); !done || err != nil {
		t.Errorf("behind it: %t, %v", done, err)
	}
}

// BenchmarkLone makes the same change in two ways: alone in a group, and by bbolt directly. It
// reports the median time of each way, in µs.
func BenchmarkLone(b *testing.B) {
	f := newFile(b)
	change := func(tx *bbolt.Tx) (bool, error) {
		return true, tx.Bucket(rowsBucket).Put([]byte("k"), make([]byte, 500))
	}
	var took [2][]time.Duration
	for n := 0; b.Loop(); n++ {
		for turn := range 2 {
			of, err := (n+turn)%2, error(nil)
			begun := time.Now()
			if of == 0 {
				err = f.writes.update(change)
			} else {
				err = f.db.Update(func(tx *bbolt.Tx) error { _, err := change(tx); return err })
			}
			took[of] = append(took[of], time.Since(begun))
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	for of, name := range []string{"group-µs", "bbolt-µs"} {
		slices.Sort(took[of])
		b.ReportMetric(float64(took[of][len(took[of])/2])/1e3, name)
	}
}
