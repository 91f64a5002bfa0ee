package injector

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/inject"
)

const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE","namespace":"agents",
	"kind":{"group":"","version":"v1","kind":"Pod"},"object":{"metadata":{"name":"agent-1","annotations":{"holdpoint/agent":"agent/PORT"}},
	"spec":{"containers":[{"name":"agent","ports":[{"name":"http","containerPort":8000}]}]}}}}`

// TestWebhook: the webhook must answer an AdmissionReview. Its response to any other request must
// be an error that says what is wrong.
func TestWebhook(t *testing.T) {
	var log bytes.Buffer
	ready := false
	h := Handler(&inject.Injector{Image: "h"}, func() bool { return ready }, slog.New(slog.NewTextHandler(&log, nil)))
	good, bad := strings.Replace(review, "PORT", "http", 1), strings.Replace(review, "PORT", "agui", 1)
	for _, tt := range []struct {
		name, method, path, kind, body string
		code                           int
		want, logs                     string
	}{
		{"a pod", "POST", "/inject", "application/json", good, 200, `"patchType":"JSONPatch"`, `msg="a pod got its sidecar" namespace=agents pod=agent-1 dry_run=false`},
		{"its warnings", "POST", "/inject?timeout=5s", "application/json; charset=utf-8", good, 200, `"warnings":["holdpoint: port 8000`, `msg="a pod with a warning"`},
		{"a refusal", "POST", "/inject", "application/json", bad, 200, `"allowed":false`, `level=WARN msg="a pod was refused"`},
		{"something else", "POST", "/inject", "application/json", `{"kind":"Pod"}`, 400, "want an AdmissionReview of admission.k8s.io/v1", `msg="not a review"`},
		{"no JSON", "POST", "/inject", "application/json", `{`, 400, "not valid JSON", ""},
		{"another form", "POST", "/inject", "application/yaml", good, 415, "application/json", ""},
		{"no form", "POST", "/inject", "", good, 415, "application/json", ""},
		{"too much", "POST", "/inject", "application/json", `"` + strings.Repeat("x", maxReview) + `"`, 413, "at most 4194304 bytes", ""},
		{"another method", "GET", "/inject", "", "", 405, "", ""},
		{"it lives", "GET", "/healthz", "", "", 200, "ok", ""},
		{"not ready", "GET", "/readyz", "", "", 503, "not ready", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log.Reset()
			w := httptest.NewRecorder()
			req := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
			req.Header.Set("Content-Type", tt.kind)
			h.ServeHTTP(w, req)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) || !strings.Contains(log.String(), tt.logs) {
				t.Errorf("%d %s\n%s\nwant %d, %q and %q", w.Code, w.Body, &log, tt.code, tt.want, tt.logs)
			}
		})
	}
	ready = true
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	if w.Code != 200 {
		t.Errorf("ready, and it says %d", w.Code)
	}
}

// An apiServer plays the API server of Kubernetes in tests. It has one Secret and one
// MutatingWebhookConfiguration.
type apiServer struct {
	t      *testing.T
	folder string
	server *httptest.Server

	mu      sync.Mutex
	secret  map[string]any
	hooks   map[string]any
	version int
	minor   string
	down    bool
	// before is called once, immediately before the next write is handled.
	before func()
	writes []string
}

func newAPIServer(t *testing.T) *apiServer {
	a := &apiServer{t: t, folder: t.TempDir(), minor: "37", secret: map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "holdpoint-injector"}}}
	a.hooks = map[string]any{"metadata": map[string]any{}, "webhooks": []any{
		map[string]any{"name": "other", "clientConfig": map[string]any{"url": "https://example.com/"}},
		map[string]any{"name": "ours", "clientConfig": map[string]any{"service": map[string]any{"name": "holdpoint-injector", "namespace": "holdpoint"}}},
	}}
	a.server = httptest.NewTLSServer(http.HandlerFunc(a.answer))
	t.Cleanup(a.server.Close)
	a.put("namespace", "holdpoint\n")
	a.put("token", "first")
	a.put("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})))
	return a
}

func (a *apiServer) put(file, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.folder, file), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// answer handles a request like a real API server. It also refuses a write whose resourceVersion is
// not the current one.
func (a *apiServer) answer(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && a.before != nil {
		before := a.before
		a.before = nil
		before()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	token, _ := os.ReadFile(filepath.Join(a.folder, "token"))
	say := func(code int, v any) {
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(v)
	}
	fail := func(code int, message string) { say(code, map[string]any{"kind": "Status", "message": message}) }
	body, _ := io.ReadAll(req.Body)
	const secret = "/api/v1/namespaces/holdpoint/secrets/holdpoint-injector"
	const hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/holdpoint-injector"
	switch at := req.Method + " " + req.URL.Path; {
	case a.down:
		fail(503, "it is away")
	case req.Header.Get("Authorization") != "Bearer "+strings.TrimSpace(string(token)):
		fail(401, "Unauthorized")
	case at == "GET /version":
		say(200, map[string]any{"major": "1", "minor": a.minor, "gitVersion": "v1." + a.minor + ".0"})
	case at == "GET "+secret && a.secret == nil:
		fail(404, `secrets "holdpoint-injector" not found`)
	case at == "GET "+secret:
		say(200, a.secret)
	case at == "GET "+hooks:
		say(200, a.hooks)
	case at == "PUT "+secret:
		if gjson.GetBytes(body, "metadata.resourceVersion").String() != versionOf(a.secret) {
			fail(409, "the object has been modified")
			return
		}
		a.secret = map[string]any{}
		if err := json.Unmarshal(body, &a.secret); err != nil {
			a.t.Error(err)
		}
		a.touch(a.secret)
		a.writes = append(a.writes, "secret")
		say(200, a.secret)
	case at == "PATCH "+hooks && req.Header.Get("Content-Type") == "application/json-patch+json":
		var patch []struct{ Op, Path, Value string }
		if err := json.Unmarshal(body, &patch); err != nil {
			a.t.Error(err)
		}
		if patch[0].Op != "test" || patch[0].Path != "/metadata/resourceVersion" || patch[0].Value != versionOf(a.hooks) {
			fail(422, "the server rejected our request due to an error in our request")
			return
		}
		for _, op := range patch[1:] {
			if op.Op != "add" || op.Path != "/webhooks/1/clientConfig/caBundle" {
				a.t.Errorf("%+v", op)
			}
			a.hooks["webhooks"].([]any)[1].(map[string]any)["clientConfig"].(map[string]any)["caBundle"] = op.Value
		}
		a.touch(a.hooks)
		a.writes = append(a.writes, "configuration")
		say(200, a.hooks)
	default:
		fail(403, "forbidden: "+at)
	}
}

func versionOf(object map[string]any) string {
	v, _ := object["metadata"].(map[string]any)["resourceVersion"].(string)
	return v
}

// touch gives the object a new resourceVersion.
func (a *apiServer) touch(object map[string]any) {
	a.version++
	object["metadata"].(map[string]any)["resourceVersion"] = strings.Repeat("v", a.version)
}

// trusted returns the certificate authorities that the webhook configuration tells API servers to
// trust.
func (a *apiServer) trusted() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, _ := a.hooks["webhooks"].([]any)[1].(map[string]any)["clientConfig"].(map[string]any)["caBundle"].(string)
	bundle, _ := base64.StdEncoding.DecodeString(text)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	return pool
}

func (a *apiServer) keeper(now func() time.Time) *Keeper {
	a.t.Helper()
	u, _ := url.Parse(a.server.URL)
	c, err := inCluster(func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": u.Hostname(), "KUBERNETES_SERVICE_PORT": u.Port()}[name]
	}, a.folder)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(c.http.CloseIdleConnections)
	k, err := newKeeper(c, "holdpoint-injector", 90*24*time.Hour, now, slog.New(slog.DiscardHandler))
	if err != nil {
		a.t.Fatal(err)
	}
	return k
}

// look runs one step of the keeper. Then it checks that an API server would trust the certificate
// that the keeper serves, and returns that certificate.
func look(t *testing.T, a *apiServer, k *Keeper) *x509.Certificate {
	t.Helper()
	if err := k.step(context.Background()); err != nil {
		t.Fatal(err)
	}
	return shown(t, a, k)
}

func shown(t *testing.T, a *apiServer, k *Keeper) *x509.Certificate {
	t.Helper()
	c, err := k.TLS().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: "holdpoint-injector.holdpoint.svc", Roots: a.trusted(), CurrentTime: k.now()}); err != nil {
		t.Fatalf("an API server says: %v", err)
	}
	return c.Leaf
}

// TestCertificate: two replicas of the injector share one certificate. A replica that restarts must
// use this certificate too. Before the certificate expires, a replica must renew it. After every
// step, API servers must trust the certificate that each replica serves.
func TestCertificate(t *testing.T) {
	a := newAPIServer(t)
	at := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	one, two := a.keeper(now), a.keeper(now)
	if one.Ready() {
		t.Error("ready without a certificate")
	}
	first := look(t, a, one)
	if other := look(t, a, two); !other.Equal(first) || !one.Ready() || strings.Join(a.writes, " ") != "secret configuration" {
		t.Errorf("another certificate for the second replica: %q", a.writes)
	}
	a.put("token", "second\n") // Kubernetes replaces the token within the hour
	if again := look(t, a, a.keeper(now)); !again.Equal(first) || len(a.writes) != 2 {
		t.Errorf("another certificate after a restart: %q", a.writes)
	}
	at = at.Add(59 * 24 * time.Hour)
	if look(t, a, one); len(a.writes) != 2 {
		t.Errorf("renewed too early: %q", a.writes)
	}

	at = at.Add(2 * 24 * time.Hour)
	if now := look(t, a, one); !now.Equal(first) || len(a.writes) != 4 {
		t.Errorf("the new certificate is shown before API servers have heard of it: %q", a.writes)
	}
	shown(t, a, two) // this replica has not read the new Secret yet
	second := look(t, a, one)
	if second.Equal(first) || !look(t, a, two).Equal(second) || len(a.writes) != 4 {
		t.Errorf("not renewed, or twice: %q", a.writes)
	}

	at = at.Add(61 * 24 * time.Hour)
	look(t, a, two)
	if text, _ := base64.StdEncoding.DecodeString(a.secret["data"].(map[string]any)["ca.crt"].(string)); len(split(text)) != 2 {
		t.Errorf("%d authorities are trusted, want the last two", len(split(text)))
	}
	look(t, a, one)
}

// TestCertificateTwoAtOnce: if two replicas make a certificate at the same time, the second one to
// write must use the certificate that the first one wrote.
func TestCertificateTwoAtOnce(t *testing.T) {
	a := newAPIServer(t)
	one, two := a.keeper(time.Now), a.keeper(time.Now)
	a.before = func() { look(t, a, two) }
	if !look(t, a, one).Equal(shown(t, a, two)) || strings.Join(a.writes, " ") != "secret configuration" {
		t.Errorf("two certificates: %q", a.writes)
	}
}

// TestCertificateIsMended: somebody damages the Secret or the webhook configuration. The keeper
// must make both valid again.
func TestCertificateIsMended(t *testing.T) {
	for _, tt := range []struct {
		name string
		undo func(a *apiServer)
		same bool // whether the certificate stays the same
	}{
		{"an empty Secret", func(a *apiServer) { delete(a.secret, "data") }, false},
		{"a Secret of something else", func(a *apiServer) { a.secret["data"].(map[string]any)["tls.crt"] = "!" }, false},
		{"a certificate without its authority", func(a *apiServer) { a.secret["data"].(map[string]any)["ca.crt"] = "" }, false},
		{"no authority in the configuration", func(a *apiServer) {
			delete(a.hooks["webhooks"].([]any)[1].(map[string]any)["clientConfig"].(map[string]any), "caBundle")
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPIServer(t)
			k := a.keeper(time.Now)
			first := look(t, a, k)
			tt.undo(a)
			if err := k.step(t.Context()); err != nil {
				t.Fatal(err)
			}
			shown(t, a, k)
			if now := look(t, a, k); now.Equal(first) != tt.same {
				t.Errorf("the same certificate: %v", !tt.same)
			}
		})
	}
}

// TestCertificateFailures: if the keeper cannot do its step, its error must name what is missing,
// and the listener must keep its certificate.
func TestCertificateFailures(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		do         func(a *apiServer)
	}{
		{"an API server that is away", "status 503, it is away", func(a *apiServer) { a.down = true }},
		{"no Secret", `the Secret holdpoint-injector: GET /api/v1/namespaces/holdpoint/secrets/holdpoint-injector: status 404`, func(a *apiServer) { a.secret = nil }},
		{"no webhook", "it has no webhook whose clientConfig.service is holdpoint-injector in holdpoint", func(a *apiServer) { a.hooks["webhooks"] = []any{} }},
		{"no token", "token", func(a *apiServer) { os.Remove(filepath.Join(a.folder, "token")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPIServer(t)
			k := a.keeper(time.Now)
			look(t, a, k)
			tt.do(a)
			if err := k.step(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if !k.Ready() {
				t.Error("the certificate is gone")
			}
		})
	}
	if _, err := inCluster(func(string) string { return "" }, t.TempDir()); err == nil || !strings.Contains(err.Error(), "this is not a pod") {
		t.Errorf("%v", err)
	}
}

// TestOldKubernetes: the injector must refuse Kubernetes before 1.33, where an injected pod would
// get no requests.
func TestOldKubernetes(t *testing.T) {
	for minor, want := range map[string]bool{"32": false, "33": true, "32+": false, "40": true, "": true} {
		a := newAPIServer(t)
		a.minor = minor
		err := a.keeper(time.Now).CheckVersion(t.Context())
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "the injector needs 1.33") {
			t.Errorf("1.%s: %v", minor, err)
		}
	}
}
