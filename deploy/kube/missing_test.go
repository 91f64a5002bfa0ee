//go:build kube && linux

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallSaysWhatIsMissing: the values name a kind, a Secret, a key of a Secret, a ConfigMap or
// a claim that the cluster does not have. Then helm install must say what is missing, and install
// nothing. The test runs before any other scene applies these kinds. helm template asks no cluster,
// so it refuses nothing.
func TestInstallSaysWhatIsMissing(t *testing.T) {
	s := alone(t)
	s.kubectl("create", "secret", "generic", "there", "--from-literal=password=x", "--from-literal=other=y")
	chart := []string{"deploy/helm/holdpoint", "--set", "upstream=http://agent:8000/"}
	redis := "store.type=redis store.url=redis://redis:6379 "
	for _, tt := range []struct{ values, want string }{
		{"serviceMonitor.enabled=true", "serviceMonitor.enabled is true, but this cluster does not know the kind monitoring.coreos.com/v1/ServiceMonitor. It comes with the Prometheus operator"},
		{"prometheusRule.enabled=true", "does not know the kind monitoring.coreos.com/v1/PrometheusRule"},
		{"httpRoute.enabled=true httpRoute.parentRefs[0].name=public", "does not know the kind gateway.networking.k8s.io/v1/HTTPRoute. It comes with the CRDs of Gateway API"},
		{redis + "store.passwordSecret.name=gone", "store.passwordSecret.name: the namespace " + s.name + " has no Secret gone. Make it by kubectl -n " + s.name + " create secret generic gone --from-file=password=FILE"},
		{redis + "store.keysSecret.name=there", "store.keysSecret.key: the Secret there has no key keys. Its keys: other, password"},
		{"desk.tokenSecret.name=there desk.tokenSecret.key=other desk.policy.name=gone", "desk.policy.name: the namespace " + s.name + " has no ConfigMap gone"},
		{"store.persistence.existingClaim=gone", "store.persistence.existingClaim: the namespace " + s.name + " has no PersistentVolumeClaim gone"},
	} {
		args := append([]string{}, chart...)
		for _, v := range strings.Fields(tt.values) {
			args = append(args, "--set", v)
		}
		out, err := s.command("", "helm", append([]string{"install", "chat"}, args...)...)
		if err == nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v\n%s\nwant %s", tt.values, err, out, tt.want)
		}
		s.helm(append([]string{"template", "chat"}, args...)...)
	}
	if left := s.helm("list", "--short"); left != "" {
		t.Errorf("installed: %s", left)
	}
	later := append([]string{"install", "chat"}, append(chart, "--set", "requireExisting=false")...)
	for _, v := range strings.Fields(redis + "store.passwordSecret.name=gone") {
		later = append(later, "--set", v)
	}
	s.helm(later...)
}

// crds applies the custom resource definitions of other projects' kinds that the manifests use, and
// waits until the API server knows them.
func (s *space) crds() {
	s.t.Helper()
	s.kubectl("apply", "--server-side", "-f", filepath.Join(dir, "crds"))
	for _, name := range []string{"httproutes.gateway.networking.k8s.io", "servicemonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com", "scaledobjects.keda.sh"} {
		s.kubectl("wait", "--for=condition=Established", "crd/"+name, fmt.Sprintf("--timeout=%v", patience))
	}
}

// TestKindsOfOthers: the API server must accept the manifests for routes, scaling and monitoring.
// The test gives it the real definitions of Gateway API, the Prometheus operator and KEDA, with
// their validation rules (CEL). No controller for these kinds runs on the node.
func TestKindsOfOthers(t *testing.T) {
	s := scene(t)
	s.crds()
	for _, pattern := range []string{"../kubernetes/ingress/*.yaml", "../kubernetes/scale/*.yaml", "../kubernetes/start/*.yaml", "../prometheus/prometheusrule.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			out := s.kubectl("apply", "--dry-run=server", "-f", "deploy/"+strings.TrimPrefix(path, "../"))
			if strings.Contains(strings.ToLower(out), "warning") {
				t.Errorf("%s: %s", path, out)
			}
		}
	}
	route, err := os.ReadFile("../kubernetes/ingress/httproute.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(route), "request: 0s, backendRequest: 0s", "request: 1s, backendRequest: 2s", 1)
	if out, err := s.command(wrong, "kubectl", "apply", "--dry-run=server", "-f", "-"); err == nil || !strings.Contains(out, "backendRequest timeout cannot be longer than request timeout") {
		t.Errorf("Gateway API's rule is not in force: %v\n%s", err, out)
	}
	s.agent()
	s.redis("redis", "")
	s.helm("install", "chat", "deploy/helm/holdpoint", "--set", "upstream=http://agent:8000/", "--set", "image.repository=registry.example.com/holdpoint", "--set-string", "image.tag=1",
		"--set", "store.type=redis", "--set", "store.url=redis://redis:6379", "--set", "autoscaling.enabled=true", "--set", "ingress.enabled=true", "--set", "ingress.host=chat.example.com",
		"--set", "httpRoute.enabled=true", "--set", "httpRoute.parentRefs[0].name=public", "--set", "serviceMonitor.enabled=true", "--set", "prometheusRule.enabled=true")
	s.until("the autoscaler has its two replicas", func() bool {
		return len(s.readyPods("app.kubernetes.io/instance=chat")) == 2
	})
	url := s.service("chat-holdpoint")
	yes(t, url, "kinds", question(t, url, "kinds", "ask cake"))
}

// TestAgentAsRoot: the Kustomize component forbids root. An agent whose image runs as root must not
// start, and the state of the pod must say why. The agent's container can allow root for itself, if
// the namespace permits that.
func TestAgentAsRoot(t *testing.T) {
	s := scene(t)
	s.bring("registry.example.com/root:1", filepath.Join(dir, "bin", "agent"), "", nil)
	folder := t.TempDir()
	component, err := filepath.Rel(folder, filepath.Join(checkout, "deploy", "kustomize", "sidecar"))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := os.ReadFile("../kustomize/example/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(agent), "registry.example.com/agent:1", "registry.example.com/root:1", 1)
	text = strings.Replace(text, "replicas: 2", "replicas: 1", 1)
	apply := func(text string) {
		for name, content := range map[string]string{"agent.yaml": text, "kustomization.yaml": "resources: [agent.yaml]\ncomponents: [" + component + "]\n"} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.kubectl("apply", "-k", folder)
	}
	apply(text)
	s.until("the pod says that its image runs as root", func() bool {
		for _, p := range s.pods("app=agent") {
			if w := p.container("agent").State.Waiting; w != nil && strings.Contains(w.Message, "container has runAsNonRoot and image will run as root") {
				return true
			}
		}
		return false
	})
	s.kubectl("label", "--overwrite", "namespace", s.name, "pod-security.kubernetes.io/enforce=baseline")
	apply(strings.Replace(text, "allowPrivilegeEscalation: false", "runAsNonRoot: false\n            allowPrivilegeEscalation: false", 1))
	s.rollout("deployment/agent")
}
