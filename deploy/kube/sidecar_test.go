//go:build kube && linux

package kube

import (
	"testing"
)

const agentLabel = "app.kubernetes.io/name=agent"

// install applies a manifest of a pod with the scripted agent, which keeps its questions and
// actions on a volume, and returns the URL of its Service. edit changes the objects first.
func (s *space) install(path string, edit ...func(list []object, deployment object)) string {
	s.t.Helper()
	list := manifest(s.t, path)
	d := one(s.t, list, "Deployment")
	container(s.t, d, "holdpoint")["image"] = "registry.example.com/holdpoint:1"
	agent := container(s.t, d, "agent")
	mount(d, agent, "own", "/own", object{"persistentVolumeClaim": object{"claimName": "agent-own"}})
	setEnv(agent, "STATE=/own")
	for _, e := range edit {
		e(list, d)
	}
	s.apply(append([]object{claim("agent-own")}, list...)...)
	s.rollout("deployment/agent")
	return s.service("agent")
}

// TestSidecarAnswers: the unchanged sidecar.yaml starts in a restricted namespace. A question is
// asked and answered, and the action is done once.
func TestSidecarAnswers(t *testing.T) {
	s := scene(t)
	url := s.install("kubernetes/sidecar.yaml")
	id := question(t, url, "cake", "ask cake")
	yes(t, url, "cake", id)
	if done := s.done("cake"); len(done) != 1 {
		t.Errorf("done %q", done)
	}
}
