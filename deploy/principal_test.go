//go:build deploy

package deploy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const users = "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\nmallory:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n" // with the password "password"

// oauth2Proxy starts a proxy in front of upstream and returns its address. Users log in to the
// proxy by name and password. If the variable OAUTH2_PROXY has the path of the real oauth2-proxy,
// the real one runs, with the manifest's arguments for headers and times. Otherwise a small proxy
// treats headers as oauth2-proxy documents it.
func oauth2Proxy(t *testing.T, upstream string, args []string) string {
	t.Helper()
	path := os.Getenv("OAUTH2_PROXY")
	if path == "" {
		to, err := url.Parse(upstream)
		if err != nil {
			t.Fatal(err)
		}
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
			for name := range r.Out.Header {
				if spelt := strings.ToLower(strings.ReplaceAll(name, "_", "-")); spelt == "x-forwarded-user" || spelt == "x-forwarded-groups" {
					r.Out.Header.Del(name)
					delete(r.Out.Header, name)
				}
			}
			user, _, _ := r.In.BasicAuth()
			r.Out.Header.Set("X-Forwarded-User", user)
			r.Out.Header.Del("Authorization")
		}}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex() // golang/go#40747: without this a fast response to a POST is cut off
			proxy.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	t.Logf("with %s", path)
	free, err := net.Listen("tcp", "127.0.0.1:0") // oauth2-proxy does not report a free port
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	file := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(file, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--http-address=" + address, "--upstream=" + upstream, "--htpasswd-file=" + file, "--provider=github", "--email-domain=*",
		"--client-id=id", "--client-secret=secret", "--cookie-secret=0123456789abcdef", "--redirect-url=http://" + address + "/oauth2/callback"}
	for _, a := range args {
		if regexp.MustCompile(`^--(pass|skip|upstream-timeout|api-route)`).MatchString(a) {
			flags = append(flags, a)
		}
	}
	cmd := exec.CommandContext(t.Context(), path, flags...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return "http://" + address
		}
		time.Sleep(50 * time.Millisecond) // until oauth2-proxy listens
	}
	t.Fatal("oauth2-proxy does not listen")
	return ""
}

// start starts Holdpoint and returns its address.
func start(t *testing.T, env map[string]string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), holdpoint)
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
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
		var line struct{ Msg, Addr string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			go io.Copy(io.Discard, logs)
			return "http://" + line.Addr
		}
		t.Log(lines.Text())
	}
	t.Fatal("Holdpoint ended")
	return ""
}

// asking starts an agent that asks one question. The agent counts all its requests in runs, and its
// requests with an answer in resumes.
func asking(t *testing.T, runs, resumes *atomic.Int32) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ThreadID, RunID string
			Resume          []any
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Errorf("the agent got no run: %v", err)
		}
		outcome := `{"type":"interrupt","interrupts":[{"id":"q1","reason":"confirmation","message":"Delete it?"}]}`
		if runs.Add(1); in.Resume != nil {
			resumes.Add(1)
			outcome = `{"type":"success"}`
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":%q,\"runId\":%q}\n\n", in.ThreadID, in.RunID)
		fmt.Fprintf(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%q,\"runId\":%q,\"outcome\":%s}\n\n", in.ThreadID, in.RunID, outcome)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestForgedPrincipal: Holdpoint runs behind oauth2-proxy, with the variables of the manifests. A
// client may get another user's name neither by headers that it sends through the proxy nor by a
// request past the proxy.
func TestForgedPrincipal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has more addresses of loopback than one: a peer that is not trusted needs one")
	}
	var runs, resumes atomic.Int32
	env, args := map[string]string{}, []string(nil)
	for _, o := range parse(t, must(t, "KUSTOMIZE", "build", "kustomize/behind-oauth2-proxy")) {
		if o["kind"] != "Deployment" {
			continue
		}
		for _, c := range as[deployment](t, o).Spec.Template.Spec.Containers {
			if c.Name == "holdpoint" {
				env = c.environment()
			} else {
				args = append(args, c.Args...)
			}
		}
	}
	if env["HOLDPOINT_PRINCIPAL_HEADER"] != "X-Forwarded-User" || len(args) == 0 {
		t.Fatalf("the manifests have %v and %v", env, args)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{ // values that the cluster would set
		"HOLDPOINT_UPSTREAM": asking(t, &runs, &resumes), "HOLDPOINT_LISTEN": "127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN": "off",
		"HOLDPOINT_STORE": "memory://", "HOLDPOINT_STORE_PASSWORD_FILE": "", "HOLDPOINT_PRINCIPAL_KEY_FILE": key, "HOLDPOINT_TRUSTED_PEERS": "127.0.0.1/32",
	} {
		env[name] = value
	}
	direct := start(t, env)
	through := oauth2Proxy(t, direct, args)

	// post sends a run with a user's login, and returns the status and the body. forged is a header
	// that the client adds, as "name: value", or "".
	post := func(client *http.Client, address, user, forged, resume string) (int, string) {
		t.Helper()
		body := `{"protocolVersion":"1.0","threadId":"t1","runId":"r` + fmt.Sprint(time.Now().UnixNano()) + `","messages":[{"id":"m1","role":"user","content":"go"}]` + resume + `}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if user != "" {
			req.SetBasicAuth(user, "password")
		}
		if name, value, ok := strings.Cut(forged, ": "); ok {
			req.Header[name] = []string{value} // in exactly this spelling
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	proxied := http.DefaultClient
	_, asked := post(proxied, through, "alice", "", "")
	m := regexp.MustCompile(`"interrupts":\[\{"id":"([^"]+)"`).FindStringSubmatch(asked)
	if m == nil {
		t.Fatalf("no question: %s", asked)
	}
	yes := `,"resume":[{"interruptId":"` + m[1] + `","status":"resolved","payload":{"approved":true}}]`

	other := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		return d.DialContext(ctx, network, address)
	}}}
	defer other.CloseIdleConnections()
	before := runs.Load()
	for _, tt := range []struct {
		name, address, user, forged string
		client                      *http.Client
		status                      int
		want                        string
	}{
		{"through the proxy as himself", through, "mallory", "", proxied, 200, "THREAD_FORBIDDEN|UNKNOWN_INTERRUPT_ID"},
		{"through the proxy with Alice's name", through, "mallory", "X-Forwarded-User: alice", proxied, 200, "THREAD_FORBIDDEN|UNKNOWN_INTERRUPT_ID"},
		{"in another spelling", through, "mallory", "X_Forwarded_User: alice", proxied, 200, "THREAD_FORBIDDEN|UNKNOWN_INTERRUPT_ID"},
		{"past the proxy with Alice's name", direct, "", "X-Forwarded-User: alice", other, 403, ""},
		{"past the proxy without a name", direct, "", "", other, 401, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, answer := post(tt.client, tt.address, tt.user, tt.forged, yes)
			if status != tt.status || !regexp.MustCompile(tt.want).MatchString(answer) {
				t.Errorf("got %d %s, want %d with %s", status, answer, tt.status, tt.want)
			}
		})
	}
	if n := runs.Load() - before; n != 0 {
		t.Errorf("the agent was asked %d times in Alice's name", n)
	}
	if _, answer := post(proxied, through, "alice", "", yes); !strings.Contains(answer, `"success"`) || resumes.Load() != 1 {
		t.Errorf("Alice's own answer was sent %d times: %s", resumes.Load(), answer)
	}
}
