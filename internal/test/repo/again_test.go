package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTriedAgain checks which failed tests .ci/again runs a second time. The script runs only a few
// tests again, each by its name. If too many tests have failed, or if something other than a test
// has failed, it must run nothing again.
func TestTriedAgain(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here: the Makefile needs it")
	}
	const failed = "--- FAIL: TestA (0.01s)\n    a_test.go:3: no\nFAIL\nFAIL\tholdpoint/proxy\t0.1s\nok  \tholdpoint/store\t0.2s\nFAIL\n"
	for name, c := range map[string]struct {
		log, list string
		fails     bool // the second run fails too
		want      string
		tries     string
	}{
		"one test":         {log: failed, want: "Add to .ci/tried-again: holdpoint/proxy TestA ", tries: "test -count=1 -run ^TestA$ holdpoint/proxy\n"},
		"it fails again":   {log: failed, fails: true, tries: "test -count=1 -run ^TestA$ holdpoint/proxy\n"},
		"it stands there":  {log: failed, list: "holdpoint/proxy TestA 2026-11-28\n", want: "mend it"},
		"another's stands": {log: failed, list: "holdpoint/store TestA 2026-11-28\nholdpoint/proxy TestAB 2026-11-28\n", want: "Add to", tries: "test -count=1 -run ^TestA$ holdpoint/proxy\n"},
		"two packages": {
			log: failed + "--- FAIL: TestB (1s)\nFAIL\nFAIL\tholdpoint/cmd/holdpoint\t2s\n", want: "Add to",
			tries: "test -count=1 -run ^TestB$ holdpoint/cmd/holdpoint\ntest -count=1 -run ^TestA$ holdpoint/proxy\n",
		},
		"four tests":     {log: "--- FAIL: TestB (1s)\n--- FAIL: TestC (1s)\n--- FAIL: TestD (1s)\n" + failed, want: "no second try"},
		"a panic":        {log: "panic: no\n" + failed, want: "no second try"},
		"a time-out":     {log: failed + "panic: test timed out after 30m0s\n", want: "no second try"},
		"a race":         {log: "WARNING: DATA RACE\n" + failed, want: "no second try"},
		"a leak":         {log: "goleak: Errors on successful test run: found unexpected goroutines\n    leak: 2\n" + failed, want: "no second try"},
		"a build":        {log: "FAIL\tholdpoint/proxy [build failed]\n", want: "no second try"},
		"a package":      {log: "exit status 1\nFAIL\tholdpoint/proxy\t0.1s\n", want: "no second try"},
		"chaos":          {log: "--- FAIL: TestChaos (1s)\nFAIL\nFAIL\tholdpoint/e2e/chaos\t60s\n", want: "no second try"},
		"nothing failed": {log: "ok  \tholdpoint/proxy\t0.1s\n", want: "no second try"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := func(name, text string, mode os.FileMode) string {
				p := filepath.Join(dir, name)
				if err := os.WriteFile(p, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
				return p
			}
			fake := "#!/bin/sh\necho \"$@\" >>" + filepath.Join(dir, "tries") + "\n"
			if c.fails {
				fake += "exit 1\n"
			}
			run := exec.Command("bash", filepath.Join(root, ".ci", "again"), file("log", c.log, 0o600), "-count=1")
			run.Env = append(os.Environ(), "GO="+file("go", fake, 0o700), "TRIED_AGAIN="+file("list", c.list, 0o600))
			out, err := run.CombinedOutput()
			if passes := strings.Contains(c.want, "Add to"); passes != (err == nil) {
				t.Errorf("passes: %v, want %v", err == nil, passes)
			}
			if !strings.Contains(string(out), c.want) {
				t.Errorf("said %q, want %q", out, c.want)
			}
			tries, _ := os.ReadFile(filepath.Join(dir, "tries"))
			if string(tries) != c.tries {
				t.Errorf("tried %q, want %q", tries, c.tries)
			}
		})
	}
}
