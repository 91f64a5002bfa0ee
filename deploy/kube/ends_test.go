//go:build kube && linux

package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A crowd is everything that is open while a pod ends: a question, two streams without an answer
// and two runs with an answer. There is a short and a long one of each. The short one ends by
// itself during the drain, and the long one would take longer than the drain.
type crowd struct {
	s                         *space
	url                       string
	question, short, long     string // ids of questions
	shortStream, longStream   *run
	shortAnswer, longAnswer   *run
	threadShort, threadLonger string
}

// gather opens a crowd at the URL of a Service or a pod, and waits until all four streams have
// begun.
func (s *space) gather(url string) *crowd {
	s.t.Helper()
	c := &crowd{s: s, url: url, threadShort: s.name + "-short", threadLonger: s.name + "-long"}
	c.question = question(s.t, url, s.name+"-cake", "ask cake")
	c.short = question(s.t, url, c.threadShort, "slow bread 8")
	c.long = question(s.t, url, c.threadLonger, "slow roast 120")
	c.shortStream, c.longStream = say(url, s.name+"-s1", "stream 8"), say(url, s.name+"-s2", "stream 120")
	c.shortAnswer, c.longAnswer = reply(url, c.threadShort, c.short), reply(url, c.threadLonger, c.long)
	s.until("all four streams have begun", func() bool {
		return heard(c.shortStream) && heard(c.longStream) && heard(c.shortAnswer) && heard(c.longAnswer)
	})
	return c
}

// heard reports whether the agent has begun to send text in a run.
func heard(r *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Type == "TEXT_MESSAGE_CONTENT" {
			return true
		}
	}
	return false
}

// drained checks that the short runs of the crowd have finished, and that the drain ended the long
// ones with the code PROXY_DRAINING.
func (c *crowd) drained() {
	c.s.t.Helper()
	for name, r := range map[string]*run{"stream": c.shortStream, "answer": c.shortAnswer} {
		if r.result() != "" {
			c.s.t.Errorf("a short %s ended by %s %s", name, r.result(), r.last().Message)
		}
	}
	for name, r := range map[string]*run{"stream": c.longStream, "answer": c.longAnswer} {
		if r.result() != "PROXY_DRAINING" {
			c.s.t.Errorf("a long %s ended by %q %s", name, r.result(), r.last().Message)
		}
	}
}

// settled checks the crowd at the next pod. The open question must be answered. The short answer,
// sent again, must get its recorded end. The long answer, which was cut off, must get
// RESUME_IN_DOUBT. The agent must have done each action at most once.
func (c *crowd) settled() {
	c.s.t.Helper()
	yes(c.s.t, c.url, c.s.name+"-cake", c.question)
	if r := reply(c.url, c.threadShort, c.short).wait(); r.result() != "" {
		c.s.t.Errorf("the same answer, which had ended, got %s %s", r.result(), r.last().Message)
	}
	if r := reply(c.url, c.threadLonger, c.long).wait(); r.result() != "RESUME_IN_DOUBT" {
		c.s.t.Errorf("the same answer, which was cut off, got %q %s", r.result(), r.last().Message)
	}
	for thread, want := range map[string]int{c.s.name + "-cake": 1, c.threadShort: 1, c.threadLonger: 0} {
		if done := c.s.done(thread); len(done) != want {
			c.s.t.Errorf("in %s the agent has done %q", thread, done)
		}
	}
}

// end deletes the pod with the name. It waits until this pod is gone, and until another pod that
// matches selector is ready.
func (s *space) end(w *watch, name, selector string, args ...string) {
	s.t.Helper()
	s.kubectl(append([]string{"delete", "pod", name, "--wait=false"}, args...)...)
	s.gone(w, name)
	s.until("another pod is ready", func() bool { return len(s.readyPods(selector)) > 0 })
}

// gone waits until the pod is gone and the watch w has recorded that.
func (s *space) gone(w *watch, name string) {
	s.t.Helper()
	s.until("the pod "+name+" is gone", func() bool {
		return !slices.Contains(names(s.pods("")), name)
	})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if _, gone := w.last(name); gone {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the watch has not seen the end of %s:\n%s", name, w)
		}
	}
}

// noCrash checks all pods that the watch has seen, except those named in before. None of their
// containers may have been restarted, or be waiting for a restart.
func (s *space) noCrash(w *watch, before ...string) {
	s.t.Helper()
	for _, p := range w.others(before...) {
		if p.restarts() > 0 {
			s.t.Errorf("restarts: %s", p.describe())
		}
	}
	if text := w.String(); strings.Contains(text, "CrashLoopBackOff") {
		s.t.Errorf("a container crashed:\n%s", text)
	}
}

// inOrder checks the last state of a pod that is gone. Both containers must have ended without an
// error. The agent may not have ended later than Holdpoint, which is the native sidecar.
func (s *space) inOrder(w *watch, name string) {
	s.t.Helper()
	p, _ := w.last(name)
	agent, holdpoint := p.container("agent").State.Terminated, p.container("holdpoint").State.Terminated
	if agent == nil || holdpoint == nil {
		s.t.Errorf("the end of a container was not seen:\n%s", w)
		return
	}
	if agent.ExitCode != 0 || holdpoint.ExitCode != 0 || agent.FinishedAt > holdpoint.FinishedAt {
		s.t.Errorf("the agent ended %d at %s, Holdpoint %d at %s", agent.ExitCode, agent.FinishedAt, holdpoint.ExitCode, holdpoint.FinishedAt)
	}
}

// deleted deletes the pod of a manifest while a question, streams and answers are open, and checks
// how each of them ends and continues at the next pod.
func deleted(t *testing.T, path string, sidecar bool) {
	s := scene(t)
	url := s.install(path)
	c := s.gather(url)
	w := s.watch(agentLabel)
	old := s.pods(agentLabel)[0].Metadata.Name
	began := time.Now()
	s.end(w, old, agentLabel)
	c.drained()
	s.noCrash(w, old)
	if sidecar {
		s.inOrder(w, old)
	}
	s.service("agent")
	c.settled()
	s.note("streams of 8 s and answers end whole, longer ones with PROXY_DRAINING; the next pod is ready %.1f s after kubectl delete pod", time.Since(began).Seconds())
}

// TestSidecarIsDeleted deletes the pod of sidecar.yaml, whose store is a file.
func TestSidecarIsDeleted(t *testing.T) { deleted(t, "kubernetes/sidecar.yaml", true) }

// TestContainerIsDeleted deletes the pod of container.yaml, where Holdpoint is a plain container.
func TestContainerIsDeleted(t *testing.T) { deleted(t, "kubernetes/container.yaml", false) }

// TestGatewayIsDeleted: the store is Redis, and one of the two pods of a Service is deleted. The
// open runs of the deleted pod must end as in the tests above, and the other pod must continue with
// the question.
func TestGatewayIsDeleted(t *testing.T) {
	s := scene(t)
	s.gateway()
	old := s.readyPods(gatewayLabel)[0]
	c := s.gather(fmt.Sprintf("http://%s:7080/", old.Status.PodIP)) // all at the pod old
	w := s.watch(gatewayLabel)
	s.end(w, old.Metadata.Name, gatewayLabel)
	c.drained()
	c.url = s.service("holdpoint")
	c.settled()
	s.noCrash(w, old.Metadata.Name)
}

// TestIdlePodsAreDeleted: if no stream is open, a deleted pod must end at once, even if its grace
// period is long.
func TestIdlePodsAreDeleted(t *testing.T) {
	s := scene(t)
	url := s.install("kubernetes/sidecar.yaml", func(_ []object, d object) {
		podSpec(d)["terminationGracePeriodSeconds"] = 610
		setEnv(container(t, d, "holdpoint"), "HOLDPOINT_DRAIN_TIMEOUT=600s")
		container(t, d, "holdpoint")["startupProbe"].(object)["failureThreshold"] = 610
	})
	f, w := s.traffic(url), s.watch(agentLabel)
	s.until("runs are answered", f.flows)
	old := s.pods(agentLabel)[0].Metadata.Name
	began := time.Now()
	s.end(w, old, agentLabel)
	_, gone := w.last(old)
	took := w.gone[old].Sub(began)
	s.until("runs are answered again", f.flows)
	dark, lost, sent, results := f.sum(began)
	if !gone || took > 300*time.Second { // much less than the grace period
		t.Errorf("the pod was gone after %v", took)
	}
	s.noCrash(w, old)
	s.inOrder(w, old)
	s.note("grace period 610 s: gone after %.1f s, dark for %.1f s, %d of %d runs lost %q", took.Seconds(), dark.Seconds(), lost, sent, results)
}

// TestGracePeriodIsCutShort: the pod gets only ten seconds to end, so Kubernetes ends the preStop
// hook early. All streams must still get their proper end before Kubernetes kills Holdpoint.
func TestGracePeriodIsCutShort(t *testing.T) {
	s := scene(t)
	url := s.install("kubernetes/sidecar.yaml")
	var open []*run
	for i := range 3 {
		open = append(open, say(url, fmt.Sprintf("cut-%d", i), "stream 120"))
	}
	s.until("they speak", func() bool { return heard(open[0]) && heard(open[1]) && heard(open[2]) })
	w := s.watch(agentLabel)
	old := s.pods(agentLabel)[0].Metadata.Name
	began := time.Now()
	s.end(w, old, agentLabel, "--grace-period=10")
	for _, r := range open {
		if r.result() != "PROXY_DRAINING" {
			t.Errorf("a stream ended by %q after %v", r.result(), r.end.Sub(began))
		}
	}
	s.noCrash(w, old)
	s.note("three streams end with PROXY_DRAINING after %.1f s", open[0].end.Sub(began).Seconds())
}
