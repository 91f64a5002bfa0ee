//go:build kube && linux

package kube

import (
	"testing"
	"time"
)

// killed kills the container of Holdpoint, and then that of the agent, while a question and streams
// are open. Each open question must be answered once. An answer on which the agent works at the
// kill must stay in doubt.
func killed(t *testing.T, path string) {
	s := scene(t)
	url := s.install(path)
	id := question(t, url, s.name+"-one", "ask cake")
	midst := question(t, url, s.name+"-midst", "slow bread 60")
	answer, stream := reply(url, s.name+"-midst", midst), say(url, s.name+"-stream", "stream 60")
	s.until("both streams have begun", func() bool { return heard(answer) && heard(stream) })
	p := s.pods(agentLabel)[0]
	began := time.Now()
	s.kill(p, "holdpoint")
	if answer.result() == "" || stream.result() == "" {
		t.Error("streams of a process that was killed came to their end")
	}
	s.until("Holdpoint runs again", func() bool { return s.named(agentLabel, p.Metadata.Name).container("holdpoint").RestartCount == 1 })
	s.until("the pod is ready", func() bool { now := s.named(agentLabel, p.Metadata.Name); return now.ready() })
	s.service("agent")
	took := time.Since(began)
	if now := s.named(agentLabel, p.Metadata.Name); now.container("agent").RestartCount != 0 {
		t.Errorf("the agent was restarted too: %s", now.describe())
	}
	yes(t, url, s.name+"-one", id)
	if again := reply(url, s.name+"-midst", midst).wait(); again.result() != "RESUME_IN_DOUBT" {
		t.Errorf("the answer that was on its way, again: %q", again.result())
	}
	if done := s.done(s.name + "-midst"); len(done) != 0 {
		t.Errorf("done %q", done)
	}

	id = question(t, url, s.name+"-two", "ask tea")
	stream = say(url, s.name+"-stream2", "stream 60")
	s.until("the stream has begun", func() bool { return heard(stream) })
	s.kill(s.named(agentLabel, p.Metadata.Name), "agent")
	if stream.result() != "UPSTREAM_EOF" {
		t.Errorf("the stream of an agent that was killed ended by %q", stream.result())
	}
	s.until("the agent runs again", func() bool { return s.named(agentLabel, p.Metadata.Name).container("agent").RestartCount == 1 })
	s.until("the pod is ready", func() bool { now := s.named(agentLabel, p.Metadata.Name); return now.ready() })
	s.service("agent")
	if now := s.named(agentLabel, p.Metadata.Name); now.container("holdpoint").RestartCount != 1 {
		t.Errorf("Holdpoint was restarted too: %s", now.describe())
	}
	yes(t, url, s.name+"-two", id)
	s.note("after kill -9 of Holdpoint the pod is ready again in %.1f s; each question is answered once", took.Seconds())
}

// TestSidecarIsKilled kills each container of the pod in sidecar.yaml with SIGKILL.
func TestSidecarIsKilled(t *testing.T) { killed(t, "kubernetes/sidecar.yaml") }

// TestContainerIsKilled kills each container of the pod in container.yaml, where Holdpoint is a
// plain container.
func TestContainerIsKilled(t *testing.T) { killed(t, "kubernetes/container.yaml") }

// TestOutOfMemory: the kernel kills Holdpoint at its container's memory limit. Kubernetes must
// start Holdpoint again, and the question must be answered once.
func TestOutOfMemory(t *testing.T) {
	s := scene(t)
	url := s.install("kubernetes/sidecar.yaml", func(_ []object, d object) {
		c := container(t, d, "holdpoint")
		c["resources"] = object{"requests": object{"cpu": "100m", "memory": "48Mi"}, "limits": object{"memory": "48Mi"}}
		setEnv(c, "HOLDPOINT_MEMORY=off", "GOMEMLIMIT=off") // otherwise Holdpoint would bound its memory itself
	})
	id := question(t, url, "memory", "ask cake")
	p := s.pods(agentLabel)[0]
	var open []*run
	for i := range 40 {
		open = append(open, say(url, "big-"+string(rune('a'+i)), "big 4 64"))
	}
	s.until("the kernel has killed Holdpoint", func() bool {
		c := s.named(agentLabel, p.Metadata.Name).container("holdpoint")
		return c.RestartCount > 0 && c.LastState.Terminated != nil && c.LastState.Terminated.Reason == "OOMKilled"
	})
	for _, r := range open {
		r.wait()
	}
	s.until("the pod is ready", func() bool { now := s.named(agentLabel, p.Metadata.Name); return now.ready() })
	s.service("agent")
	yes(t, url, "memory", id)
	if done := s.done("memory"); len(done) != 1 {
		t.Errorf("done %q", done)
	}
}

// TestMemoryBoundsHold: the load is that of TestOutOfMemory, but Holdpoint knows its limit of 128
// MiB. The kernel must not kill it.
func TestMemoryBoundsHold(t *testing.T) {
	s := scene(t)
	url := s.install("kubernetes/sidecar.yaml", func(_ []object, d object) {
		c := container(t, d, "holdpoint")
		c["resources"] = object{"requests": object{"cpu": "100m", "memory": "128Mi"}, "limits": object{"memory": "128Mi"}}
		setEnv(c, "GOMEMLIMIT=115MiB")
	})
	var open []*run
	for i := range 40 {
		open = append(open, say(url, "bound-"+string(rune('a'+i)), "big 4 64"))
	}
	whole := 0
	for _, r := range open {
		if r.result() == "" {
			whole++
		}
	}
	if p := s.pods(agentLabel)[0]; p.restarts() != 0 {
		t.Errorf("restarts: %s", p.describe())
	}
	s.note("40 streams of 4 MiB at 128 MiB: %d whole, no restart", whole)
}

// TestSidecarIsEvicted: an evicted pod must end like a deleted one. The next pod waits until the
// old one releases the store's file, and then continues with the open question.
func TestSidecarIsEvicted(t *testing.T) {
	s := scene(t)
	url := s.install("kubernetes/sidecar.yaml")
	id := question(t, url, "evicted", "ask cake")
	w := s.watch(agentLabel)
	old := s.pods(agentLabel)[0].Metadata.Name
	if err := s.evict(old); err != nil {
		t.Fatal(err)
	}
	s.gone(w, old)
	s.until("another pod is ready", func() bool { return len(s.readyPods(agentLabel)) > 0 })
	s.service("agent")
	yes(t, url, "evicted", id)
	s.noCrash(w, old)
	s.inOrder(w, old)
}
