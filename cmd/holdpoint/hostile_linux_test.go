package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/tidwall/gjson"
)

// proxyAddr is the source address of the proxy in front of the desk. The agent and the other
// programs of its pod connect from another address.
const proxyAddr = "127.0.0.2"

// from returns a client for the server at the address at. The client's connections have the source
// address addr, unless at is a unix socket.
func from(addr, at string) *http.Client {
	network := "tcp"
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}
	if path, ok := strings.CutPrefix(at, "unix://"); ok {
		network, at, d = "unix", path, &net.Dialer{}
	}
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, network, at) }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A sender sends requests, each with its headers. The field headers has names and values in turn.
// The value after the name Host is the host of the request.
type sender struct {
	*testing.T
	client  *http.Client
	headers []string
}

func (s sender) with(headers ...string) sender {
	s.headers = append(s.headers[:len(s.headers):len(s.headers)], headers...)
	return s
}

// send sends a request to path, and returns the status and the parsed body.
func (s sender) send(method, path, body string) (int, gjson.Result) {
	s.Helper()
	status, text := s.text(method, path, body)
	return status, gjson.Parse(text)
}

// text sends a request as send does, but returns the body as text.
func (s sender) text(method, path, body string) (int, string) {
	s.Helper()
	req, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(s.headers); n += 2 {
		if s.headers[n] == "Host" {
			req.Host = s.headers[n+1]
			continue
		}
		req.Header[s.headers[n]] = append(req.Header[s.headers[n]], s.headers[n+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		s.Errorf("%s %s: redirected", method, path)
	}
	return res.StatusCode, string(text)
}

// An issuer is a server that signs tokens and publishes its public key.
type issuer struct {
	*testing.T
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{T: t, key: key, Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(set) }))}
	t.Cleanup(i.Close)
	return i
}

// token returns a token with the claims, signed with key by the algorithm alg. The token's header
// names the key id.
func (i *issuer) token(alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	i.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", id))
	if err != nil {
		i.Fatal(err)
	}
	text, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		i.Fatal(err)
	}
	return text
}

const policyOfFinance = "access:\n- {groups: [finance], agents: [billing], rights: [decide]}\n"

// A deskDoor is a way in which the desk identifies its callers.
type deskDoor struct {
	environ []string
	unix    bool
	own     func(sender) sender // adds an approver's headers, as the proxy sends them
}

// doors returns every way in which the desk can identify its callers, keyed by the name of the way.
func doors(t *testing.T) map[string]deskDoor {
	t.Helper()
	const tokenOfAnn = "ann's token, which is long enough"
	dir, who := t.TempDir(), newIssuer(t)
	policy := "HOLDPOINT_POLICY=" + writeFile(t, dir, "policy.yaml", policyOfFinance)
	page := []string{"Sec-Fetch-Site", "same-origin"}
	bearer := who.token(jose.ES256, who.key, "k1", map[string]any{
		"iss": who.URL, "aud": "desk", "exp": time.Now().Add(time.Hour).Unix(), "email": "ann@example.com", "groups": []string{"staff", "finance"},
	})
	byHeader := []string{policy, "HOLDPOINT_DESK_AUTH=header", "HOLDPOINT_DESK_PRINCIPAL=X-Forwarded-User", "HOLDPOINT_DESK_GROUPS=X-Forwarded-Groups"}
	proxied := func(s sender) sender {
		return s.with("X-Forwarded-User", "ann@example.com", "X-Forwarded-Groups", "staff, finance").with(page...)
	}
	return map[string]deskDoor{
		"token": {
			environ: []string{policy, "HOLDPOINT_DESK_TOKEN_FILE=" + writeFile(t, dir, "tokens", tokenLine("ann@example.com finance", tokenOfAnn))},
			own:     func(s sender) sender { return s.with("Authorization", "Bearer "+tokenOfAnn) },
		},
		"header": {environ: append(byHeader, "HOLDPOINT_DESK_TRUSTED_PEERS="+proxyAddr), own: proxied},
		"socket": {environ: byHeader, unix: true, own: proxied},
		"jwt": {
			environ: []string{
				policy, "HOLDPOINT_DESK_AUTH=jwt", "HOLDPOINT_DESK_JWT_ISSUER=" + who.URL, "HOLDPOINT_DESK_JWT_AUDIENCE=desk", "HOLDPOINT_DESK_JWT_JWKS_URL=" + who.URL,
				"HOLDPOINT_DESK_PRINCIPAL=email", "HOLDPOINT_DESK_GROUPS=groups",
			},
			own: func(s sender) sender { return s.with("Authorization", "Bearer "+bearer) },
		},
	}
}

// TestAgentAnswersItself: the agent runs in the same pod and network namespace as Holdpoint, and
// tries in every way to answer its own question at the desk. Each try must fail and reveal nothing.
// Then an approver decides. The audit must record the way of identification, the approver's name
// and the digests.
func TestAgentAnswersItself(t *testing.T) {
	t.Parallel()
	for name, door := range doors(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := &asker{}
			upstream := httptest.NewServer(backend)
			defer upstream.Close()
			dir := t.TempDir()
			audit, admin, desk := filepath.Join(dir, "audit.jsonl"), socket(t), "127.0.0.1:0"
			if door.unix {
				desk = socket(t)
			}
			p := startAs(t, append(door.environ, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_NAME=billing", "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
				"HOLDPOINT_AUDIT=file://"+audit, "HOLDPOINT_ADMIN_LISTEN="+admin, "HOLDPOINT_DESK_LISTEN="+map[bool]string{true: desk + "?mode=0600", false: desk}[door.unix],
				"HOLDPOINT_PRINCIPAL_HEADER=X-User", "HOLDPOINT_TRUSTED_PEERS="+proxyAddr, "HOLDPOINT_PRINCIPAL_KEY="+deskToken)...)
			at := p.wait(t, "desk")["desk_addr"].(string)
			addr := p.wait(t, "listening")["addr"].(string)
			run := `{"threadId":"t1","runId":"r","messages":[{"id":"m","role":"user","content":"go"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`
			user := sender{t, from(proxyAddr, addr), []string{"X-User", "bob"}}
			_, stream := user.text("POST", "/", fmt.Sprintf(run, ""))
			asked := askedID.FindStringSubmatch(stream)
			if asked == nil {
				t.Fatalf("no question: %s", stream)
			}
			approver := door.own(sender{t, from(proxyAddr, at), nil})
			var a gjson.Result
			for { // until the desk has fetched the issuer's keys
				status, list := approver.send("GET", "/v1/approvals", "")
				if a = list.Get("approvals.0"); a.Exists() {
					break
				}
				if status != http.StatusServiceUnavailable {
					t.Fatalf("the list: %d %s", status, list)
				}
				time.Sleep(20 * time.Millisecond)
			}
			id, digest := a.Get("id").Str, a.Get("questions.0.digest").Str
			path := "/v1/approvals/" + id
			calls := [][3]string{
				{"GET", "/v1/approvals", ""}, {"GET", path, ""}, {"GET", path + "/raw/" + asked[1] + "/0", ""}, {"GET", "/v1/me", ""}, {"DELETE", path, ""},
				{"POST", path + "/questions/" + asked[1], fmt.Sprintf(`{"decision":"answer","payload":true,"digest":%q}`, digest)},
				{"POST", path, fmt.Sprintf(`{"decisions":[{"question":%q,"decision":"answer","payload":true,"digest":%q}]}`, asked[1], digest)},
			}
			if door.unix {
				reachesNot(t, at)
			} else {
				for what, headers := range map[string][]string{
					"nothing":                     {},
					"a made-up token":             {"Authorization", "Bearer " + strings.Repeat("a", 52)},
					"an empty token":              {"Authorization", "Bearer "},
					"a password":                  {"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("operator:operator"))},
					"a made-up cookie":            {"Cookie", "holdpoint-desk=" + strings.Repeat("A", 75), "Sec-Fetch-Site", "same-origin"},
					"one of TLS":                  {"Cookie", "__Host-holdpoint=" + strings.Repeat("A", 75), "X-Forwarded-Proto", "https", "Sec-Fetch-Site", "same-origin"},
					"the approver's name":         {"X-Forwarded-User", "ann@example.com", "X-Forwarded-Groups", "finance", "Sec-Fetch-Site", "same-origin"},
					"it spelt with _":             {"X_Forwarded_User", "ann@example.com", "X_Forwarded_Groups", "finance"},
					"it in the place of others":   {"X-Forwarded-Email", "ann@example.com", "X-User", "ann@example.com", "X-Remote-User", "ann@example.com", "Remote-User", "ann@example.com"},
					"the proxy's address":         {"X-Forwarded-User", "ann@example.com", "X-Forwarded-For", proxyAddr, "X-Real-Ip", proxyAddr, "Forwarded", "for=" + proxyAddr},
					"a name of its own (rebound)": {"Host", "agent.evil.example:7082", "Origin", "http://agent.evil.example:7082", "Sec-Fetch-Site", "same-origin"},
					"the user's name":             {"X-User", "bob"},
				} {
					agent := sender{t, from("127.0.0.1", at), headers}
					tries := calls
					if strings.Contains(what, "token") || what == "a password" {
						tries = calls[5:6] // after many wrong tokens the desk answers slowly
					}
					for _, call := range tries {
						if status, got := agent.send(call[0], call[1], call[2]); status != 400 && status != 401 && status != 403 && status != 429 || strings.Contains(got.Raw, "Go on?") {
							t.Errorf("%s: %s %s: %d %s", what, call[0], call[1], status, got)
						}
					}
				}
				agent := sender{t, from("127.0.0.1", at), nil}
				if status, got := agent.send("GET", "/v1/approvals?access_token="+deskToken+"&token="+deskToken, ""); status != 401 {
					t.Errorf("a token in the address: %d %s", status, got)
				}
				if status, got := agent.send("POST", "/v1/session", `{"token":"`+strings.Repeat("a", 52)+`"}`); status != 401 && status != 409 && status != 429 {
					t.Errorf("to sign in: %d %s", status, got)
				}
			}
			chat := sender{t, from("127.0.0.1", addr), nil}
			for _, headers := range [][]string{{}, {"X-User", "bob"}, {"Authorization", "Bearer bob"}} {
				if status, got := chat.with(headers...).send("POST", "/", fmt.Sprintf(run, yesTo(asked[1]))); status != 401 && status != 403 {
					t.Errorf("in the chat with %q: %d %s", headers, status, got)
				}
			}
			probes := sender{t, from("", admin), nil}
			for _, call := range calls {
				if status, _ := probes.send(call[0], call[1], call[2]); status != 404 && status != 405 {
					t.Errorf("at the listener for probes: %s %s: %d", call[0], call[1], status)
				}
			}
			if _, got := approver.send("GET", path, ""); got.Get("state").Str != "waiting" || backend.answers.Load() != 0 {
				t.Fatalf("then it is %s, and the agent has %d answers", got.Get("state"), backend.answers.Load())
			}
			if status, got := approver.send("POST", path+"/questions/"+asked[1], fmt.Sprintf(`{"decision":"answer","payload":true,"digest":%q,"comment":"seen"}`, digest)); status != 200 || got.Get("questions.0.decision.by").Str != "ann@example.com" {
				t.Errorf("the approver: %d %s", status, got)
			}
			p.Process.Signal(syscall.SIGTERM)
			p.exit()
			decided(t, audit, digest)
		})
	}
}

// TestAnotherTenant: an approver of one tenant must not list, read, decide or free the approvals of
// another tenant, even if he knows their ids. A caller with only the right to read cannot decide. A
// page of another origin cannot decide either, even with an approver's cookie.
func TestAnotherTenant(t *testing.T) {
	t.Parallel()
	backend := &asker{}
	upstream := httptest.NewServer(backend)
	defer upstream.Close()
	dir := t.TempDir()
	tokens := map[string]string{}
	file := ""
	for _, name := range []string{"acme", "umbrella", "reader", "nobody"} {
		tokens[name] = strings.Repeat(name, 8)
		file += tokenLine(name, tokens[name])
	}
	p := startAs(t, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_NAME=billing", "HOLDPOINT_DIALECT=agui",
		"HOLDPOINT_TENANT_HEADER=X-Tenant", "HOLDPOINT_TRUSTED_PEERS=127.0.0.1", "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN_FILE="+writeFile(t, dir, "tokens", file),
		"HOLDPOINT_POLICY="+writeFile(t, dir, "policy.yaml", `access:
- {names: [acme], agents: ["*"], tenants: [acme], rights: [decide, operate, conversation]}
- {names: [umbrella], agents: ["*"], tenants: [umbrella], rights: [decide, operate, conversation]}
- {names: [reader], agents: ["*"], tenants: ["*"], rights: [read, conversation]}
`))
	at := p.wait(t, "desk")["desk_addr"].(string)
	addr := p.wait(t, "listening")["addr"].(string)
	as := func(name string) sender {
		return sender{t, from("127.0.0.1", at), []string{"Authorization", "Bearer " + tokens[name]}}
	}
	run := `{"threadId":"same","runId":"r","messages":[{"id":"m","role":"user","content":"go"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`
	for _, tenant := range []string{"acme", "umbrella"} {
		if status, text := (sender{t, from("127.0.0.1", addr), []string{"X-Tenant", tenant}}).text("POST", "/", run); status != 200 || askedID.FindString(text) == "" {
			t.Fatalf("no question: %d %s", status, text)
		}
	}
	asked := func(name string) gjson.Result {
		_, list := as(name).send("GET", "/v1/approvals?thread=same", "")
		if all := list.Get("approvals").Array(); len(all) != 1 || all[0].Get("tenant").Str != name {
			t.Fatalf("%s lists %s", name, list)
		}
		return list.Get("approvals.0")
	}
	own, other := asked("acme"), asked("umbrella")
	path, question := "/v1/approvals/"+other.Get("id").Str, other.Get("questions.0.id").Str
	said := fmt.Sprintf(`{"decision":"answer","payload":true,"digest":%q}`, other.Get("questions.0.digest").Str)
	key, pause, _ := strings.Cut(other.Get("id").Str, ".")
	ownKey, ownPause, _ := strings.Cut(own.Get("id").Str, ".")
	for _, name := range []string{"acme", "nobody"} {
		for _, id := range []string{key + "." + pause, ownKey + "." + pause, key + "." + ownPause} {
			at := "/v1/approvals/" + id
			for _, call := range [][3]string{
				{"GET", at, ""}, {"DELETE", at, ""}, {"GET", at + "/raw/" + question + "/0", ""}, {"POST", at + "/questions/" + question, said},
				{"POST", at, `{"decisions":[` + strings.Replace(said, "{", fmt.Sprintf(`{"question":%q,`, question), 1) + `]}`},
			} {
				if status, got := as(name).send(call[0], call[1], call[2]); status != 404 || got.Get("code").Str != "APPROVAL_NOT_FOUND" || got.Get("approval").Exists() {
					t.Errorf("%s: %s %s: %d %s", name, call[0], call[1], status, got)
				}
			}
		}
	}
	if status, got := as("reader").send("POST", path+"/questions/"+question, said); status != 403 || got.Get("code").Str != "FORBIDDEN" {
		t.Errorf("a reader: %d %s", status, got)
	}
	if status, got := as("reader").send("DELETE", path, ""); status != 403 || got.Get("code").Str != "FORBIDDEN" {
		t.Errorf("a reader frees: %d %s", status, got)
	}
	c := caller{T: t, at: at}
	browser := sender{t, from("127.0.0.1", at), []string{"Cookie", c.signIn(tokens["umbrella"]).String()}}
	for name, headers := range map[string][]string{
		"another site":     {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"another port":     {"Sec-Fetch-Site", "same-site", "Origin", "http://localhost:8000"},
		"an older browser": {"Origin", "https://evil.example"},
		"a file":           {"Origin", "null"},
		"nobody says":      {},
		"a form":           {"Content-Type", "text/plain", "Sec-Fetch-Site", "cross-site"},
	} {
		if status, got := browser.with(headers...).send("POST", path+"/questions/"+question, said); status != 403 || got.Get("code").Str != "CROSS_ORIGIN" {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	if _, got := as("umbrella").send("GET", path, ""); got.Get("state").Str != "waiting" || backend.answers.Load() != 0 {
		t.Fatalf("then it is %s, and the agent has %d answers", got.Get("state"), backend.answers.Load())
	}
	if status, got := browser.with("Sec-Fetch-Site", "same-origin").send("POST", path+"/questions/"+question, said); status != 200 || got.Get("questions.0.decision.by").Str != "umbrella" {
		t.Errorf("its own page: %d %s", status, got)
	}
	if got := asked("acme"); got.Get("state").Str != "waiting" {
		t.Errorf("the other tenant's: %s", got)
	}
}

// decided checks that the audit file contains exactly one decision, and that the decision has the
// digest.
func decided(t *testing.T, audit, digest string) {
	t.Helper()
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	var lines []gjson.Result
	for line := range strings.Lines(string(text)) {
		if l := gjson.Parse(line); l.Get("event").Str == "interrupt.decided" {
			lines = append(lines, l)
		}
	}
	if len(lines) != 1 {
		t.Fatalf("%d decisions in the audit: %s", len(lines), text)
	}
	l := lines[0]
	if l.Get("door").Str != "desk" || l.Get("principal").Str != "ann@example.com" || l.Get("interrupts.0.asked").Str != digest || !strings.HasPrefix(l.Get("interrupts.0.answered").Str, "sha256:") {
		t.Errorf("the audit has %s", l)
	}
}

// reachesNot checks that the permissions of the desk's socket keep another user of the machine from
// connecting to it.
func reachesNot(t *testing.T, at string) {
	t.Helper()
	path := strings.TrimPrefix(at, "unix://")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket: %v %v", info, err)
	}
	if os.Geteuid() != 0 {
		return // only root can become another user
	}
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil { // so that only the socket's permissions refuse the user
		t.Fatal(err)
	}
	curl := exec.Command("curl", "-sS", "--unix-socket", path, "-H", "X-Forwarded-User: ann@example.com", "-H", "X-Forwarded-Groups: finance", "http://desk/v1/approvals")
	curl.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := curl.CombinedOutput()
	if err == nil || bytes.Contains(out, []byte("approvals")) {
		t.Errorf("another user reaches the socket: %s", out)
	}
}

// TestDeskByHeader: the desk must accept the caller's name and groups only in the headers of the
// trusted proxy. A request that changes something must come from the desk's own page.
func TestDeskByHeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := []string{
		"HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_POLICY=" + writeFile(t, dir, "policy.yaml", policyOfFinance),
		"HOLDPOINT_DESK_AUTH=header", "HOLDPOINT_DESK_PRINCIPAL=x-forwarded-user", "HOLDPOINT_DESK_GROUPS=X-Forwarded-Groups",
	}
	const loopback = "programs of this machine may name the caller of the desk"
	p := startAs(t, append(environ, "HOLDPOINT_TRUSTED_PEERS="+proxyAddr)...)
	at := p.wait(t, "desk")["desk_addr"].(string)
	for _, line := range p.seen {
		if strings.HasPrefix(line, loopback) {
			t.Errorf("it is said: %s", line)
		}
	}
	proxy, other := sender{t, from(proxyAddr, at), nil}, sender{t, from("127.0.0.1", at), nil}
	status, me := proxy.with("X-Forwarded-User", "ann", "X-Forwarded-Groups", "staff,finance").send("GET", "/v1/me", "")
	if status != 200 || me.Get("name").Str != "ann" || me.Get("groups").Raw != `["staff","finance"]` || me.Get("auth").Str != "header" || me.Get("rights").Raw != `["list","read","decide"]` {
		t.Errorf("me: %d %s", status, me)
	}
	for _, tt := range []struct {
		name    string
		s       sender
		headers []string
		status  int
		code    string
	}{
		{"from elsewhere", other, []string{"X-Forwarded-User", "ann"}, 403, "HEADER_NOT_TRUSTED"},
		{"the groups from elsewhere", other, []string{"X-Forwarded-Groups", "finance"}, 403, "HEADER_NOT_TRUSTED"},
		{"from elsewhere, nothing", other, nil, 401, "UNAUTHENTICATED"},
		{"nothing", proxy, nil, 401, "UNAUTHENTICATED"},
		{"an empty name", proxy, []string{"X-Forwarded-User", " "}, 401, "UNAUTHENTICATED"},
		{"groups alone", proxy, []string{"X-Forwarded-Groups", "finance"}, 401, "UNAUTHENTICATED"},
		{"two names", proxy, []string{"X-Forwarded-User", "ann", "X-Forwarded-User", "bob"}, 400, "INVALID_PARAMETER"},
		{"groups twice", proxy, []string{"X-Forwarded-User", "ann", "X-Forwarded-Groups", "staff", "X-Forwarded-Groups", "finance"}, 400, "INVALID_PARAMETER"},
		{"a name that is no text", proxy, []string{"X-Forwarded-User", "an\xffn"}, 400, "INVALID_PARAMETER"},
		{"another page reads", proxy, []string{"X-Forwarded-User", "ann", "Sec-Fetch-Site", "cross-site"}, 403, "CROSS_ORIGIN"},
	} {
		if status, got := tt.s.with(tt.headers...).send("GET", "/v1/approvals", ""); status != tt.status || got.Get("code").Str != tt.code || status == 401 && got.Get("auth").Str != "header" {
			t.Errorf("%s: %d %s", tt.name, status, got)
		}
	}
	none := "/v1/approvals/" + strings.Repeat("0", 64) + "." + strings.Repeat("0", 32)
	for _, tt := range []struct {
		headers []string
		status  int
	}{{nil, 403}, {[]string{"Sec-Fetch-Site", "same-site"}, 403}, {[]string{"Origin", "http://evil.example"}, 403}, {[]string{"Sec-Fetch-Site", "same-origin"}, 404}, {[]string{"Origin", "http://localhost"}, 404}} {
		if status, got := proxy.with("X-Forwarded-User", "ann").with(tt.headers...).send("DELETE", none, ""); status != tt.status {
			t.Errorf("to free with %q: %d %s", tt.headers, status, got)
		}
	}
	if status, got := proxy.with("X-Forwarded-User", "ann").send("POST", "/v1/session", `{"token":"x"}`); status != 409 || got.Get("code").Str != "NO_SESSIONS" {
		t.Errorf("to sign in: %d %s", status, got)
	}
	p = startAs(t, append(environ, "HOLDPOINT_DESK_TRUSTED_PEERS=127.0.0.0/8")...)
	p.wait(t, "desk")
	if !strings.Contains(strings.Join(p.seen, "\n"), loopback) {
		t.Errorf("nobody says that the pod may say who decides: %q", p.seen)
	}
}

// TestDeskByTokenOfAnIssuer: the desk identifies a caller by a token that the configured issuer
// made for the desk. It must refuse any other token.
func TestDeskByTokenOfAnIssuer(t *testing.T) {
	t.Parallel()
	who, dir := newIssuer(t), t.TempDir()
	p := startAs(t, "HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_POLICY="+writeFile(t, dir, "policy.yaml", policyOfFinance),
		"HOLDPOINT_DESK_AUTH=jwt", "HOLDPOINT_DESK_JWT_ISSUER="+who.URL, "HOLDPOINT_DESK_JWT_AUDIENCE=desk", "HOLDPOINT_DESK_JWT_JWKS_URL="+who.URL, "HOLDPOINT_DESK_GROUPS=groups")
	s := sender{t, from("127.0.0.1", p.wait(t, "desk")["desk_addr"].(string)), nil}
	claims := func(change ...any) map[string]any {
		c := map[string]any{"iss": who.URL, "aud": []string{"x", "desk"}, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"finance"}}
		for n := 0; n < len(change); n += 2 {
			if c[change[n].(string)] = change[n+1]; change[n+1] == nil {
				delete(c, change[n].(string))
			}
		}
		return c
	}
	signed := func(change ...any) string { return who.token(jose.ES256, who.key, "k1", claims(change...)) }
	ask := func(token string) (int, gjson.Result) {
		return s.with("Authorization", "Bearer "+token).send("GET", "/v1/me", "")
	}
	status, me := ask(signed())
	for status == http.StatusServiceUnavailable && me.Get("code").Str == "KEYS_UNAVAILABLE" {
		time.Sleep(20 * time.Millisecond)
		status, me = ask(signed())
	}
	if status != 200 || me.Get("name").Str != "ann" || me.Get("auth").Str != "jwt" || me.Get("rights").Raw != `["list","read","decide"]` {
		t.Fatalf("me: %d %s", status, me)
	}
	if status, me := ask(signed("groups", nil)); status != 200 || me.Get("rights").Raw != `[]` {
		t.Errorf("without groups: %d %s", status, me)
	}
	if status, me := ask(signed("groups", "finance")); status != 200 || me.Get("groups").Raw != `["finance"]` {
		t.Errorf("with one group as a text: %d %s", status, me)
	}
	another, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := json.Marshal(jose.JSONWebKey{Key: who.key.Public(), KeyID: "k1"})
	payload, _ := json.Marshal(claims())
	part := base64.RawURLEncoding.EncodeToString
	whole := strings.Split(signed(), ".")
	for name, token := range map[string]string{
		"for another audience": signed("aud", "chat"), "for nobody": signed("aud", nil), "of another issuer": signed("iss", "https://evil.example"),
		"over": signed("exp", time.Now().Add(-time.Hour).Unix()), "without an end": signed("exp", nil), "not yet": signed("nbf", time.Now().Add(time.Hour).Unix()),
		"without a name": signed("sub", nil), "with a name that is no text": signed("sub", 7), "with groups that are none": signed("groups", map[string]any{"finance": true}),
		"by nothing":              part([]byte(`{"alg":"none"}`)) + "." + part(payload) + ".",
		"by nothing, with a sign": part([]byte(`{"alg":"none","kid":"k1"}`)) + "." + part(payload) + "." + whole[2],
		"by the public key":       who.token(jose.HS256, public, "k1", claims()),
		"by another key":          who.token(jose.ES256, another, "k1", claims()),
		"by a key of no id here":  who.token(jose.ES256, another, "k2", claims()),
		"with other claims":       whole[0] + "." + part(bytes.Replace(payload, []byte("ann"), []byte("eve"), 1)) + "." + whole[2],
		"no token":                "x",
	} {
		if status, got := ask(token); status != 401 && status != 429 || got.Get("rights").Exists() {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
	if status, got := ask(signed("sub", "a\nb")); status != 400 {
		t.Errorf("a name with a line in it: %d %s", status, got)
	}
	if status, got := s.send("GET", "/v1/me", ""); status != 401 || got.Get("auth").Str != "jwt" {
		t.Errorf("nothing: %d %s", status, got)
	}
	if status, _ := ask(signed()); status != 200 {
		t.Errorf("the right one, after all the wrong ones: %d", status)
	}
}

// pty returns the two ends of a pseudo-terminal that has the given number of columns. The program
// under test writes to the result end, and the test reads the output from the result screen.
func pty(t *testing.T, columns uint16) (screen, end *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	var number, unlocked uint32
	size := [4]uint16{24, columns}
	for _, call := range []struct {
		request uintptr
		arg     unsafe.Pointer
	}{{syscall.TIOCGPTN, unsafe.Pointer(&number)}, {syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked)}, {syscall.TIOCSWINSZ, unsafe.Pointer(&size)}} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), call.request, uintptr(call.arg)); errno != 0 {
			t.Fatal(errno)
		}
	}
	if end, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end.Close() })
	return screen, end
}

var madeToken = regexp.MustCompile(`The desk is at (http://\S+/)\r?\nThe token to sign in with, until Holdpoint ends: (\S+)\r?\n`)

// TestDeskMakesAToken: on loopback, with a person at a terminal, Holdpoint makes a token at start,
// and prints it at the terminal with the address of the desk's page. If its output may end up in a
// log, Holdpoint makes no token and does not start.
func TestDeskMakesAToken(t *testing.T) {
	t.Parallel()
	environ := []string{"HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off"}
	screen, end := pty(t, 80)
	p := exec.Command(binary)
	p.Env, p.Stderr = environ, end
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	var shown []byte
	var told [][]byte
	for part := make([]byte, 4096); told == nil; told = madeToken.FindSubmatch(shown) {
		n, err := screen.Read(part)
		if err != nil {
			t.Fatalf("%v after %s", err, shown)
		}
		shown = append(shown, part[:n]...)
	}
	at := strings.Trim(strings.TrimPrefix(string(told[1]), "http://"), "/")
	c := caller{T: t, at: at, token: string(told[2])}
	if me := c.ok("GET", "/v1/me"); me.Get("name").Str != "operator" {
		t.Errorf("me: %s", me)
	}
	if status, _ := c.as("").call("GET", "/v1/me"); status != 401 {
		t.Errorf("without it: %d", status)
	}
	if cookie := c.signIn(c.token); cookie.Value == "" {
		t.Error("nobody signs in")
	}
	if strings.Count(string(shown), c.token) != 1 {
		t.Errorf("the token is told more than once: %s", shown)
	}

	const want = "admits nobody without a token, on loopback too"
	_, narrow := pty(t, 0) // like a container's terminal that nobody views
	for name, run := range map[string]*exec.Cmd{
		"into a log":              {Stderr: new(bytes.Buffer), Env: environ},
		"at a container's screen": {Stderr: narrow, Env: environ},
		"in a pod":                {Stderr: end, Env: append(environ, "KUBERNETES_SERVICE_HOST=10.0.0.1")},
		"at all addresses":        {Stderr: end, Env: append(environ, "HOLDPOINT_DESK_LISTEN=0.0.0.0:0")},
	} {
		run.Path, run.Args = binary, []string{binary}
		if err := run.Run(); run.ProcessState.ExitCode() != exitMisuse {
			t.Errorf("%s: %v", name, err)
		}
		if log, ok := run.Stderr.(*bytes.Buffer); ok && !strings.Contains(log.String(), want) {
			t.Errorf("%s: it says %s", name, log)
		}
	}
	if stdout, _, code := holdpoint(t, environ, "check"); code != exitOK || strings.Contains(stdout, "token to sign in") {
		t.Errorf("check: %d %s", code, stdout)
	}
}
