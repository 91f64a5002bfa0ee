//go:build linux

package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdpoint/store"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// diskFile is the environment variable with the path of the file that the process uses which
// TestDiskWithoutRoom starts.
const diskFile = "HOLDPOINT_TEST_BOLT_DISK"

// TestDiskWithoutRoom: the disk is full, so a pause cannot be saved, and the step must return an
// error. Pauses saved before must stay and must be answerable. When the disk has room again,
// everything must work again. Instead of filling a disk, the test limits the size of files, because
// the kernel then refuses the same writes. The limit applies to a whole process, so the test starts
// one.
func TestDiskWithoutRoom(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), diskFile+"="+filepath.Join(t.TempDir(), "state.db"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func withoutRoom(path string) error {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(bytes uint64) error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: was.Max})
	}
	s, err := bolt.Open(path, bolt.Options{Options: engine.Options{Sweep: -1}})
	if err != nil {
		return err
	}
	defer s.Stop()
	ctx := context.Background()
	if err := errors.Join(storetest.Do(ctx, s, "first", store.Ask{Pause: bigPause("p")}), limit(256<<10)); err != nil {
		return err
	}
	var full error
	told := 0
	for ; full == nil && told < 10_000; told++ {
		_, full = s.Do(ctx, store.Key(fmt.Sprint("k", told)), store.Ask{Pause: bigPause("p")})
	}
	told-- // the last pause was not saved
	if full == nil || errors.Is(full, store.ErrFull) {
		return fmt.Errorf("the disk did not get full: %w", full)
	}
	for n := range told {
		rec, err := s.Load(ctx, store.Key(fmt.Sprint("k", n)), "")
		if err != nil || rec.State != store.Open {
			return fmt.Errorf("of %d pauses that were saved, %d is %q (%w)", told, n, rec.State, err)
		}
	}
	if rec, err := s.Load(ctx, store.Key(fmt.Sprint("k", told)), ""); err != nil || rec.State != store.None {
		return fmt.Errorf("the pause that was not saved is %q (%w)", rec.State, err)
	}
	if err := limit(was.Cur); err != nil {
		return err
	}
	if _, err := s.Do(ctx, store.Key(fmt.Sprint("k", told)), store.Ask{Pause: bigPause("p")}); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	return nil
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
