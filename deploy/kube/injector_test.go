//go:build kube && linux

package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// annotatedPod returns a restricted pod with the scripted agent. Its annotations ask the injector
// for a sidecar. The agent listens on all addresses, until the injector makes it listen only on
// 127.0.0.1.
func annotatedPod(annotations object) object {
	restricted := object{"allowPrivilegeEscalation": false, "runAsNonRoot": true, "runAsUser": 65532, "capabilities": object{"drop": []any{"ALL"}}, "seccompProfile": object{"type": "RuntimeDefault"}}
	all := object{"holdpoint/agent": "agent/agui", "holdpoint/address": "LISTEN"}
	for name, value := range annotations {
		all[name] = value
	}
	return object{
		"metadata": object{"name": "one", "labels": object{"app": "agent"}, "annotations": all},
		"spec": object{"containers": []any{object{
			"name": "agent", "image": "registry.example.com/agent:1", "securityContext": restricted,
			"ports": []any{object{"name": "agui", "containerPort": 8000}},
			"env":   []any{object{"name": "LISTEN", "value": "0.0.0.0:8000"}},
		}}},
	}
}

// agentOf returns the container of the agent in the pod.
func agentOf(pod object) object { return pod["spec"].(object)["containers"].([]any)[0].(object) }

// serviceTo returns a Service that leads to a port of the scene's pods. The parameter target is the
// name or the number of that port.
func serviceTo(name string, target any) object {
	return object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name},
		"spec": object{"selector": object{"app": "agent"}, "ports": []any{object{"port": 80, "targetPort": target}}}}
}

// tryPod sends the pod to the API server in a dry run. It returns the names of the init containers
// that the pod would have, which include sidecars.
func (s *space) tryPod(pod object) (sidecars []string, err error) {
	var made struct {
		Spec struct{ InitContainers []struct{ Name string } }
	}
	err = ask("POST", "/api/v1/namespaces/"+s.name+"/pods?dryRun=All", pod, &made)
	for _, c := range made.Spec.InitContainers {
		sidecars = append(sidecars, c.Name)
	}
	return sidecars, err
}

// asking sends annotated pods to the API server in dry runs, until the returned function is called.
// That function returns how many pods were sent, and what was wrong with the first pod that did not
// get its sidecar, or "".
func (s *space) asking() func() (int64, string) {
	var sent atomic.Int64
	end, ended := make(chan struct{}), make(chan string)
	go func() {
		wrong := ""
		for {
			select {
			case <-end:
				ended <- wrong
				return
			case <-time.After(50 * time.Millisecond):
			}
			got, err := s.tryPod(annotatedPod(nil))
			if sent.Add(1); wrong == "" && (err != nil || len(got) != 1) {
				wrong = fmt.Sprintf("pod %d: %q, %v", sent.Load(), got, err)
			}
		}
	}()
	return func() (int64, string) {
		close(end)
		wrong := <-ended
		return sent.Load(), wrong
	}
}

// TestInjector: the commands of docs/injector.md install the injector.
//
//   - A Deployment with the annotations must get the sidecar. A Service with a named targetPort
//     must lead to the sidecar, and a question must be answered through it.
//   - If a pod could not work with its sidecar, the injector must refuse the pod and say why.
//   - The injector renews the certificate that it makes, and its pods are replaced. Pods that are
//     created meanwhile must get their sidecar.
//   - While the injector is down, no annotated pod may start without its sidecar.
//   - With a certificate from files, the injector must work without any rights.
func TestInjector(t *testing.T) {
	s := scene(t)
	s.shell(`kubectl kustomize deploy/kubernetes/injector |
		sed 's|[^ "]*/holdpoint:0.1.0|registry.example.com/holdpoint:1|' | kubectl apply -f -`)
	t.Cleanup(func() { // otherwise no scene could create pods any more
		for _, kind := range []string{"mutatingwebhookconfiguration", "validatingadmissionpolicybinding"} {
			if out, err := s.try("delete", kind, "holdpoint-injector", "--ignore-not-found"); err != nil {
				t.Error(out)
			}
		}
		if out, err := s.try("delete", "namespace", "holdpoint", "--wait=false"); err != nil {
			t.Error(out)
		}
	})
	// One minute is the shortest lifetime that the setting allows. With it the test sees a renewal.
	s.kubectl("-n", "holdpoint", "set", "env", "deployment/holdpoint-injector", "HOLDPOINT_INJECT_CERT_LIFETIME=1m")
	s.injectorIsUp()
	s.kubectl("-n", "holdpoint", "patch", "secret", "holdpoint-injector", "--type=json", "-p", `[{"op":"replace","path":"/data","value":{}}]`)
	s.until("the Secret has a certificate again", func() bool { return s.certificate() != nil })

	const denied = "label its namespace holdpoint/inject=enabled, and see whether holdpoint-injector"
	var err error
	s.until("a namespace that did not opt in has no annotated pods", func() bool { _, err = s.tryPod(annotatedPod(nil)); return err != nil })
	if !strings.Contains(err.Error(), denied) {
		t.Errorf("a pod in a namespace that did not opt in: %v", err)
	}
	s.kubectl("label", "namespace", s.name, "holdpoint/inject=enabled")
	s.until("the label is seen", func() bool { got, _ := s.tryPod(annotatedPod(nil)); return len(got) == 1 })

	s.answered()
	s.refusals()
	s.ofJobs()
	s.renewed()
	s.away()
	s.ofFiles()
}

// injectorIsUp waits until both replicas of the injector are ready.
func (s *space) injectorIsUp() {
	s.t.Helper()
	s.kubectl("-n", "holdpoint", "rollout", "status", "deployment/holdpoint-injector", fmt.Sprintf("--timeout=%v", patience))
}

// answered applies a Deployment and its Services as docs/injector.md shows them. The agent must be
// reachable only through Holdpoint. A question must outlive a kill of Holdpoint, because the store
// is on a volume of the pod.
func (s *space) answered() {
	t := s.t
	t.Helper()
	template := annotatedPod(object{"holdpoint/memory": "256Mi", "holdpoint/volume": "state"})
	spec := template["spec"].(object)
	spec["volumes"] = []any{object{"name": "state", "persistentVolumeClaim": object{"claimName": "state"}}}
	spec["securityContext"] = object{"fsGroup": 65532}
	s.apply(claim("state"), serviceTo("agent", "agui"), serviceTo("past", 8000), object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "agent"},
		"spec": object{"selector": object{"matchLabels": object{"app": "agent"}}, "template": template}})
	s.rollout("deployment/agent")
	url := s.service("agent")
	id := question(t, url, "cake", "ask cake")
	s.kill(s.pods("app=agent")[0], "holdpoint")
	s.until("the sidecar is there again", func() bool { p := s.pods("app=agent")[0]; return p.ready() && p.restarts() == 1 })
	s.service("agent")
	yes(t, url, "cake", id)
	past := get[struct{ Spec struct{ ClusterIP string } }](s, "services/past").Spec.ClusterIP
	if c, err := net.DialTimeout("tcp", past+":80", 5*time.Second); err == nil {
		c.Close()
		t.Error("the agent is reached by its number past Holdpoint")
	}
	name := s.pods("app=agent")[0].Metadata.Name
	var got struct {
		Spec struct {
			InitContainers []struct {
				Name         string
				VolumeMounts []struct{ Name, MountPath string }
			}
		}
	}
	if err := ask("GET", "/api/v1/namespaces/"+s.name+"/pods/"+name, nil, &got); err != nil {
		t.Fatal(err)
	}
	if mounts := got.Spec.InitContainers[0].VolumeMounts; len(mounts) != 2 || mounts[0].Name != "state" || mounts[1].Name != "holdpoint-no-token" {
		t.Errorf("the sidecar has other mounts than its volume and the one that keeps the token away: %+v", mounts)
	}
	s.kubectl("delete", "deployment/agent", "--wait=false")
}

// refusals checks that kubectl shows why a pod was refused, and that an event of the ReplicaSet
// shows it too.
func (s *space) refusals() {
	t := s.t
	t.Helper()
	probe := func(port any) object { return object{"httpGet": object{"path": "/", "port": port}} }
	for _, tt := range []struct {
		name        string
		annotations object
		change      func(pod, agent object)
		want        string
	}{
		{"a number", object{"holdpoint/agent": "agent/8000"}, nil, "8000 is a number: give the port of the container a name"},
		{"no such container", object{"holdpoint/agent": "graph/agui"}, nil, `names the container "graph", but the pod has agent`},
		{"no such port", object{"holdpoint/agent": "agent/http"}, nil, `names the port "http", but the container agent has agui`},
		{"two containers", nil, func(pod, agent object) {
			other := object{"name": "other"}
			for _, member := range []string{"image", "securityContext"} {
				other[member] = agent[member]
			}
			other["ports"] = []any{object{"name": "agui", "containerPort": 9000}}
			pod["spec"].(object)["containers"] = []any{agent, other}
		}, "two containers have a port agui"},
		{"a probe that cannot reach", nil, func(_, agent object) { agent["livenessProbe"] = probe("agui") }, "the livenessProbe/httpGet of agent uses port 8000, which the kubelet cannot reach"},
		{"no time", nil, func(pod, _ object) { pod["spec"].(object)["terminationGracePeriodSeconds"] = 5 }, "leaves open streams no time"},
		{"a dialect that is none", object{"env.holdpoint/DIALECT": "klingon"}, nil, `the sidecar would not start: HOLDPOINT_DIALECT "klingon"`},
		{"a password", object{"env.holdpoint/STORE": "redis://u:p@redis"}, nil, "a password does not belong into an annotation"},
		{"a misspelled annotation", object{"holdpoint/adress": "LISTEN"}, nil, "the injector has no such annotation"},
		// Pod Security would refuse this pod too, but only after the injector.
		{"the network of the node", nil, func(pod, _ object) { pod["spec"].(object)["hostNetwork"] = true }, "the pod has hostNetwork"},
	} {
		pod := annotatedPod(tt.annotations)
		if tt.change != nil {
			tt.change(pod, agentOf(pod))
		}
		if _, err := s.tryPod(pod); err == nil || !strings.Contains(err.Error(), `admission webhook \"inject.holdpoint.internal\" denied the request: holdpoint: `) ||
			!strings.Contains(strings.ReplaceAll(err.Error(), `\`, ""), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	already := annotatedPod(nil)
	sidecar := object{"name": "holdpoint", "restartPolicy": "Always", "ports": []any{object{"name": "agui", "containerPort": 7080}}}
	for _, member := range []string{"image", "securityContext"} {
		sidecar[member] = agentOf(already)[member]
	}
	already["spec"].(object)["initContainers"] = []any{sidecar}
	if got, err := s.tryPod(already); err != nil || len(got) != 1 {
		t.Errorf("a pod that has the sidecar: %q, %v", got, err)
	}
	s.apply(object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "refused"},
		"spec": object{"selector": object{"matchLabels": object{"app": "agent"}}, "template": annotatedPod(object{"holdpoint/agent": "agent/8000"})}})
	s.until("the ReplicaSet has the reason as an event", func() bool {
		out, _ := s.try("get", "events", "-o", "jsonpath={range .items[?(@.reason==\"FailedCreate\")]}{.message}{end}")
		return strings.Contains(out, "8000 is a number")
	})
	s.kubectl("delete", "deployment/refused", "--wait=false")
}

// ofJobs checks that a Job can complete although its pod has the sidecar.
func (s *space) ofJobs() {
	s.t.Helper()
	template := annotatedPod(nil)
	delete(template["metadata"].(object), "name")
	agent := agentOf(template)
	agent["image"], agent["args"] = "registry.example.com/holdpoint:1", []any{"version"}
	template["spec"].(object)["restartPolicy"] = "Never"
	s.apply(object{"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": "once"}, "spec": object{"template": template}})
	s.kubectl("wait", "--for=condition=complete", "job/once", fmt.Sprintf("--timeout=%v", patience))
}

// renewed checks that the injector renews its certificate, whose lifetime is a minute, while its
// replicas are replaced. Meanwhile no pod may be refused.
func (s *space) renewed() {
	t := s.t
	t.Helper()
	first := s.certificate()
	end := s.asking()
	var second *x509.Certificate
	s.until("a new certificate is in the Secret", func() bool { second = s.certificate(); return second != nil && !second.Equal(first) })
	s.until("the webhook shows it", func() bool { return s.shows(second) || !s.certificate().Equal(second) })
	s.kubectl("-n", "holdpoint", "rollout", "restart", "deployment/holdpoint-injector")
	s.injectorIsUp()
	if sent, wrong := end(); wrong != "" || sent < 10 {
		t.Errorf("of %d pods: %s", sent, wrong)
	} else {
		s.note("%d pods got their sidecar while the certificate was renewed and the replicas were replaced", sent)
	}
}

// certificate returns the certificate in the injector's Secret, or nil if the Secret has no valid
// pair of certificate and key.
func (s *space) certificate() *x509.Certificate {
	s.t.Helper()
	var secret struct{ Data map[string]string }
	if err := ask("GET", "/api/v1/namespaces/holdpoint/secrets/holdpoint-injector", nil, &secret); err != nil {
		s.t.Fatal(err)
	}
	cert, _ := base64.StdEncoding.DecodeString(secret.Data["tls.crt"])
	key, _ := base64.StdEncoding.DecodeString(secret.Data["tls.key"])
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// shows reports whether the webhook's Service serves the certificate want.
func (s *space) shows(want *x509.Certificate) bool {
	var service struct{ Spec struct{ ClusterIP string } }
	if err := ask("GET", "/api/v1/namespaces/holdpoint/services/holdpoint-injector", nil, &service); err != nil {
		s.t.Fatal(err)
	}
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", service.Spec.ClusterIP+":443", &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return false
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Equal(want)
}

// away checks what happens while the injector is down. With failurePolicy Fail, the API server must
// create no annotated pod, but still create other pods. With failurePolicy Ignore, a policy in the
// API server must refuse annotated pods. Without that policy, they would start without a sidecar.
func (s *space) away() {
	t := s.t
	t.Helper()
	s.kubectl("-n", "holdpoint", "scale", "deployment/holdpoint-injector", "--replicas=0")
	s.until("the injector is away, and none of its pods still answers", func() bool {
		left, err := s.try("-n", "holdpoint", "get", "pods", "-o", "name")
		return err == nil && !strings.HasPrefix(left, "pod/")
	})
	if _, err := s.tryPod(annotatedPod(nil)); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("Fail: %v", err)
	}
	plain := annotatedPod(nil)
	delete(plain["metadata"].(object), "annotations")
	if got, err := s.tryPod(plain); err != nil || len(got) != 0 {
		t.Errorf("a pod without annotations: %q, %v", got, err)
	}
	policy := func(word string) {
		s.kubectl("patch", "mutatingwebhookconfiguration", "holdpoint-injector", "--type=json", "-p", `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"`+word+`"}]`)
	}
	policy("Ignore")
	s.until("the API server itself refuses the pod", func() bool {
		_, err := s.tryPod(annotatedPod(nil))
		return err != nil && strings.Contains(err.Error(), "no container holdpoint")
	})
	s.kubectl("delete", "validatingadmissionpolicybinding", "holdpoint-injector")
	s.until("Ignore creates the pod without its sidecar", func() bool { got, err := s.tryPod(annotatedPod(nil)); return err == nil && len(got) == 0 })
	policy("Fail")
	s.kubectl("-n", "holdpoint", "scale", "deployment/holdpoint-injector", "--replicas=2")
	s.injectorIsUp()
	s.until("the sidecar is added again", func() bool { got, _ := s.tryPod(annotatedPod(nil)); return len(got) == 1 })
}

// ofFiles checks the form of the injector for cert-manager. The test writes what cert-manager would
// write: a Secret with a certificate, and the certificate authority in the webhook configuration.
// After a renewal, the webhook must serve the new certificate.
func (s *space) ofFiles() {
	t := s.t
	t.Helper()
	authority, key := webhookAuthority(t)
	var list []object
	for _, o := range parse(t, s.shell(`kubectl kustomize deploy/kubernetes/injector-cert-manager |
		sed 's|[^ "]*/holdpoint:0.1.0|registry.example.com/holdpoint:1|'`)) {
		switch o["kind"] {
		case "Certificate", "Issuer":
			continue
		case "MutatingWebhookConfiguration":
			config := o["webhooks"].([]any)[0].(object)["clientConfig"].(object)
			config["caBundle"] = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw}))
		}
		list = append(list, o)
	}
	s.kubectl("delete", "clusterrolebinding,clusterrole", "holdpoint-injector")
	s.kubectl("-n", "holdpoint", "delete", "rolebinding,role,secret", "holdpoint-injector")
	_, secret := webhookCertificate(t, authority, key)
	s.apply(append(list, secret)...)
	s.injectorIsUp()
	s.until("the sidecar is added with the certificate of the Secret", func() bool { got, _ := s.tryPod(annotatedPod(nil)); return len(got) == 1 })
	renewed, secret := webhookCertificate(t, authority, key)
	s.apply(secret)
	s.until("the renewed certificate is shown", func() bool { return s.shows(renewed) })
	if got, err := s.tryPod(annotatedPod(nil)); err != nil || len(got) != 1 {
		t.Errorf("with the renewed certificate: %q, %v", got, err)
	}
}

// webhookAuthority makes a certificate authority, and returns its certificate and its key.
func webhookAuthority(t *testing.T) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if ca, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return ca, key
}

// webhookCertificate makes a certificate for the webhook, signed by the authority. It also makes
// the Secret that contains this certificate and its key.
func webhookCertificate(t *testing.T, authority *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, object) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		DNSNames: []string{"holdpoint-injector.holdpoint.svc"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, own.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return leaf, object{
		"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "holdpoint-injector-tls", "namespace": "holdpoint"}, "type": "kubernetes.io/tls",
		"stringData": object{"tls.crt": text("CERTIFICATE", der), "tls.key": text("PRIVATE KEY", private)},
	}
}
