//go:build deploy

package deploy

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// startDesk starts Holdpoint with the variables env, and returns the address of its desk.
func startDesk(t *testing.T, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), holdpoint)
	cmd.Env = env
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewScanner(logs)
	for lines.Scan() {
		var line struct {
			Msg  string
			Desk string `json:"desk_addr"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "desk" {
			go io.Copy(io.Discard, logs)
			return "http://" + line.Desk
		}
		t.Log(lines.Text())
	}
	t.Fatal("Holdpoint ended")
	return ""
}

// TestDeskBehindOAuth2Proxy: behind oauth2-proxy, a caller of the desk must have the name with
// which he logged in at the proxy. Headers that he sends through the proxy must not give him
// another name, and neither must a request past the proxy. The desk's own page can make changes,
// and a page of another origin cannot.
func TestDeskBehindOAuth2Proxy(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has more addresses of loopback than one: a peer that is not trusted needs one")
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("access:\n- {names: [alice], agents: [\"*\"], rights: [decide]}\n- {groups: [finance], agents: [\"*\"], rights: [operate]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	direct := startDesk(t, "HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_POLICY="+policy,
		"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_AUTH=header", "HOLDPOINT_DESK_PRINCIPAL=X-Forwarded-User", "HOLDPOINT_DESK_GROUPS=X-Forwarded-Groups",
		"HOLDPOINT_DESK_TRUSTED_PEERS=127.0.0.1")
	through := oauth2Proxy(t, direct, []string{"--pass-user-headers=true", "--skip-auth-strip-headers=true", "--pass-basic-auth=false"})
	other := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		return d.DialContext(ctx, network, address)
	}}}
	defer other.CloseIdleConnections()
	at, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	none := "/v1/approvals/" + strings.Repeat("0", 64) + "." + strings.Repeat("0", 32)
	for _, tt := range []struct {
		name, method, path, user string
		headers                  []string // names and values in turn
		client                   *http.Client
		past                     bool // whether the request goes past the proxy
		status                   int
		want                     string // a part of the response
	}{
		{"alice", "GET", "/v1/me", "alice", nil, http.DefaultClient, false, 200, `"name":"alice","groups":[],"auth":"header","session":false,"rights":["list","read","decide"]`},
		{"mallory", "GET", "/v1/me", "mallory", nil, http.DefaultClient, false, 200, `"name":"mallory","groups":[],"auth":"header","session":false,"rights":[]`},
		{"mallory with alice's name", "GET", "/v1/me", "mallory", []string{"X-Forwarded-User", "alice"}, http.DefaultClient, false, 200, `"name":"mallory"`},
		{"mallory with a group", "GET", "/v1/me", "mallory", []string{"X-Forwarded-Groups", "finance"}, http.DefaultClient, false, 200, `"groups":[]`},
		{"in another spelling", "GET", "/v1/me", "mallory", []string{"X_Forwarded_User", "alice", "X_Forwarded_Groups", "finance"}, http.DefaultClient, false, 200, `"name":"mallory","groups":[]`},
		{"past the proxy", "GET", "/v1/me", "", []string{"X-Forwarded-User", "alice"}, other, true, 403, "HEADER_NOT_TRUSTED"},
		{"past the proxy without a name", "GET", "/v1/me", "", nil, other, true, 401, "UNAUTHENTICATED"},
		{"its own page", "DELETE", none, "alice", []string{"Origin", "http://" + at.Host}, http.DefaultClient, false, 404, "APPROVAL_NOT_FOUND"},
		{"another page", "DELETE", none, "alice", []string{"Origin", "http://evil.example"}, http.DefaultClient, false, 403, "CROSS_ORIGIN"},
		{"nobody says which page", "DELETE", none, "alice", nil, http.DefaultClient, false, 403, "CROSS_ORIGIN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address := through
			if tt.past {
				address = direct
			}
			req, err := http.NewRequestWithContext(t.Context(), tt.method, address+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.user != "" {
				req.SetBasicAuth(tt.user, "password")
			}
			for n := 0; n < len(tt.headers); n += 2 {
				req.Header[tt.headers[n]] = []string{tt.headers[n+1]} // in exactly this spelling
			}
			res, err := tt.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			if res.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
				t.Errorf("%d %s, want %d with %s", res.StatusCode, text, tt.status, tt.want)
			}
		})
	}
}
