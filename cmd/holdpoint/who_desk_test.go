//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"
)

// writeFile writes a file into a folder, and returns its path.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// as returns a copy of the caller that sends another token.
func (c caller) as(token string) caller {
	c.token = token
	return c
}

// tokenLine returns a line of the desk's token file. The line has the parameter who and the hash of
// the token.
func tokenLine(who, token string) string {
	return fmt.Sprintf("%s sha256:%x\n", who, sha256.Sum256([]byte(token)))
}

// signIn signs in at the desk with a token, and returns the cookie that the desk sets.
func (c caller) signIn(token string) *http.Cookie {
	c.Helper()
	req, _ := http.NewRequest("POST", "http://localhost/v1/session", strings.NewReader(fmt.Sprintf(`{"token":%q}`, token)))
	req.Header.Set("Content-Type", "application/json")
	res, err := clientOf(c.at).Do(req)
	if err != nil {
		c.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNoContent || len(res.Cookies()) != 1 {
		c.Fatalf("to sign in: %d, %s", res.StatusCode, res.Cookies())
	}
	return res.Cookies()[0]
}

// withCookie sends a GET request as the desk's own page does, with the cookie. It returns the
// status and the parsed body.
func (c caller) withCookie(cookie *http.Cookie, path string) (int, gjson.Result) {
	c.Helper()
	req, _ := http.NewRequest("GET", "http://localhost"+path, nil)
	req.AddCookie(cookie)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := clientOf(c.at).Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, gjson.ParseBytes(text)
}

const policyOfAnn = "access:\n- {names: [ann], agents: [billing], rights: [decide]}\n"

// TestPolicy: the policy file decides which rights each caller of the desk has. Holdpoint must read
// the file again at HUP and when it changes. If the new file is invalid, the old policy stays. At
// start, and for holdpoint check, an invalid file must be an error.
func TestPolicy(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(&asker{})
	defer upstream.Close()
	dir := t.TempDir()
	policy := writeFile(t, dir, "policy.yaml", policyOfAnn)
	const tokenOfAnn = "ann's token, which is long enough"
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_NAME=billing", "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s", "HOLDPOINT_POLICY=" + policy,
		"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE=" + writeFile(t, dir, "tokens", deskToken+"\n"+tokenLine("ann", tokenOfAnn)+tokenLine("bob finance", otherToken)),
	}
	p := startAs(t, environ...)
	c := caller{T: t, at: p.wait(t, "desk")["desk_addr"].(string), token: tokenOfAnn}
	addr := p.wait(t, "listening")["addr"].(string)
	post(t, addr, "/", "t1", "")
	sees := func(token string) int {
		t.Helper()
		return len(c.as(token).ok("GET", "/v1/approvals").Get("approvals").Array())
	}
	if sees(tokenOfAnn) != 1 || sees(deskToken) != 0 || sees(otherToken) != 0 {
		t.Errorf("ann sees %d, the operator %d, bob %d", sees(tokenOfAnn), sees(deskToken), sees(otherToken))
	}
	id := c.ok("GET", "/v1/approvals").Get("approvals.0.id").Str
	for token, want := range map[string]int{deskToken: http.StatusNotFound, otherToken: http.StatusNotFound, tokenOfAnn: http.StatusForbidden} {
		if status, _ := c.as(token).call("DELETE", "/v1/approvals/"+id); status != want {
			t.Errorf("to free: %d, want %d", status, want)
		}
	}

	for _, bad := range []string{"", "access: []\n", policyOfAnn + "rules: []\n", "access:\n- {names: [bob], agents: [\"*\"], rights: [everything]}\n"} {
		writeFile(t, dir, "policy.yaml", bad)
		p.Process.Signal(syscall.SIGHUP)
		if failed := p.wait(t, "reloaded")["failed"]; failed != 1.0 {
			t.Errorf("%q: %v were not read", bad, failed)
		}
		if sees(tokenOfAnn) != 1 || sees(otherToken) != 0 {
			t.Errorf("%q: ann sees %d, bob %d", bad, sees(tokenOfAnn), sees(otherToken))
		}
		if _, said, code := holdpoint(t, environ, "check"); code != exitMisuse || !strings.Contains(said, "HOLDPOINT_POLICY") {
			t.Errorf("%q: check says %d %s", bad, code, said)
		}
		if _, said, code := holdpoint(t, environ, "run"); code != exitMisuse || !strings.Contains(said, "HOLDPOINT_POLICY") {
			t.Errorf("%q: it starts: %d %s", bad, code, said)
		}
	}
	writeFile(t, dir, "policy.yaml", "access:\n- {groups: [finance], agents: [\"bill*\"], rights: [operate]}\n")
	p.Process.Signal(syscall.SIGHUP)
	p.wait(t, "reloaded")
	if sees(tokenOfAnn) != 0 || sees(otherToken) != 1 {
		t.Errorf("after HUP: ann sees %d, bob %d", sees(tokenOfAnn), sees(otherToken))
	}
	// Kubernetes replaces a file without sending a signal. Holdpoint must notice the change by
	// itself.
	if err := os.Rename(writeFile(t, dir, "next.yaml", policyOfAnn), policy); err != nil {
		t.Fatal(err)
	}
	for p.wait(t, "read again")["what"] != "HOLDPOINT_POLICY" {
	}
	if sees(tokenOfAnn) != 1 || sees(otherToken) != 0 {
		t.Errorf("after a change: ann sees %d, bob %d", sees(tokenOfAnn), sees(otherToken))
	}
	if stdout, _, code := holdpoint(t, environ, "check"); code != exitOK || !strings.Contains(stdout, policy) {
		t.Errorf("check: %d %s", code, stdout)
	}
}

// TestSessionsOverProcesses: with HOLDPOINT_STORE_KEYS, a browser must stay signed in at the desk
// when Holdpoint restarts. Without that setting, the restart signs it out. When the token of a
// browser is removed from the token file, the browser must be signed out.
func TestSessionsOverProcesses(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{"with keys": "a:" + base64.StdEncoding.EncodeToString(make([]byte, 32)), "without": ""} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tokens := writeFile(t, dir, "tokens", tokenLine("ann finance", otherToken)+deskToken)
			environ := []string{
				"HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_STORE=bolt://" + filepath.Join(dir, "state.db"), "HOLDPOINT_STORE_KEYS=" + keys,
				"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE=" + tokens,
			}
			p := startAs(t, environ...)
			c := caller{T: t, at: p.wait(t, "desk")["desk_addr"].(string)}
			cookie := c.signIn(otherToken)
			if cookie.MaxAge != 12*60*60 {
				t.Errorf("it lasts %d s", cookie.MaxAge)
			}
			if status, me := c.withCookie(cookie, "/v1/me"); status != http.StatusOK || me.Get("name").Str != "ann" || me.Get("groups").Raw != `["finance"]` {
				t.Errorf("me: %d %s", status, me)
			}
			p.wait(t, "listening")
			p.Process.Kill()
			p.exit()
			p = startAs(t, environ...)
			c.at = p.wait(t, "desk")["desk_addr"].(string)
			want := http.StatusOK
			if keys == "" {
				want = http.StatusUnauthorized
			}
			if status, _ := c.withCookie(cookie, "/v1/me"); status != want {
				t.Errorf("after a restart: %d", status)
			}
			cookie = c.signIn(otherToken)
			p.wait(t, "listening")
			writeFile(t, dir, "tokens", deskToken)
			p.Process.Signal(syscall.SIGHUP)
			p.wait(t, "reloaded")
			if status, _ := c.withCookie(cookie, "/v1/me"); status != http.StatusUnauthorized {
				t.Errorf("without its token: %d", status)
			}
		})
	}
}

// TestNoCookieForTheAgent: a browser also sends the desk's cookie to a chat on the same host.
// Holdpoint must not forward this cookie to the agent. It must forward the chat's own cookies
// unchanged.
func TestNoCookieForTheAgent(t *testing.T) {
	t.Parallel()
	var got atomic.Pointer[[]string]
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cookies := append([]string{}, r.Header["Cookie"]...)
		got.Store(&cookies)
	}))
	defer upstream.Close()
	for _, desk := range []bool{true, false} {
		environ := []string{"HOLDPOINT_UPSTREAM=" + upstream.URL}
		if desk {
			environ = append(environ, "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN="+deskToken)
		}
		_, addr := start(t, environ...)
		for _, tt := range []struct{ sent, want []string }{
			{nil, []string{}},
			{[]string{`a=1;b="x; y"`}, []string{`a=1;b="x; y"`}},
			{[]string{"holdpoint-desk=s"}, []string{}},
			{[]string{"a=1; holdpoint-desk=s; b=2;c"}, []string{"a=1; b=2;c"}},
			{[]string{"holdpoint-desk=s; a=holdpoint-desk", "__Host-holdpoint=s"}, []string{"a=holdpoint-desk"}},
			{[]string{"xholdpoint-desk=1; holdpoint-desk2=1"}, []string{"xholdpoint-desk=1; holdpoint-desk2=1"}},
		} {
			want := tt.want
			if !desk {
				want = append([]string{}, tt.sent...)
			}
			req, _ := http.NewRequest("GET", "http://"+addr+"/x", nil)
			req.Header["Cookie"] = tt.sent
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if cookies := *got.Load(); !slices.Equal(cookies, want) {
				t.Errorf("with a desk %t: %q arrives as %q, want %q", desk, tt.sent, cookies, want)
			}
		}
	}
}
