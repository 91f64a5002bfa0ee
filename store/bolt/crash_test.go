//go:build linux

package bolt_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/bolt"
	"holdpoint/store/engine"
	"holdpoint/store/storetest"
)

// childFile is the environment variable with the path of the file that the process uses which
// TestKilled kills.
const childFile = "HOLDPOINT_TEST_BOLT_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(child(path))
	}
	if path := os.Getenv(diskFile); path != "" {
		if err := withoutRoom(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child opens, claims and finishes pauses on several threads concurrently until it is killed, so
// that steps share transactions. It prints each step twice: before the step begins and after the
// step has returned.
func child(path string) int {
	s, err := bolt.Open(path, bolt.Options{Options: engine.Options{Sweep: -1}, LockTimeout: 10 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	failed := make(chan error)
	for thread := range 7 {
		go func() {
			for n := 0; ; n++ {
				if err := pass(s, store.Key(fmt.Sprint("k", thread)), fmt.Sprint(os.Getenv("HOLDPOINT_TEST_ROUND"), ".", thread, ".", n)); err != nil {
					failed <- err
				}
			}
		}()
	}
	fmt.Fprintln(os.Stderr, <-failed)
	return 1
}

// pass opens a pause on a thread, claims it and finishes it. Before that, it ends the pause that an
// earlier round may have left.
func pass(s store.Store, key store.Key, id string) error {
	rec, err := s.Load(context.Background(), key, "")
	switch { // the state from an earlier round
	case err != nil || rec.State == store.None:
	case rec.State == store.Claimed:
		err = storetest.Do(context.Background(), s, key, store.Finish{Token: rec.Token, Result: store.Result{EndKind: store.Finished}})
	default:
		err = storetest.Do(context.Background(), s, key, store.Close{PauseID: rec.Pause.ID, Result: store.Result{EndKind: store.Withdrawn}})
	}
	end := store.Result{EndKind: store.Finished, Messages: json.RawMessage(`["` + id + `"]`)}
	for _, step := range []store.Step{
		store.Ask{Pause: bigPause(id)},
		store.Claim{PauseID: id, Token: "token of " + id, Digest: "d", Lease: time.Hour},
		store.Finish{Token: "token of " + id, Result: end},
	} {
		if err == nil {
			fmt.Println("begin", key, store.NameOf(step), id)
			err = storetest.Do(context.Background(), s, key, step)
		}
		if err == nil {
			fmt.Println("done", key, store.NameOf(step), id)
		}
	}
	return err
}

func bigPause(id string) agui.Pause {
	return agui.Pause{
		ID: id, Interrupts: []agui.Interrupt{{ID: id + "~1", Object: json.RawMessage(`{"reason":"input"}`)}},
		Messages: json.RawMessage(`["` + strings.Repeat(id, 2000) + `"]`),
	}
}

// TestKilled: after a kill -9 at any instruction, the file must contain every step that had
// returned. A step that had begun and not returned must be done completely or not at all.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	steps := 0
	for round := range rounds {
		steps += killedRound(t, path, fmt.Sprint(round))
	}
	if steps == 0 {
		t.Error("no step was done before a kill")
	}
	t.Logf("%d steps in %d rounds", steps, rounds)
}

// killedRound runs a child, kills it, and returns the number of steps that were done before.
func killedRound(t *testing.T, path, round string) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path, "HOLDPOINT_TEST_ROUND="+round)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after := 1 + rand.N(60)
	begun, done := map[string]string{}, map[string]string{} // the last step for each key
	n := 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		key, step, _ := strings.Cut(rest, " ")
		if what == "begin" {
			begun[key] = step
			continue
		}
		done[key] = step
		if n++; n == after {
			time.Sleep(rand.N(2 * time.Millisecond)) // so that the kill comes within a later step
			_ = cmd.Process.Kill()
		}
	}
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); n < after {
		t.Fatalf("it ended by itself after %d of %d steps: %v", n, after, err)
	}
	s, err := bolt.Open(path, bolt.Options{Options: engine.Options{Sweep: -1}, LockTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	for key, last := range done {
		rec, err := storetest.Whole(t.Context(), s, store.Key(key))
		if err != nil {
			t.Fatal(err)
		}
		if got := stepOf(rec); got != last && got != begun[key] {
			t.Errorf("round %s: thread %s is at %q, want %q, or %q that was under way", round, key, got, last, begun[key])
		}
	}
	return n
}

// stepOf returns the step that must have been the last one on this record.
func stepOf(rec store.Record) string {
	switch {
	case rec.State == store.Open && len(rec.Pause.Messages) > 2000:
		return "open " + rec.Pause.ID
	case rec.State == store.Claimed && rec.Token == "token of "+rec.Pause.ID && len(rec.Pause.Messages) > 2000:
		return "claim " + rec.Pause.ID
	case rec.State == store.None && len(rec.Results) > 0 && string(rec.Results[0].Messages) == `["`+rec.Results[0].PauseID+`"]`:
		return "finish " + rec.Results[0].PauseID
	}
	return fmt.Sprintf("%s, with %d results", rec.State, len(rec.Results))
}
