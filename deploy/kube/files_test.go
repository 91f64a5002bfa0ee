//go:build kube && linux

package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestFilesThatChange: Secrets and a ConfigMap change while a pod runs. Without a restart,
// Holdpoint must use the new token of the desk, headers, certificate and policy. It must refuse the
// old token.
func TestFilesThatChange(t *testing.T) {
	s := scene(t)
	secret := func(name, key, value string) {
		s.apply(object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": name}, "stringData": object{key: value}})
	}
	certificate := func(name string) {
		crt, key := selfSigned(t, name)
		s.apply(object{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": object{"name": "tls"}, "stringData": object{"tls.crt": crt, "tls.key": key}})
	}
	policy := func(name string) {
		s.apply(object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "policy"}, "data": object{
			"policy.yaml": "access:\n  - names: [" + name + "]\n    agents: [\"*\"]\n    rights: [decide]\n",
		}})
	}
	one, two := strings.Repeat("one-", 12), strings.Repeat("two-", 12)
	secret("desk", "token", one)
	secret("headers", "headers", "X-Key: one\n")
	certificate("one")
	policy("operator")
	s.install("kubernetes/sidecar.yaml", func(_ []object, d object) {
		c := container(t, d, "holdpoint")
		for _, name := range []string{"desk", "headers", "tls"} {
			mount(d, c, name, "/etc/"+name, object{"secret": object{"secretName": name, "defaultMode": 0o440}})
		}
		mount(d, c, "policy", "/etc/policy", object{"configMap": object{"name": "policy"}})
		setEnv(c, "HOLDPOINT_TLS_CERT_FILE=/etc/tls/tls.crt", "HOLDPOINT_TLS_KEY_FILE=/etc/tls/tls.key", "HOLDPOINT_UPSTREAM_HEADERS_FILE=/etc/headers/headers",
			"HOLDPOINT_DESK_LISTEN=:7082", "HOLDPOINT_DESK_TOKEN_FILE=/etc/desk/token", "HOLDPOINT_POLICY=/etc/policy/policy.yaml")
	})
	p := s.readyPods(agentLabel)[0]
	address := func(port int) string { return fmt.Sprintf("%s:%d", p.Status.PodIP, port) }
	insecure := &tls.Config{InsecureSkipVerify: true}
	served := func() string {
		c, err := tls.Dial("tcp", address(7080), insecure)
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: insecure, DisableKeepAlives: true}}
	desk := func(token string) (shown, code int) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address(7082)+"/v1/approvals", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(req)
		if err != nil {
			t.Log(err)
			return 0, 0
		}
		defer resp.Body.Close()
		var list struct{ Approvals []any }
		json.NewDecoder(resp.Body).Decode(&list)
		return len(list.Approvals), resp.StatusCode
	}
	key := func() string { return say("https://"+address(7080)+"/", "headers", "headers").wait().text() }
	question(t, "https://"+address(7080)+"/", "open", "ask cake")
	shown, code := desk(one)
	if _, refused := desk(two); served() != "one" || shown != 1 || code != http.StatusOK || refused != http.StatusUnauthorized || !strings.Contains(key(), "X-Key: one") {
		t.Fatalf("before: certificate %s, %d questions, tokens %d and %d, headers %q", served(), shown, code, refused, key())
	}
	began := time.Now()
	secret("desk", "token", two)
	secret("headers", "headers", "X-Key: two\n")
	certificate("two")
	policy("somebody")
	s.until("the new certificate is served", func() bool { return served() == "two" })
	s.until("the new desk token is taken, and the withdrawn one is refused", func() bool {
		_, code := desk(two)
		_, old := desk(one)
		return code == http.StatusOK && old == http.StatusUnauthorized
	})
	s.until("the agent gets the new headers", func() bool { return strings.Contains(key(), "X-Key: two") })
	s.until("the desk shows nothing to whom the policy does not name any more", func() bool { shown, _ := desk(two); return shown == 0 })
	s.note("all that changed is in effect %.0f s after kubectl apply (the kubelet looks every 5 s here)", time.Since(began).Seconds())
	if now := s.named(agentLabel, p.Metadata.Name); now.restarts() != 0 {
		t.Errorf("restarts: %s", now.describe())
	}
}

// selfSigned returns a self-signed certificate with the common name, and its key, both in PEM.
func selfSigned(t *testing.T, name string) (crt, key string) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"agent"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, own.Public(), own)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
}
