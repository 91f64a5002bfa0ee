//go:build linux

package bolt_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdpoint/store"
	"holdpoint/store/bolt"
)

// On a disk without room a pause is not saved, which is an error; what was saved stays, and is
// answered; and with room everything goes on.
func TestDiskWithoutRoom(t *testing.T) {
	// A limit on the size of files stands for the disk: it holds for this process, and the kernel
	// refuses the same writes.
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	limit := func(bytes uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, bolt.Options{})
	ctx := t.Context()
	if err := s.Open(ctx, "first", "", bigPause("p")); err != nil {
		t.Fatal(err)
	}
	limit(256 << 10)
	defer limit(was.Cur)
	var full error
	told := 0
	for ; full == nil && told < 10_000; told++ {
		full = s.Open(ctx, store.Key(fmt.Sprint("k", told)), "", bigPause("p"))
	}
	told-- // the last one was not saved
	if full == nil || errors.Is(full, store.ErrFull) {
		t.Fatalf("the disk did not get full: %v", full)
	}
	for n := range told {
		rec, err := s.Load(ctx, store.Key(fmt.Sprint("k", n)), "")
		if err != nil || rec.State != store.Open {
			t.Fatalf("of %d pauses that were saved, %d is %q (%v)", told, n, rec.State, err)
		}
	}
	if rec, err := s.Load(ctx, store.Key(fmt.Sprint("k", told)), ""); err != nil || rec.State != store.None {
		t.Errorf("the pause that was not saved is %q (%v)", rec.State, err)
	}
	limit(was.Cur)
	if err := s.Open(ctx, store.Key(fmt.Sprint("k", told)), "", bigPause("p")); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestFileThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	noDir, garbage := filepath.Join(dir, "file"), filepath.Join(dir, "garbage")
	for path, text := range map[string]string{noDir: "", garbage: strings.Repeat("no database ", 10_000)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(noDir, "state.db"), garbage, dir} {
		if s, err := bolt.Open(path, bolt.Options{}); err == nil {
			_ = s.Stop()
			t.Errorf("%s: no error", path)
		} else if !strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), noDir) {
			t.Errorf("the error does not name the file: %v", err)
		}
	}
}
