//go:build kube && linux

package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

const gatewayLabel = "app.kubernetes.io/name=holdpoint"

// agent starts the scripted agent as a Deployment of its own, with a Service, and waits until the
// node's DNS knows the Service.
func (s *space) agent() {
	s.t.Helper()
	labels := object{"app.kubernetes.io/name": "agent"}
	s.apply(claim("agent-own"),
		object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "agent"}, "spec": object{"selector": labels, "ports": []any{object{"port": 8000}}}},
		object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "agent"}, "spec": object{
			"replicas": 1, "strategy": object{"type": "Recreate"}, "selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": object{"app.kubernetes.io/name": "agent", "stays": "here"}}, "spec": object{
				"securityContext": object{"runAsNonRoot": true, "fsGroup": 65532, "seccompProfile": object{"type": "RuntimeDefault"}},
				"containers": []any{object{
					"name": "agent", "image": "registry.example.com/agent:1",
					"env":             []any{object{"name": "LISTEN", "value": ":8000"}, object{"name": "STATE", "value": "/own"}},
					"readinessProbe":  object{"httpGet": object{"path": "/healthz", "port": 8000}, "periodSeconds": 1},
					"securityContext": object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []any{"ALL"}}},
					"volumeMounts":    []any{object{"name": "own", "mountPath": "/own"}},
				}},
				"volumes": []any{object{"name": "own", "persistentVolumeClaim": object{"claimName": "agent-own"}}},
			}},
		}})
	s.rollout("deployment/agent")
	// The DNS server reads Services once a second, or less often while the API server is busy.
	s.until("the DNS knows the agent's Service", func() bool {
		_, err := nodeDNS.LookupHost(s.t.Context(), "agent."+s.name+".svc.cluster.local")
		return err == nil
	})
}

// nodeDNS looks up names at the DNS server of the node.
var nodeDNS = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, "198.18.0.1:53")
}}

// gateway applies the two replicas of deploy/kubernetes/gateway, with an agent and a Redis for
// them. It returns the URL of the Service of the replicas.
func (s *space) gateway() string {
	s.t.Helper()
	s.agent()
	s.redis("redis", "secret")
	s.kubectl("create", "secret", "generic", "holdpoint-store", "--from-literal=password=secret")
	list := parse(s.t, s.kubectl("kustomize", "deploy/kubernetes/gateway"))
	container(s.t, one(s.t, list, "Deployment"), "holdpoint")["image"] = "registry.example.com/holdpoint:1"
	s.apply(list...)
	s.rollout("deployment/holdpoint")
	return s.service("holdpoint")
}

// TestGatewayReplicas: the second replica must accept the answer to a question that the first
// replica published. Then the first replica is killed twice. If the kill comes between a question
// and its answer, the second replica must accept the answer. If the agent works on an answer at the
// kill, the second replica must report that the result is in doubt.
func TestGatewayReplicas(t *testing.T) {
	s := scene(t)
	s.gateway()
	at := func(p pod) string { return fmt.Sprintf("http://%s:7080/", p.Status.PodIP) }
	two := s.readyPods(gatewayLabel)
	if len(two) != 2 {
		t.Fatalf("%d replicas", len(two))
	}
	a, b := two[0], two[1]
	id := question(t, at(a), "across", "ask cake")
	yes(t, at(b), "across", id)
	id = question(t, at(a), "killed", "ask tea")
	s.kill(a, "holdpoint")
	yes(t, at(b), "killed", id)
	s.until("the replica is back", func() bool {
		now := s.named(gatewayLabel, a.Metadata.Name)
		return now.ready() && now.container("holdpoint").RestartCount == 1
	})
	s.until("it answers", func() bool { return say(at(a), "back", "hello").wait().result() == "" })
	id = question(t, at(a), "midst", "slow bread 20")
	r := reply(at(a), "midst", id)
	s.until("the answer is on its way", func() bool { return heard(r) })
	s.kill(s.named(gatewayLabel, a.Metadata.Name), "holdpoint")
	if r.result() == "" {
		t.Error("the stream of a process that was killed came to its end")
	}
	if again := reply(at(b), "midst", id).wait(); again.result() != "RESUME_IN_DOUBT" {
		t.Errorf("the same answer at the other: %q", again.result())
	}
	for thread, want := range map[string]int{"across": 1, "killed": 1} {
		if done := s.done(thread); len(done) != want {
			t.Errorf("%s: done %q", thread, done)
		}
	}
}

// named returns the current state of the pod with the name.
func (s *space) named(selector, name string) pod {
	s.t.Helper()
	for _, p := range s.pods(selector) {
		if p.Metadata.Name == name {
			return p
		}
	}
	s.t.Fatalf("there is no pod %s", name)
	return pod{}
}

// evict asks the API server to evict the pod, as kubectl drain does. It returns the error of the
// API server.
func (s *space) evict(name string) error {
	return ask(http.MethodPost, "/api/v1/namespaces/"+s.name+"/pods/"+name+"/eviction", object{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": name, "namespace": s.name},
	}, nil)
}

// TestGatewayIsEvicted: the PodDisruptionBudget must allow the eviction of the first replica, and
// at the same time refuse the eviction of the second. No run may be lost, and the question must be
// answered.
func TestGatewayIsEvicted(t *testing.T) {
	s := scene(t)
	url := s.gateway()
	id := question(t, url, "evicted", "ask cake")
	f, w := s.traffic(url), s.watch(gatewayLabel)
	s.until("runs are answered", f.flows)
	two := s.readyPods(gatewayLabel)
	began := time.Now()
	if err := s.evict(two[0].Metadata.Name); err != nil {
		t.Fatal(err)
	}
	if err := s.evict(two[1].Metadata.Name); err == nil || !strings.Contains(err.Error(), "disruption budget") {
		t.Errorf("the second eviction: %v", err)
	}
	s.gone(w, two[0].Metadata.Name)
	s.until("two replicas are ready", func() bool { return len(s.readyPods(gatewayLabel)) == 2 })
	yes(t, url, "evicted", id)
	_, lost, sent, results := f.sum(began)
	if lost > 0 {
		t.Errorf("%d of %d runs were lost: %q", lost, sent, results)
	}
	s.note("%d of %d runs lost", lost, sent)
}

// rolled restarts all pods of a Deployment by kubectl rollout restart, and checks that no run is
// lost meanwhile.
func (s *space) rolled(deployment, selector, url string, replicas int) {
	s.t.Helper()
	id := question(s.t, url, "rolled-"+s.name, "ask cake")
	stream := say(url, "rolled-stream-"+s.name, "stream 10")
	s.until("the stream speaks", func() bool { return heard(stream) })
	f, w := s.traffic(url), s.watch(selector)
	s.until("runs are answered", f.flows)
	old := map[string]bool{}
	for _, p := range s.pods(selector) {
		old[p.Metadata.Name] = true
	}
	began := time.Now()
	s.kubectl("rollout", "restart", deployment)
	s.rollout(deployment)
	for name := range old {
		s.gone(w, name)
	}
	s.until("all replicas are ready", func() bool { return len(s.readyPods(selector)) == replicas })
	s.until("runs are answered", f.flows)
	_, lost, sent, results := f.sum(began)
	if lost > 0 {
		s.t.Errorf("%d of %d runs were lost: %q\n%s", lost, sent, results, w)
	}
	if stream.result() != "" {
		s.t.Errorf("a stream of 10 s ended by %s", stream.result())
	}
	var names []string
	for name := range old {
		names = append(names, name)
	}
	s.noCrash(w, names...)
	s.note("rollout restart: %d of %d runs lost", lost, sent)
	if strings.Contains(selector, "holdpoint") { // the agent next to a sidecar loses its question with its pod
		yes(s.t, url, "rolled-"+s.name, id)
	}
}

// TestGatewayIsRolled restarts the two replicas of the gateway, whose store is Redis.
func TestGatewayIsRolled(t *testing.T) {
	s := scene(t)
	s.rolled("deployment/holdpoint", gatewayLabel, s.gateway(), 2)
}

// TestSidecarsAreRolled restarts the two replicas of the Kustomize example. A new pod gets runs
// only when its agent accepts them (/agentz), so no run may be lost.
func TestSidecarsAreRolled(t *testing.T) {
	s := scene(t)
	s.redis("redis", "")
	s.kubectl("apply", "-k", "deploy/kustomize/example")
	s.rollout("deployment/agent")
	s.rolled("deployment/agent", "app=agent", s.service("agent"), 2)
}
