//go:build kube && linux

package kube

import (
	"testing"
)

const agentLabel = "app.kubernetes.io/name=agent"

// install applies a manifest whose pod gets the scripted agent. The agent keeps its questions and
// actions on a volume. install returns the URL of the pod's Service. The functions in edit can
// change the objects before they are applied.
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

// TestSidecarAnswers: the test changes only the images and the agent's volume in sidecar.yaml. The
// pod must start in a restricted namespace. A question must be asked and answered, and the action
// must be done once.
func TestSidecarAnswers(t *testing.T) {
	s := scene(t)
	url := s.install("kubernetes/sidecar.yaml")
	id := question(t, url, "cake", "ask cake")
	yes(t, url, "cake", id)
	if done := s.done("cake"); len(done) != 1 {
		t.Errorf("done %q", done)
	}
}
