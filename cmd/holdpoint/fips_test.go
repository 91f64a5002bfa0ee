//go:build unix

package main

import (
	"crypto/tls"
	"debug/buildinfo"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdpoint/internal/test/authority"
	"holdpoint/internal/test/servers"
)

// TestFIPS: GODEBUG restricts the program to the algorithms of FIPS 140-3. A question must be
// asked, sealed, answered and replayed on every store, and with TLS on both sides. The webhook must
// be signed, the audit must be valid, and the demo must run. If GOFIPS140 is set, as `make fips`
// does, the binary must contain the cryptographic module of that version.
func TestFIPS(t *testing.T) {
	const only = "GODEBUG=fips140=only"
	if want := os.Getenv("GOFIPS140"); want != "" && want != "off" {
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		has := ""
		for _, s := range info.Settings {
			if s.Key == "GOFIPS140" {
				has = s.Value
			}
		}
		if !strings.HasPrefix(has, want) {
			t.Errorf("the binary has the module %q, want %q", has, want)
		}
	}
	if stdout, stderr, code := holdpoint(t, []string{only}, "demo"); code != 0 || !strings.Contains(stdout, "Everything was as promised.") {
		t.Errorf("demo: exit %d\n%s%s", code, stdout, stderr)
	}
	a, files, own := authority.New(t), authority.NewFolder(t), authority.NewFolder(t)
	files.Issue(a, "localhost")
	own.Issue(a, "127.0.0.1")
	certificate, err := tls.LoadX509KeyPair(own.Path("tls.crt"), own.Path("tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(roots, a.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]func(t *testing.T) []string{
		"bolt": func(t *testing.T) []string {
			return []string{"HOLDPOINT_STORE=bolt://" + filepath.Join(t.TempDir(), "state.db")}
		},
		"redis": func(t *testing.T) []string {
			server := servers.StartRedis(t, servers.RedisOptions{User: "holdpoint", Password: redisSecret})
			return []string{"HOLDPOINT_STORE=" + server.URL()}
		},
		"postgres": func(t *testing.T) []string {
			server := servers.StartPostgres(t, servers.PostgresOptions{})
			return []string{"HOLDPOINT_STORE=" + server.URL()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			backend := &asker{}
			upstream := httptest.NewUnstartedServer(backend)
			upstream.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			upstream.StartTLS()
			defer upstream.Close()
			hook := newReceiver(t)
			audit := filepath.Join(t.TempDir(), "audit.jsonl")
			p, addr := start(t, append(store(t), only, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_UPSTREAM_CA_FILE="+roots, "HOLDPOINT_DIALECT=agui",
				"HOLDPOINT_TLS_CERT_FILE="+files.Path("tls.crt"), "HOLDPOINT_TLS_KEY_FILE="+files.Path("tls.key"),
				"HOLDPOINT_STORE_KEYS=k:"+base64.StdEncoding.EncodeToString(make([]byte, 32)), "HOLDPOINT_AUDIT=file://"+audit,
				"HOLDPOINT_WEBHOOK_URL="+hook.URL, "HOLDPOINT_WEBHOOK_PRIVATE=true", "HOLDPOINT_WEBHOOK_SECRET="+hookSecret, "HOLDPOINT_DRAIN_DELAY=0s")...)
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: a.Pool(), ServerName: "localhost"}}}
			run := func(id, rest string) string {
				res, err := client.Post("https://"+addr, "application/json", strings.NewReader(
					fmt.Sprintf(`{"threadId":"t","runId":%q,"messages":[{"id":"m1","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, id, rest)))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			asked := run("r1", "")
			id := askedID.FindStringSubmatch(asked)
			if id == nil {
				t.Fatalf("no question: %s", asked)
			}
			answer := fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id[1])
			for _, again := range []string{"r2", "r3"} {
				if got := run(again, answer); !strings.Contains(got, `"outcome":{"type":"success"}`) {
					t.Errorf("the answer got %s", got)
				}
			}
			if n := backend.answers.Load(); n != 1 {
				t.Errorf("the agent got %d answers", n)
			}
			waitFor(t, hook.took)
			waitFor(t, hook.took)
			hook.mu.Lock()
			if hook.wrong != nil {
				t.Error(hook.wrong)
			}
			hook.mu.Unlock()
			p.Process.Signal(syscall.SIGTERM)
			if code := p.exit(); code != 0 {
				t.Errorf("exit %d", code)
			}
			if stdout, stderr, code := holdpoint(t, []string{only}, "audit", "verify", audit); code != 0 {
				t.Errorf("audit verify: exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}
