//go:build turned

package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTurned checks that the tests protect two orders in the package proxy: claim before send, and
// save before tell. The code has each order at one place. For each order, a patch in
// testdata/turned reverses it, and names the tests that must then fail. So the order cannot be lost
// while all tests pass.
//
// TestTurned applies each patch to a copy of the sources, which includes uncommitted changes.
func TestTurned(t *testing.T) {
	patches, err := filepath.Glob("testdata/turned/*.patch")
	if err != nil || len(patches) < 2 {
		t.Fatalf("%d patches, %v: each order has one", len(patches), err)
	}
	sources := copySources(t)
	for _, name := range patches {
		patch, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^Must fail: (.+)$`).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s does not say which tests must fail", name)
			continue
		}
		tests := strings.Fields(string(found[1]))
		t.Run(filepath.Base(name), func(t *testing.T) {
			if out, err := in(sources, "git", "apply", patch); err != nil {
				t.Fatalf("the patch does not fit any more: make it anew, so that it turns the same order round\n%s", out)
			}
			defer func() {
				if out, err := in(sources, "git", "apply", "-R", patch); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}()
			binary := filepath.Join(t.TempDir(), "proxy.test")
			if out, err := in(sources, "go", "test", "-c", "-o", binary, "./proxy"); err != nil {
				t.Fatalf("the turned sources are no program: %s", out)
			}
			// each test runs alone, so that a test that hangs or panics does not hide another one
			for _, test := range tests {
				out, err := in(filepath.Join(sources, "proxy"), binary, "-test.timeout=3m", "-test.run=^"+test+"$", "-rapid.shrinktime=0s")
				if err == nil || !strings.Contains(out, "--- FAIL: "+test+" ") {
					t.Errorf("%s passes, or fails by something else (%v):\n%.2000s", test, err, out)
				}
			}
		})
	}
}

// copySources copies the source files that git tracks or would add. It returns the folder of the
// copy.
func copySources(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	list, err := in(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.go", "go.mod", "go.sum", "testdata", "proxy", "internal", "translate", "store")
	if err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // the file was deleted, but not yet in git
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// in runs a command in a folder, and returns its output.
func in(dir, name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := command.CombinedOutput()
	return string(out), err
}
