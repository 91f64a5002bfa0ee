//go:build unix

package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/test/authority"
	"holdpoint/translate/dialects"
)

// A caller sends requests to the desk of a process. at is a Unix socket or a TCP address.
type caller struct {
	*testing.T
	at, token string
}

// call sends a request, and returns the status and the body of the response. The test ends if the
// body is not JSON.
func (c caller) call(method, path string) (int, gjson.Result) { return c.send(method, path, "") }

// send sends a request as call does. The parameter sent is the body of the request.
func (c caller) send(method, path, sent string) (int, gjson.Result) {
	c.Helper()
	req, err := http.NewRequest(method, "http://desk"+path, strings.NewReader(sent))
	if err != nil {
		c.Fatal(err)
	}
	if sent != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := clientOf(c.at).Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !gjson.ValidBytes(text) {
		c.Fatalf("%s %s: %v: %s", method, path, err, text)
	}
	if h := res.Header.Get("Access-Control-Allow-Origin"); h != "" {
		c.Errorf("%s %s: a page of %s may read it", method, path, h)
	}
	return res.StatusCode, gjson.ParseBytes(text)
}

// ok sends a request, and returns the body of the response. The test ends if the status is not 200.
func (c caller) ok(method, path string) gjson.Result {
	c.Helper()
	status, body := c.call(method, path)
	if status != http.StatusOK {
		c.Fatalf("%s %s: status %d: %s", method, path, status, body)
	}
	return body
}

// post sends a run to a path of Holdpoint and returns its stream.
func post(t *testing.T, addr, path, thread, more string) string {
	t.Helper()
	body := fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[{"id":"m","role":"user","content":"go"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, thread, more)
	res, err := http.Post("http://"+addr+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func yesTo(id string) string {
	return fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id)
}

// TestDesk: a caller with a token must see the open questions of all agents of the process, even
// after the process was killed. The caller must be able to free a thread. This must be recorded in
// the audit, in the metrics and in the webhook, and must send nothing to the agent. No log line may
// contain a token.
func TestDesk(t *testing.T) {
	t.Parallel()
	backend := &asker{}
	upstream := httptest.NewServer(backend)
	defer upstream.Close()
	hook := newReceiver(t)
	dir := t.TempDir()
	tokens, audit, admin := filepath.Join(dir, "tokens"), filepath.Join(dir, "audit.jsonl"), socket(t)
	write := func(text string) {
		if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(deskToken + "\n")
	environ := []string{
		"HOLDPOINT_ROUTES_0_PATH=/billing", "HOLDPOINT_ROUTES_0_NAME=billing", "HOLDPOINT_ROUTES_0_UPSTREAM=" + upstream.URL,
		"HOLDPOINT_ROUTES_1_PATH=/mail", "HOLDPOINT_ROUTES_1_NAME=mail", "HOLDPOINT_ROUTES_1_UPSTREAM=" + upstream.URL,
		"HOLDPOINT_DIALECT=agui", "HOLDPOINT_STORE=bolt://" + filepath.Join(dir, "state.db"), "HOLDPOINT_DRAIN_DELAY=0s",
		"HOLDPOINT_ADMIN_LISTEN=" + admin, "HOLDPOINT_AUDIT=file://" + audit, "HOLDPOINT_AUDIT_REQUIRED=true", "HOLDPOINT_LOG_LEVEL=debug",
		"HOLDPOINT_WEBHOOK_URL=" + hook.URL, "HOLDPOINT_WEBHOOK_PRIVATE=true", "HOLDPOINT_WEBHOOK_SECRET=" + hookSecret,
		"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE=" + tokens,
	}
	var p *process
	var addr string
	c := caller{T: t, token: deskToken}
	begin := func() {
		p = startAs(t, environ...)
		c.at = p.wait(t, "desk")["desk_addr"].(string)
		addr = p.wait(t, "listening")["addr"].(string)
	}
	begin()
	asked := askedID.FindStringSubmatch(post(t, addr, "/billing", "t1", ""))
	if asked == nil || post(t, addr, "/mail/box", "t1", "") == "" {
		t.Fatal("no question")
	}
	for _, token := range []string{"", "x", otherToken, deskToken[1:], deskToken + "0"} {
		if status, body := (caller{t, c.at, token}).call("GET", "/v1/approvals"); status != http.StatusUnauthorized || body.Get("code").Str != "UNAUTHENTICATED" {
			t.Errorf("with the token %q: %d %s", token, status, body)
		}
	}
	p.Process.Kill()
	p.exit()
	before := p.said
	begin()

	list := c.ok("GET", "/v1/approvals?thread=t1").Get("approvals").Array()
	if len(list) != 2 || list[0].Get("agent").Str != "billing" || list[0].Get("path").Str != "/" || list[1].Get("agent").Str != "mail" || list[1].Get("path").Str != "/box" {
		t.Fatalf("what waits: %s", list)
	}
	id := list[0].Get("id").Str
	one := c.ok("GET", "/v1/approvals/"+id)
	if one.Get("state").Str != "waiting" || one.Get("questions.0.id").Str != asked[1] || one.Get("questions.0.message").Str != "Go on?" || one.Get("thread").Str != "t1" {
		t.Errorf("one of them: %s", one)
	}
	freed := c.ok("DELETE", "/v1/approvals/"+id)
	if freed.Get("end.how").Str != "withdrawn" || freed.Get("end.door").Str != "desk" || freed.Get("end.by").Str != "operator" {
		t.Errorf("freed: %s", freed)
	}
	if status, body := c.call("DELETE", "/v1/approvals/"+id); status != http.StatusConflict || body.Get("code").Str != "APPROVAL_ENDED" {
		t.Errorf("freed twice: %d %s", status, body)
	}
	if got := post(t, addr, "/billing", "t1", yesTo(asked[1])); !strings.Contains(got, `"UNKNOWN_INTERRUPT_ID"`) || backend.answers.Load() != 0 {
		t.Errorf("a late answer: %s", got)
	}
	if got := askedID.FindStringSubmatch(post(t, addr, "/billing", "t1", "")); got == nil || got[1] == asked[1] {
		t.Errorf("the thread takes a run: %q", got)
	}

	sum := sha256.Sum256([]byte(otherToken))
	write(fmt.Sprintf("# who\nann sha256:%x\n", sum))
	p.Process.Signal(syscall.SIGHUP)
	p.wait(t, "reloaded")
	if status, _ := c.call("GET", "/v1/approvals"); status != http.StatusUnauthorized {
		t.Errorf("the old token after HUP: %d", status)
	}
	c.token = otherToken
	if by := c.ok("DELETE", "/v1/approvals/"+list[1].Get("id").Str).Get("end.by").Str; by != "ann" {
		t.Errorf("freed by %q", by)
	}

	if text, err := clientOf(admin).Get("http://admin/metrics"); err != nil {
		t.Error(err)
	} else {
		body, _ := io.ReadAll(text.Body)
		text.Body.Close()
		for _, agent := range []string{"billing", "mail"} {
			if want := fmt.Sprintf("holdpoint_interrupts_ended_total{agent=%q,how=\"withdrawn\"} 1\n", agent); !strings.Contains(string(body), want) {
				t.Errorf("the metrics have no %s", want)
			}
		}
	}
	for withdrawn := 0; withdrawn < 2; {
		waitFor(t, hook.took)
		withdrawn = 0
		hook.mu.Lock()
		for _, kind := range hook.kinds {
			if kind == "interrupt.withdrawn" {
				withdrawn++
			}
		}
		hook.mu.Unlock()
	}
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if stdout, _, code := holdpoint(t, nil, "audit", "verify", audit); code != 0 {
		t.Errorf("audit verify: exit %d: %s", code, stdout)
	}
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	var frees []string
	freeing := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"interrupt.freeing"`) {
			freeing++
		}
		if l := gjson.Parse(line); l.Get("event").Str == "interrupt.withdrawn" {
			frees = append(frees, strings.Join([]string{l.Get("agent").Str, l.Get("thread").Str, l.Get("door").Str, l.Get("principal").Str}, " "))
		}
	}
	if want := []string{"billing t1 desk operator", "mail t1 desk ann"}; !slices.Equal(frees, want) || freeing != len(want) {
		t.Errorf("the audit has %q, want %q; announced %d", frees, want, freeing)
	}
	log := fmt.Sprint(before, p.said)
	if !strings.Contains(log, "desk: a wrong token") {
		t.Error("the log has no wrong token")
	}
	for _, secret := range []string{deskToken, deskToken[1:], otherToken, fmt.Sprintf("%x", sum)} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has a token: %s", secret)
		}
	}
}

// TestDeskBesideAnAnswer: the chat answers a question while the desk frees its thread. One of the
// two must succeed, and the other must get an error. For each question, the audit must record
// exactly once how it ended.
func TestDeskBesideAnAnswer(t *testing.T) {
	backend := &asker{}
	upstream := httptest.NewServer(backend)
	defer upstream.Close()
	audit, at := filepath.Join(t.TempDir(), "audit.jsonl"), socket(t)
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_AUDIT=file://"+audit, "HOLDPOINT_DRAIN_DELAY=0s",
		"HOLDPOINT_DESK_LISTEN="+at, "HOLDPOINT_DESK_TOKEN="+deskToken)
	c := caller{T: t, at: at, token: deskToken}
	const threads = 40
	var freed, late atomic.Int64
	for n := range threads {
		thread := fmt.Sprintf("t%d", n)
		asked := askedID.FindStringSubmatch(post(t, addr, "/", thread, ""))
		if asked == nil {
			t.Fatal("no question")
		}
		id := c.ok("GET", "/v1/approvals?thread="+thread).Get("approvals.0.id").Str
		var both sync.WaitGroup
		both.Go(func() {
			got := post(t, addr, "/", thread, yesTo(asked[1]))
			if strings.Contains(got, `"UNKNOWN_INTERRUPT_ID"`) || strings.Contains(got, `"RESUME_CONFLICT"`) {
				late.Add(1)
			}
		})
		both.Go(func() {
			req, _ := http.NewRequest("DELETE", "http://desk/v1/approvals/"+id, nil)
			req.Header.Set("Authorization", "Bearer "+deskToken)
			res, err := clientOf(at).Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			res.Body.Close()
			switch res.StatusCode {
			case http.StatusOK:
				freed.Add(1)
			case http.StatusConflict:
			default:
				t.Errorf("to free: status %d", res.StatusCode)
			}
		})
		both.Wait()
	}
	if answers := backend.answers.Load(); answers+freed.Load() != threads || late.Load() != freed.Load() {
		t.Errorf("of %d questions %d were answered and %d freed; %d answers were too late", threads, answers, freed.Load(), late.Load())
	}
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	ends := 0
	for _, kind := range eventsIn(t, audit) {
		if kind == "interrupt.resolved" || kind == "interrupt.withdrawn" {
			ends++
		}
	}
	if ends != threads {
		t.Errorf("the audit has %d ends of %d questions", ends, threads)
	}
}

// TestDeskByTLS: if the listener has a certificate, the desk must accept only TLS. A browser must
// get a cookie that is valid only over TLS and only for this host.
func TestDeskByTLS(t *testing.T) {
	a, files := authority.New(t), authority.NewFolder(t)
	files.Issue(a, "localhost")
	p := startAs(t, "HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN="+deskToken,
		"HOLDPOINT_TLS_CERT_FILE="+files.Path("tls.crt"), "HOLDPOINT_TLS_KEY_FILE="+files.Path("tls.key"))
	at := p.wait(t, "desk")["desk_addr"].(string)
	for scheme, want := range map[string]int{"https": http.StatusOK, "http": http.StatusBadRequest} {
		req, err := http.NewRequest("GET", scheme+"://"+at+"/v1/approvals", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+deskToken)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: a.Pool(), ServerName: "localhost"}}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("by %s: %d", scheme, res.StatusCode)
		}
	}
	req, _ := http.NewRequest("POST", "https://"+at+"/v1/session", strings.NewReader(fmt.Sprintf(`{"token":%q}`, deskToken)))
	req.Header.Set("Content-Type", "application/json")
	req.Host = "desk.example.com"
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: a.Pool(), ServerName: "localhost"}}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if c := res.Cookies(); res.StatusCode != http.StatusNoContent || len(c) != 1 || c[0].Name != "__Host-holdpoint" || !c[0].Secure {
		t.Errorf("to sign in: %d, %s", res.StatusCode, c)
	}
}

// jwtDesk returns the variables of a desk whose callers have JWTs of an issuer.
func jwtDesk(policy string) []string {
	return []string{"DESK_LISTEN=:7082", "DESK_AUTH=jwt", policy, "DESK_JWT_ISSUER=https://id.example", "DESK_JWT_AUDIENCE=desk", "DESK_JWT_JWKS_URL=https://id.example/keys"}
}

// TestDeskSettings: if a setting of the desk is wrong, Holdpoint must report an error at start. No
// error may contain a token.
func TestDeskSettings(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		f, err := os.CreateTemp(dir, "tokens")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(deskToken)))
	policyFile := "POLICY=" + file(policyOfAnn)
	for _, tt := range []struct {
		set  []string
		want string // a part of the error; "" means no error
	}{
		{nil, ""},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken}, ""},
		{[]string{"DESK_LISTEN=unix:///run/desk.sock", "DESK_TOKEN=" + deskToken + "," + otherToken, "DESK_AUTH=token"}, ""},
		{[]string{"DESK_LISTEN=127.0.0.1:7082", "DESK_TOKEN_FILE=" + file("# a\n"+deskToken+"\nann sha256:"+sum[1:]+"0\n")}, ""},
		// On loopback these settings are valid without a token. Only `holdpoint run` also requires a
		// terminal.
		{[]string{"DESK_LISTEN=127.0.0.1:7082"}, ""},
		{[]string{"DESK_LISTEN=[::1]:7082"}, ""},
		{[]string{"DESK_LISTEN=:7082"}, "HOLDPOINT_DESK_TOKEN_FILE is not set, and the desk of HOLDPOINT_DESK_LISTEN admits nobody without a token"},
		{[]string{"DESK_LISTEN=unix:///run/desk.sock"}, "HOLDPOINT_DESK_TOKEN_FILE is not set"},
		{[]string{"DESK_TOKEN=" + deskToken}, "DESK_TOKEN \"(set)\": there is no desk"},
		{[]string{"DESK_TOKEN_FILE=/x"}, `DESK_TOKEN_FILE "/x": there is no desk`},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "DESK_AUTH=none"}, `DESK_AUTH "none": callers must say who they are`},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "DESK_AUTH=jwt"}, `DESK_TOKEN "(set)": HOLDPOINT_DESK_AUTH=jwt does not use it`},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=jwt"}, "HOLDPOINT_POLICY is not set, and with HOLDPOINT_DESK_AUTH=jwt every caller"},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=jwt"}, "HOLDPOINT_DESK_JWT_AUDIENCE is not set"},
		{append(jwtDesk(policyFile), "DESK_GROUPS=groups"), ""},
		{append(jwtDesk(policyFile), "DESK_TRUSTED_PEERS=10.0.0.0/8"), `DESK_TRUSTED_PEERS "10.0.0.0/8": HOLDPOINT_DESK_AUTH=jwt does not use it`},
		{append(jwtDesk(policyFile), "JWT_ISSUER=https://id.example", "JWT_AUDIENCE=desk", "JWT_JWKS_URL=https://id.example/keys", secretKey), `DESK_JWT_AUDIENCE "desk": it is the same as HOLDPOINT_JWT_AUDIENCE`},
		{append(jwtDesk(policyFile), "JWT_ISSUER=https://id.example", "JWT_AUDIENCE=chat", "JWT_JWKS_URL=https://id.example/keys", secretKey), ""},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=header", policyFile}, "HOLDPOINT_DESK_PRINCIPAL is not set, want the header"},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=X-User"}, "HOLDPOINT_DESK_TRUSTED_PEERS is not set (nor HOLDPOINT_TRUSTED_PEERS)"},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=X-User", "TRUSTED_PEERS=10.0.0.0/8"}, ""},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=X-User", "TRUSTED_PEERS=0.0.0.0/0"}, `TRUSTED_PEERS "0.0.0.0/0": it has all IPv4 or all IPv6 addresses`},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=X-User", "DESK_TRUSTED_PEERS=::/0"}, `DESK_TRUSTED_PEERS "::/0": it has all IPv4 or all IPv6 addresses`},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=Authorization", "DESK_TRUSTED_PEERS=10.0.0.1"}, `DESK_PRINCIPAL "Authorization": it contains a secret`},
		{[]string{"DESK_LISTEN=:7082", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=X-User", "DESK_GROUPS=x-user", "DESK_TRUSTED_PEERS=10.0.0.1"}, `DESK_GROUPS "x-user": it is the same header as HOLDPOINT_DESK_PRINCIPAL`},
		{[]string{"DESK_LISTEN=unix:///run/desk.sock", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=X-User"}, ""},
		{[]string{"DESK_LISTEN=unix:///run/desk.sock", "DESK_AUTH=header", policyFile, "DESK_PRINCIPAL=X-User", "DESK_TRUSTED_PEERS=10.0.0.1"}, `DESK_TRUSTED_PEERS "10.0.0.1/32": a caller of the unix socket`},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "TRUSTED_PEERS=10.0.0.0/8"}, `TRUSTED_PEERS "10.0.0.0/8": no header of these peers is read`},
		// The desk trusts X-Forwarded-Proto of these peers.
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "DESK_TRUSTED_PEERS=10.0.0.0/8"}, ""},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "DESK_PRINCIPAL=X-User"}, `DESK_PRINCIPAL "X-User": HOLDPOINT_DESK_AUTH=token does not use it`},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, policyFile}, ""},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "POLICY=" + file("access: []\n")}, "line 1: access: want a list"},
		{[]string{policyFile, "DESK_PRINCIPAL=X-User"}, `DESK_PRINCIPAL "X-User": there is no desk`},
		{[]string{policyFile}, "there is no desk"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "DESK_AUTH=basic"}, `DESK_AUTH "basic": want token, header or jwt`},
		{[]string{"DESK_LISTEN=7082", "DESK_TOKEN=" + deskToken}, `DESK_LISTEN "7082": `},
		{[]string{"DESK_LISTEN=:7080", "DESK_TOKEN=" + deskToken}, `DESK_LISTEN ":7080": HOLDPOINT_LISTEN has the same address (:7080)`},
		{[]string{"DESK_LISTEN=:7081", "DESK_TOKEN=" + deskToken}, `DESK_LISTEN ":7081": HOLDPOINT_ADMIN_LISTEN has the same address (127.0.0.1:7081)`},
		{[]string{"DESK_LISTEN=:8000", "DESK_TOKEN=" + deskToken}, `UPSTREAM "http://localhost:8000": this is where Holdpoint's desk is`},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken[1:]}, `DESK_TOKEN "(set)": line 1: the token has 31 characters, want at least 32`},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken + "," + deskToken}, "line 2: the same token is in an earlier line"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN=" + deskToken, "DESK_TOKEN_FILE=/x"}, "the variable of the same name without _FILE is set too"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN_FILE=" + dir + "/none"}, "no such file"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN_FILE=" + file(" \n")}, "the file is empty"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN_FILE=" + file("# nobody\n")}, "it has no token"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN_FILE=" + file("ann "+deskToken+"\n")}, "line 1: the last word is not a hash"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN_FILE=" + file("ann sha256:"+sum+" readers\n")}, "line 1: the last word is not a hash"},
		{[]string{"DESK_LISTEN=:7082", "DESK_TOKEN_FILE=" + file(deskToken+"\nann sha256:"+sum+"\n")}, "line 2: the same token is in an earlier line"},
	} {
		environ := []string{"HOLDPOINT_UPSTREAM=http://localhost:8000"}
		for _, s := range tt.set {
			environ = append(environ, prefix+s)
		}
		_, err := load(environ, dialects.All())
		text := fmt.Sprint(err)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(text, tt.want) {
			t.Errorf("%q: %s, want %q", tt.set, text, tt.want)
		}
		for _, secret := range []string{deskToken, deskToken[1:], otherToken, sum} {
			if err != nil && strings.Contains(text, secret) {
				t.Errorf("%q: the error has the token: %s", tt.set, text)
			}
		}
	}
}

// TestDeskDecides: an approver decides at the desk, and the chat sends no request. Holdpoint must
// send the decision to the agent once. If the agent is away and Holdpoint is killed, the next
// process must send the decision.
func TestDeskDecides(t *testing.T) {
	t.Parallel()
	backend := &asker{}
	var away atomic.Bool
	var refused atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer upstream.Close()
	dir := t.TempDir()
	audit := filepath.Join(dir, "audit.jsonl")
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_NAME=billing", "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
		"HOLDPOINT_STORE=bolt://" + filepath.Join(dir, "state.db"), "HOLDPOINT_STORE_KEYS=a:" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"HOLDPOINT_AUDIT=file://" + audit, "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN=" + deskToken,
	}
	var p *process
	var addr string
	c := caller{T: t, token: deskToken}
	begin := func() {
		p = startAs(t, environ...)
		c.at = p.wait(t, "desk")["desk_addr"].(string)
		addr = p.wait(t, "listening")["addr"].(string)
	}
	begin()
	decide := func(thread, decision string) (id string) {
		a := c.ok("GET", "/v1/approvals?thread="+thread).Get("approvals.0")
		if a.Get("waitsForChat").Exists() {
			t.Fatalf("it waits for the chat: %s", a)
		}
		q := a.Get("questions.0")
		id = a.Get("id").Str
		body := fmt.Sprintf(`{"decision":%q,"payload":%s,"digest":%q,"comment":"by hand"}`, decision, map[string]string{"answer": "true", "cancel": "null"}[decision], q.Get("digest").Str)
		status, got := c.send("POST", "/v1/approvals/"+id+"/questions/"+q.Get("id").Str, body)
		if status != http.StatusOK || got.Get("questions.0.decision.by").Str != "operator" {
			t.Fatalf("decided: %d %s", status, got)
		}
		return id
	}
	ended := func(id string) gjson.Result {
		for {
			a := c.ok("GET", "/v1/approvals/"+id)
			if a.Get("state").Str == "ended" {
				return a
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	post(t, addr, "/", "t1", "")
	if a := ended(decide("t1", "answer")); a.Get("end.how").Str != "finished" || backend.answers.Load() != 1 {
		t.Errorf("carried: %s, %d answers", a, backend.answers.Load())
	}
	// The chat's next request still has the history from before the decision. It must not call the
	// agent.
	before := backend.asked.Load()
	if got := post(t, addr, "/", "t1", ""); !strings.Contains(got, "RUN_FINISHED") || backend.asked.Load() != before {
		t.Errorf("a reload: %s", got)
	}

	post(t, addr, "/", "t2", "")
	away.Store(true)
	id := decide("t2", "answer")
	for refused.Load() == 0 || c.ok("GET", "/v1/approvals/"+id).Get("state").Str != "decided" {
		// The loop waits until Holdpoint has released the claim. A kill before that would leave the
		// answer in doubt.
		time.Sleep(20 * time.Millisecond)
	}
	p.Process.Kill()
	p.exit()
	away.Store(false)
	begin()
	if a := ended(id); a.Get("end.how").Str != "finished" || backend.answers.Load() != 2 {
		t.Errorf("carried by the next process: %s, %d answers", a, backend.answers.Load())
	}

	post(t, addr, "/", "t3", "")
	if a := ended(decide("t3", "cancel")); a.Get("end.questions.0.status").Str != "cancelled" {
		t.Errorf("cancelled: %s", a)
	}
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if stdout, _, code := holdpoint(t, nil, "audit", "verify", audit); code != 0 {
		t.Errorf("audit verify: exit %d: %s", code, stdout)
	}
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(string(text)) {
		l := gjson.Parse(line)
		if kind := l.Get("event").Str; kind == "interrupt.decided" || kind == "interrupt.resolved" {
			said = append(said, strings.Join([]string{kind, l.Get("thread").Str, l.Get("door").Str, l.Get("principal").Str, l.Get("interrupts.0.by").Str, l.Get("interrupts.0.comment").Str}, "|"))
		}
	}
	want := []string{
		"interrupt.decided|t1|desk|operator||by hand", "interrupt.resolved|t1|desk||operator|",
		"interrupt.decided|t2|desk|operator||by hand", "interrupt.resolved|t2|desk||operator|",
		"interrupt.decided|t3|desk|operator||by hand",
	}
	if !slices.Equal(said, want) {
		t.Errorf("the audit says\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
}
