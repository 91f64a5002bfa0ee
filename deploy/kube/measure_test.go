//go:build kube && linux

package kube

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A form is one way to install Holdpoint, such as a sidecar or a gateway. The test sends short runs
// through its Service.
type form struct {
	name, deployment, label, service string
	replicas                         int
	install                          func(s *space)
	s                                *space
	url                              string
}

func forms() []*form {
	chart := []string{"install", "chat", "deploy/helm/holdpoint", "--set", "image.repository=registry.example.com/holdpoint", "--set-string", "image.tag=1"}
	release := "app.kubernetes.io/instance=chat"
	return []*form{
		{name: "sidecar.yaml, file", deployment: "agent", label: agentLabel, service: "agent", replicas: 1, install: func(s *space) { s.install("kubernetes/sidecar.yaml") }},
		{name: "container.yaml, file", deployment: "agent", label: agentLabel, service: "agent", replicas: 1, install: func(s *space) { s.install("kubernetes/container.yaml") }},
		{name: "chart, sidecar, file", deployment: "chat-holdpoint", label: release, service: "chat-holdpoint", replicas: 1, install: func(s *space) {
			s.helm(append(chart, "--set", "mode=sidecar", "--set", "agent.image=registry.example.com/agent:1")...)
		}},
		{name: "Kustomize example, 2 sidecars, Redis", deployment: "agent", label: "app=agent", service: "agent", replicas: 2, install: func(s *space) {
			s.redis("redis", "")
			s.kubectl("apply", "-k", "deploy/kustomize/example")
		}},
		{name: "gateway, 2 replicas, Redis", deployment: "holdpoint", label: gatewayLabel, service: "holdpoint", replicas: 2, install: func(s *space) { s.gateway() }},
		{name: "chart, gateway, 3 replicas, Redis", deployment: "chat-holdpoint", label: release, service: "chat-holdpoint", replicas: 3, install: func(s *space) {
			s.agent()
			s.redis("redis", "")
			s.helm(append(chart, "--set", "upstream=http://agent:8000/", "--set", "replicas=3", "--set", "store.type=redis", "--set", "store.url=redis://redis:6379")...)
		}},
	}
}

// measure ends pods of the form, and counts the short runs that are lost until all replicas of the
// form are ready again. The function do ends one pod or all of them, and returns the names of the
// pods that must disappear.
func (f *form) measure(way string, do func(pods []pod) []string) {
	f.s.t.Helper()
	all := func() bool { return len(f.s.readyPods(f.label)) == f.replicas && len(f.s.pods(f.label)) == f.replicas }
	f.s.until("all replicas of "+f.name+" are ready", all)
	short, w := f.s.traffic(f.url), f.s.watch(f.label)
	f.s.until("runs are answered", short.flows)
	old := f.serving()
	began := time.Now()
	for _, name := range do(old) {
		f.s.gone(w, name)
	}
	f.s.until("all replicas of "+f.name+" are ready again", all)
	f.s.until("runs are answered again", short.flows)
	m := measure{form: f.name, way: way}
	m.dark, m.lost, m.sent, m.results = short.sum(began)
	var names []string
	for _, p := range old {
		names = append(names, p.Metadata.Name)
	}
	for _, p := range w.others(names...) {
		m.restarts += p.restarts()
	}
	if strings.Contains(w.String(), "CrashLoopBackOff") {
		f.s.t.Errorf("%s, %s: CrashLoopBackOff\n%s", f.name, way, w)
	}
	measures.Lock()
	defer measures.Unlock()
	measures.list = append(measures.list, m)
}

// serving returns the pods of the form. First come the pods that get the short runs. With
// sessionAffinity that is a single pod.
func (f *form) serving() []pod {
	f.s.t.Helper()
	var first, rest []pod
	for _, p := range f.s.pods(f.label) {
		if out, err := f.s.try("logs", p.Metadata.Name, "-c", "holdpoint", "--tail=2"); err == nil && strings.Contains(out, "run ended") {
			first = append(first, p)
		} else {
			rest = append(rest, p)
		}
	}
	return append(first, rest...)
}

func names(list []pod) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.Metadata.Name)
	}
	return all
}

// TestMeasure makes the table of docs/operations.md. Pods end in five ways, and for each way the
// table has how long the Service does not answer and how many short runs are lost. The test does
// not check the times, because machines differ. It checks that installations with Redis, which have
// several replicas, lose runs only by a kill.
func TestMeasure(t *testing.T) {
	summary := &space{t: t, began: time.Now()}
	t.Cleanup(func() { took(t, summary) })
	list := forms()
	t.Run("ways", func(t *testing.T) {
		for i, f := range list {
			f.s = namespace(summary.t, fmt.Sprintf("measure-%d", i)) // it must exist until the drain
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				f.s.t = t
				f.install(f.s)
				f.s.rollout("deployment/" + f.deployment)
				f.url = f.s.service(f.service)
				f.measure("kubectl delete pod", func(pods []pod) []string {
					f.s.kubectl("delete", "pod", pods[0].Metadata.Name, "--wait=false")
					return names(pods[:1])
				})
				f.measure("kubectl rollout restart", func(pods []pod) []string {
					f.s.kubectl("rollout", "restart", "deployment/"+f.deployment)
					return names(pods)
				})
				f.measure("eviction of one pod", func(pods []pod) []string {
					if err := f.s.evict(pods[0].Metadata.Name); err != nil {
						t.Fatal(err)
					}
					return names(pods[:1])
				})
				f.measure("kill -9 of Holdpoint", func(pods []pod) []string {
					f.s.kill(pods[0], "holdpoint")
					f.s.until("it runs again", func() bool {
						return f.s.named(f.label, pods[0].Metadata.Name).container("holdpoint").RestartCount > pods[0].container("holdpoint").RestartCount
					})
					return nil
				})
			})
		}
	})
	for _, f := range list {
		f.s.t = t
	}
	if !t.Failed() {
		drain(t, list)
	}
	measures.Lock()
	defer measures.Unlock()
	for _, m := range measures.list {
		if strings.Contains(m.form, "Redis") && m.lost > 0 && !strings.HasPrefix(m.way, "kill") {
			t.Errorf("%s, %s: %d of %d runs were lost (%q)", m.form, m.way, m.lost, m.sent, m.results)
		}
	}
	slices.SortStableFunc(measures.list, func(a, b measure) int {
		return slices.IndexFunc(list, func(f *form) bool { return f.name == a.form }) - slices.IndexFunc(list, func(f *form) bool { return f.name == b.form })
	})
}

// drain runs kubectl drain on the only node of the cluster. The new pods have no other node. So as
// soon as a pod of each form is ending, drain makes this node schedulable again.
func drain(t *testing.T, list []*form) {
	t.Helper()
	var arrived, ending atomic.Int32
	out := make(chan error, 1)
	begin := sync.OnceFunc(func() {
		go func() {
			text, err := list[0].s.try("drain", "node1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=4m",
				"--pod-selector=stays!=here") // spares the gateway's agent, which has one replica
			if err != nil {
				err = fmt.Errorf("kubectl drain: %w\n%s", err, text)
			}
			out <- err
		}()
	})
	giveBack := sync.OnceFunc(func() { list[0].s.kubectl("uncordon", "node1") })
	t.Run("drain", func(t *testing.T) {
		for _, f := range list {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				f.s.t = t
				f.measure("kubectl drain", func(pods []pod) []string {
					arrived.Add(1)
					f.s.until("all forms are ready for the drain", func() bool { return int(arrived.Load()) == len(list) })
					begin()
					f.s.until("a pod of "+f.name+" ends", func() bool {
						return slices.ContainsFunc(f.s.pods(f.label), func(p pod) bool { return p.Metadata.DeletionTimestamp != "" })
					})
					ending.Add(1)
					f.s.until("a pod of each form ends", func() bool { return int(ending.Load()) == len(list) })
					giveBack()
					return names(pods)
				})
			})
		}
	})
	if arrived.Load() > 0 && int(arrived.Load()) == len(list) {
		if err := <-out; err != nil {
			t.Error(err)
		}
	}
}
