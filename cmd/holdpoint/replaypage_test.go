//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// TestDebuggingPage runs the commands of docs/debugging.md with a backend that asks a question, and
// compares their output with the page.
func TestDebuggingPage(t *testing.T) {
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine; make test has it", tool) // make unit must need Go only
		}
	}
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/agent" {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1"}

data: {"type":"CUSTOM","name":"on_interrupt","value":"\"Delete a.txt?\"","rawEvent":{"value":"Delete a.txt?","id":"95b93ade5d71718992515f7daf83c1ce"}}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}

`)
	}))
	defer backend.Close()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, target := range map[string]string{"holdpoint": binary, "testdata": filepath.Join(root, "testdata")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, dir, "request.json", `{"threadId":"t1","runId":"r1","messages":[{"id":"u1","role":"user","content":"Clean up."}],"tools":[],"state":{},"context":[],"forwardedProps":{}}`)
	typed, printed := 0, ""
	for _, b := range blocksOf(t, func(b pages.Block) bool { return b.Runs == "cmd/holdpoint: TestDebuggingPage" }) {
		if b.Language == "text" {
			likePage(t, printed, b.Text)
			continue
		}
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(b.Text, "http://localhost:8000", backend.URL))
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("line %d: %v\n%s", b.Line, err, out)
		}
		typed, printed = typed+1, string(out)
	}
	if typed != 3 || !strings.Contains(printed, "turn 3") {
		t.Errorf("%d blocks, and the last prints\n%s", typed, printed)
	}
}

// likePage compares printed with a block of the page, line by line. If a line of the block ends in
// …, the printed line needs only to begin with the text before the ….
func likePage(t *testing.T, printed, block string) {
	t.Helper()
	got, want := strings.Split(printed, "\n"), strings.Split(block, "\n")
	for n := range max(len(got), len(want)) {
		if n >= len(got) || n >= len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), printed)
		}
		begin, cut := strings.CutSuffix(want[n], "…")
		if got[n] != want[n] && !(cut && strings.HasPrefix(got[n], begin)) {
			t.Errorf("line %d: got\n%s\nwant\n%s", n+1, got[n], want[n])
		}
	}
}
