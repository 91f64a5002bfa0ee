package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"holdpoint/internal/inject"
	"holdpoint/internal/test/authority"
	"holdpoint/internal/variables"
)

// TestCheckInject: `holdpoint check inject` must print the settings of the injector, or what is
// wrong with them. `holdpoint inject` must refuse wrong settings and the variables of the proxy.
// `holdpoint check` must refuse the variables of the injector.
func TestCheckInject(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		env        []string
		code       int
		want       string
	}{
		{"as it is", "check inject", []string{"HOLDPOINT_INJECT_IMAGE=h:1"}, exitOK, "HOLDPOINT_INJECT_IMAGE  h:1\nthe injector makes its certificate itself\n"},
		{"all", "check inject -all", []string{"HOLDPOINT_INJECT_IMAGE=h:1"}, exitOK, "HOLDPOINT_INJECT_LISTEN         :8443 (default)"},
		{"no image", "check inject", nil, exitMisuse, "HOLDPOINT_INJECT_IMAGE is not set"},
		{"all that is wrong", "check inject", []string{"HOLDPOINT_INJECT_LISTEN=8443", "HOLDPOINT_INJECT_CERT_LIFETIME=1s", "HOLDPOINT_INJECT_NAME=A", "HOLDPOINT_LOG_LEVEL=loud"}, exitMisuse,
			"HOLDPOINT_INJECT_LISTEN \"8443\": want host:port"},
		{"half a certificate", "inject", []string{"HOLDPOINT_INJECT_IMAGE=h", "HOLDPOINT_INJECT_CERT_FILE=/nowhere"}, exitMisuse, "are set together"},
		{"a socket", "inject", []string{"HOLDPOINT_INJECT_IMAGE=h", "HOLDPOINT_INJECT_LISTEN=unix:///run/x"}, exitMisuse, "connects over the network"},
		{"a variable of the proxy", "inject", []string{"HOLDPOINT_INJECT_IMAGE=h", "HOLDPOINT_UPSTREAM=http://x/"}, exitMisuse, "HOLDPOINT_UPSTREAM is not a variable of holdpoint inject"},
		{"outside of a cluster", "inject", []string{"HOLDPOINT_INJECT_IMAGE=h", "HOLDPOINT_INJECT_LISTEN=127.0.0.1:0"}, exitError, "this is not a pod"},
		{"a variable of the injector", "check", []string{"HOLDPOINT_UPSTREAM=http://x/", "HOLDPOINT_INJECT_IMAGE=h"}, exitMisuse, "HOLDPOINT_INJECT_IMAGE is for holdpoint inject only"},
		{"help", "inject -h", nil, exitOK, "The injector (holdpoint inject)"},
		{"too much", "check inject desk", nil, exitMisuse, "check takes one argument at most, desk or inject"},
		{"an argument", "inject now", nil, exitMisuse, "inject takes no argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := holdpoint(t, tt.env, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("exit %d: %s%s\nwant %d, %q", code, stdout, stderr, tt.code, tt.want)
			}
		})
	}
}

// TestVariablesOfAnnotations: each variable that a pod's annotation may set is a variable of
// Holdpoint. None of these variables may be a secret or name a file.
func TestVariablesOfAnnotations(t *testing.T) {
	list := all()
	find := func(name string) int {
		return slices.IndexFunc(list, func(v variables.Variable) bool { return v.Name == prefix+name })
	}
	for _, name := range inject.AllowedVariables() {
		switch {
		case find(name) < 0:
			t.Errorf("there is no %s%s", prefix, name)
		case find(name+"_FILE") >= 0 || strings.HasSuffix(name, "_FILE"):
			t.Errorf("%s%s is a secret, or names a file", prefix, name)
		}
	}
	for _, name := range inject.SecretVariables() {
		if find(name+"_FILE") < 0 {
			t.Errorf("there is no %s%s_FILE", prefix, name)
		}
	}
}

// TestCheckSidecar: the injector must refuse a pod if its sidecar, which is Holdpoint, would refuse
// one of the variables. The example values that stand for secrets must be valid.
func TestCheckSidecar(t *testing.T) {
	const upstream = "HOLDPOINT_UPSTREAM=http://127.0.0.1:8000/"
	for _, tt := range []struct{ more, want string }{
		{"", ""},
		{"HOLDPOINT_STORE=bolt:///var/lib/holdpoint/state.db GOMEMLIMIT=920MiB HOLDPOINT_ADMIN_LISTEN=:7081 HOLDPOINT_DRAIN_DELAY=5s", ""},
		{"HOLDPOINT_DIALECT=klingon", `HOLDPOINT_DIALECT "klingon"`},
		{"HOLDPOINT_STORE=redis", `HOLDPOINT_STORE "redis"`},
		{"HOLDPOINT_STORE=redis://redis:6379 HOLDPOINT_DESK_LISTEN=elsewhere HOLDPOINT_NAME=a HOLDPOINT_STORE_PASSWORD=" + inject.ExampleSecret("STORE_PASSWORD") + " HOLDPOINT_STORE_KEYS=" + inject.ExampleSecret("STORE_KEYS"), ""},
		{"HOLDPOINT_PRINCIPAL_HEADER=X-User HOLDPOINT_TRUSTED_PEERS=10.0.0.0/8 HOLDPOINT_PRINCIPAL_KEY=" + inject.ExampleSecret("PRINCIPAL_KEY"), ""},
		{"HOLDPOINT_WEBHOOK_URL=" + inject.ExampleSecret("WEBHOOK_URL") + " HOLDPOINT_WEBHOOK_SECRET=" + inject.ExampleSecret("WEBHOOK_SECRET"), ""},
	} {
		errs := checkSidecar(append(strings.Fields(tt.more), upstream))
		if (tt.want == "") != (len(errs) == 0) || len(errs) > 0 && !strings.HasPrefix(errs[0].Error(), tt.want) {
			t.Errorf("%s: %q, want %q", tt.more, errs, tt.want)
		}
	}
}

// TestInjectServes: the webhook of the injector serves TLS with the certificate in its files, and
// with the new certificate after the files change. It refuses a pod whose sidecar would not start.
// After TERM it reports that it is not ready, but still answers reviews.
func TestInjectServes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no TERM")
	}
	t.Parallel()
	const name = "holdpoint-injector.holdpoint.svc"
	ca, folder := authority.New(t), authority.NewFolder(t)
	folder.Issue(ca, name)
	p := &process{Cmd: exec.Command(binary, "inject")}
	p.Env = []string{
		"HOLDPOINT_INJECT_IMAGE=h:1", "HOLDPOINT_INJECT_LISTEN=127.0.0.1:0",
		"HOLDPOINT_INJECT_CERT_FILE=" + folder.Path("tls.crt"), "HOLDPOINT_INJECT_KEY_FILE=" + folder.Path("tls.key"),
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	p.log = json.NewDecoder(stderr)
	addr := p.wait(t, "listening")["addr"].(string)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	shown := ""
	send := func(method, path, body string) (int, string) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}}}
		req, _ := http.NewRequest(method, "https://"+addr+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		shown = res.TLS.PeerCertificates[0].SerialNumber.String()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	review := func(dialect string) string {
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},
			"object":{"metadata":{"annotations":{"holdpoint/agent":"agent/http","env.holdpoint/DIALECT":"` + dialect + `"}},"spec":{"containers":[{"name":"agent","ports":[{"name":"http","containerPort":8000}]}]}}}}`
	}
	if code, text := send("POST", "/inject", review("langgraph")); code != 200 || !strings.Contains(text, `"patchType":"JSONPatch"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text := send("POST", "/inject", review("klingon")); code != 200 || !strings.Contains(text, `the sidecar would not start: HOLDPOINT_DIALECT \"klingon\"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := send("GET", "/readyz", ""); code != 200 {
		t.Errorf("not ready: %d", code)
	}
	first := shown
	folder.Issue(ca, name)
	for range 2 { // a file that is newer than the process is read twice
		if shown == first {
			p.wait(t, "read again")
			send("GET", "/healthz", "")
		}
	}
	if shown == first {
		t.Error("the old certificate is shown")
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "draining")
	if code, _ := send("GET", "/readyz", ""); code != 503 {
		t.Errorf("ready after the signal: %d", code)
	}
	if code, _ := send("POST", "/inject", review("langgraph")); code != 200 {
		t.Errorf("not answered after the signal: %d", code)
	}
}
