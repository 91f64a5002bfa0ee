//go:build unix

package main

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/test/authority"
)

// TestReloader: the test uses fake time. The reloader must notice a changed file within five
// seconds, and log an error in a file once. HUP must run all reloads.
func TestReloader(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("token", "one")
	write("headers", "one")
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var did []string
		r := &reloader{logger: slog.New(slog.NewTextHandler(&log, nil)), startTime: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
		add := func(name string, files ...string) {
			r.add(name, func() error {
				did = append(did, name)
				for _, file := range files {
					if text, err := os.ReadFile(file); err != nil || string(text) == "bad" {
						return errors.Join(err, errors.New("it is bad"))
					}
				}
				return nil
			}, files...)
		}
		add("token", path("token"), path("headers"))
		add("headers", path("headers"))
		add("audit")
		r.add("nothing", nil, path("token"))
		go r.watch(t.Context())
		step := func(what string, errs int, want ...string) {
			t.Helper()
			time.Sleep(watchInterval)
			synctest.Wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			if !slices.Equal(did, want) || strings.Count(log.String(), "level=ERROR") != errs {
				t.Errorf("%s: did %q, want %q, with %d errors:\n%s", what, did, want, errs, log.String())
			}
			did = nil
			log.Reset()
		}
		step("nothing has changed", 0)
		write("token", "two")
		step("one file", 0, "token")
		write("headers", "bad")
		step("a bad one", 2, "token", "headers")
		step("still bad", 0)
		if read, failed := r.runAll(); read != 1 || failed != 2 {
			t.Errorf("HUP: %d read, %d failed", read, failed)
		}
		step("at HUP", 2, "token", "headers", "audit")
		os.Remove(path("headers"))
		step("a file is gone", 2, "token", "headers")
		step("still gone", 0)
		write("headers", "two")
		step("it is back", 0, "token", "headers")
	})
	synctest.Test(t, func(t *testing.T) {
		r := &reloader{logger: slog.New(slog.DiscardHandler), startTime: time.Unix(0, 0)}
		did := 0
		r.add("young", func() error { did++; return nil }, path("token"))
		r.reloadChanged()
		r.reloadChanged()
		if did != 1 {
			t.Errorf("a file that may have changed since it was read: read again %d times, want once", did)
		}
	})
}

// TestFilesAreReadAgain: each file of the settings is replaced in the way of Kubernetes (by a link
// to a new folder). Holdpoint must read it again without a signal. It must also read all files
// again at `holdpoint reload`.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel() // it waits until the files are checked
	key := func(id string) string { return id + ":AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" }
	good := func(word string) map[string][]byte {
		return map[string][]byte{
			"headers": []byte("X-Key: " + word), "keys": []byte(key(word)), "owners": []byte(strings.Repeat(word, 32)),
			"tokens": []byte(strings.Repeat(word, 64)), "desk": []byte("X-Desk: " + word), "secret": []byte("whsec_" + strings.Repeat(word, 32)),
		}
	}
	f := authority.NewFolder(t)
	f.Put(good("a"))
	header := make(chan string, 1)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { header <- req.Header.Get("X-Key") }))
	defer backend.Close()
	probes := socket(t)
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_ADMIN_LISTEN="+probes, "HOLDPOINT_STORE=bolt://"+filepath.Join(t.TempDir(), "state.db"),
		"HOLDPOINT_UPSTREAM_HEADERS_FILE="+f.Path("headers"), "HOLDPOINT_STORE_KEYS_FILE="+f.Path("keys"),
		"HOLDPOINT_PRINCIPAL_HEADER=X-User", "HOLDPOINT_TRUSTED_PEERS=127.0.0.1", "HOLDPOINT_PRINCIPAL_KEY_FILE="+f.Path("owners"),
		"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE="+f.Path("tokens"), "HOLDPOINT_DESK_HEADERS_FILE="+f.Path("desk"),
		"HOLDPOINT_WEBHOOK_URL=http://127.0.0.1:1/", "HOLDPOINT_WEBHOOK_PRIVATE=true", "HOLDPOINT_WEBHOOK_SECRET_FILE="+f.Path("secret"))
	all := []string{
		"HOLDPOINT_UPSTREAM_HEADERS_FILE", "HOLDPOINT_DESK_HEADERS_FILE", "HOLDPOINT_STORE_KEYS_FILE", "HOLDPOINT_PRINCIPAL_KEY_FILE",
		"HOLDPOINT_WEBHOOK_*_FILE", "keys of sessions at the desk", "HOLDPOINT_DESK_TOKEN_FILE",
	}
	says := func(message string) {
		t.Helper()
		var got []string
		for range all {
			got = append(got, p.wait(t, message)["what"].(string))
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(all))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	gets := func(want string) {
		t.Helper()
		req, _ := http.NewRequest(http.MethodGet, "http://holdpoint/", nil)
		req.Header.Set("X-User", "ann")
		res, err := clientOf(addr).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if got := <-header; got != want {
			t.Errorf("the backend gets %q, want %q", got, want)
		}
	}
	gets("a")
	f.Put(good("b"))
	says("read again")
	gets("b")
	reload := func(code int, says string) {
		t.Helper()
		out, errs, got := holdpoint(t, []string{"HOLDPOINT_ADMIN_LISTEN=" + probes}, "reload")
		if got != code || !strings.Contains(out+errs, says) {
			t.Errorf("exit %d, want %d with %q: %s%s", got, code, says, out, errs)
		}
	}
	bad := map[string][]byte{}
	for name := range good("b") {
		bad[name] = []byte("\x00")
	}
	f.Put(bad)
	says("not read again: what was read before stays in effect")
	gets("b")
	reload(1, "The log has the errors")
	f.Put(good("c"))
	reload(0, "reloaded")
	gets("c")
}
