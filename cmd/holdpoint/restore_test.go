//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestRestoredFile: the store's file is copied while a question is open. The question is approved,
// and then the file is restored from the copy. The question must be open again, and a second
// approval runs the action a second time, as docs/operations.md warns. If Holdpoint starts with an
// empty store instead, no action may run twice.
func TestRestoredFile(t *testing.T) {
	var did atomic.Int64
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		outcome := `,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation"}]}`
		if strings.Contains(string(body), `"resume":[`) {
			did.Add(1)
			outcome = ""
		}
		_, _ = w.Write([]byte("data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n" +
			"data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"" + outcome + "}\n\n"))
	}))
	t.Cleanup(backend.Close)
	dir := t.TempDir()
	state, backup := filepath.Join(dir, "state.db"), filepath.Join(dir, "backup.db")
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_STORE=bolt://" + filepath.ToSlash(state),
		"HOLDPOINT_DRAIN_DELAY=0",
	}
	p, addr := start(t, environ...)
	end := func() {
		t.Helper()
		p.Process.Signal(syscall.SIGTERM)
		if code := p.exit(); code != 0 {
			t.Fatalf("exit %d", code)
		}
	}
	put := func(from, to string) {
		t.Helper()
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(more string) string {
		t.Helper()
		text, err := play(clientOf(addr), "t", more)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	asked := run("")
	id := field([]byte(asked[strings.Index(asked, `"interrupts"`):]), "id")
	yes := `,"resume":[{"interruptId":"` + id + `","status":"resolved","payload":{"approved":true}}]`
	end()
	put(state, backup)
	p, addr = start(t, environ...)
	for range 2 { // the second request gets the recorded end
		if text := run(yes); !strings.Contains(text, "RUN_FINISHED") || did.Load() != 1 {
			t.Fatalf("the answer ran %d times:\n%s", did.Load(), text)
		}
	}
	end()
	put(backup, state)
	p, addr = start(t, environ...)
	if text := run(""); !strings.Contains(text, id) {
		t.Errorf("after the restore the question does not wait:\n%s", text)
	}
	if text := run(yes); !strings.Contains(text, "RUN_FINISHED") || did.Load() != 2 {
		t.Errorf("what was approved after the restore ran %d times, want 2:\n%s", did.Load(), text)
	}
	end()
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	p, addr = start(t, environ...)
	if text := run(yes); !strings.Contains(text, "UNKNOWN_INTERRUPT_ID") || did.Load() != 2 {
		t.Errorf("an empty store: it ran %d times, want 2:\n%s", did.Load(), text)
	}
	end()
}
