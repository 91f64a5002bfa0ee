// Package inject adds Holdpoint as a native sidecar to a pod. It reads the review that a Kubernetes
// API server sends to a mutating admission webhook, and returns the answer: a patch, no change, or
// a refusal with its reason.
//
// The package sees only the pod, and not the Services that lead to the pod. So an annotation names
// the agent's port by the name that the Services use. The package has no listener, calls no API
// server, and does not depend on time.
//
// Reviews have the format of admission.k8s.io/v1
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/).
// Patches are JSON Patch (RFC 6902). The sidecar is the one in deploy/kubernetes/sidecar.yaml. A
// test generates sidecar.json from that file.
package inject

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// An Injector answers reviews. Its fields must not change after the first Review. Review is safe
// for concurrent use.
type Injector struct {
	// Image is the image of the sidecar.
	Image string
	// Check returns the errors in the variables of a sidecar, the same ones that `holdpoint check`
	// reports. environ has an element HOLDPOINT_NAME=value for each variable. Instead of values of
	// secrets it has examples. If Check is nil, variables are not checked.
	Check func(environ []string) []error
}

// An Outcome is what the injector decided about a pod.
type Outcome string

// The possible outcomes.
const (
	Injected Outcome = "injected" // the patch adds the sidecar
	Refused  Outcome = "refused"  // the pod must not be created
	Skipped  Outcome = "skipped"  // the pod is not changed
)

// An Answer is the result of a review.
type Answer struct {
	Body    []byte // the AdmissionReview to send to the API server
	Outcome Outcome
	// Reason says why a pod was refused or skipped.
	Reason   string
	Warnings []string
	// Namespace and Name are those of the pod. If the pod has no name yet, Name is its
	// generateName.
	Namespace, Name string
	DryRun          bool
}

// Review reads a review and returns the answer to it. If body is not a review, it returns an error
// and no Answer.
func (i *Injector) Review(body []byte) (*Answer, error) {
	r, err := readReview(body)
	if err != nil {
		return nil, err
	}
	a := &Answer{Outcome: Skipped, Namespace: r.namespace, Name: r.name, DryRun: r.dryRun}
	var patch []operation
	if r.skip != "" {
		a.Reason = r.skip
	} else {
		patch, err = i.inject(r.pod, a)
	}
	if err != nil {
		a.Outcome, a.Reason, a.Warnings, patch = Refused, err.Error(), nil, nil
	}
	a.Body, err = r.answer(a, patch)
	return a, err
}

// inject returns the patch for a pod, or nil if the pod is not changed. It sets the outcome, the
// reason and the warnings of a. An error means that the pod is refused.
func (i *Injector) inject(text gjson.Result, a *Answer) ([]operation, error) {
	p := readPod(text)
	if _, is := p.annotations[agentAnnotation]; !is {
		a.Reason = fmt.Sprintf(textNoAnnotation, agentAnnotation)
		return nil, p.checkUnused()
	}
	if _, mirror := p.annotations["kubernetes.io/config.mirror"]; mirror {
		a.Reason = textMirror
		return nil, nil
	}
	w, err := p.options()
	if err != nil {
		return nil, err
	}
	if c := p.container(sidecarName); c != nil {
		a.Reason = fmt.Sprintf(textHasSidecar, sidecarName)
		if !c.hasPort(w.portName) {
			a.warn(textSidecarThere, sidecarName, w.portName)
		}
		return nil, nil
	}
	agent, port, err := p.agent(w)
	if err != nil {
		return nil, err
	}
	container, err := i.sidecar(p, w, port)
	if err != nil {
		return nil, err
	}
	patch, err := agent.changes(w, port, a)
	if err != nil {
		return nil, err
	}
	patch = append(patch, p.append("initContainers", container)...)
	patch = append(patch, p.append("volumes", p.volumes(w)...)...)
	a.Outcome, a.Reason = Injected, ""
	return patch, nil
}

// warn adds a warning, which the API server sends to the client that creates the pod.
func (a *Answer) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, "holdpoint: "+fmt.Sprintf(format, args...))
}

// checkUnused returns an error if an annotation configures the sidecar. It is called for a pod that
// does not ask for a sidecar.
func (p *pod) checkUnused() error {
	for _, name := range p.annotationNames() {
		if isOwn(name) {
			return fmt.Errorf(textUnusedAnnotation, name, agentAnnotation)
		}
	}
	return nil
}

// agent returns the container and the port of the agent, or an error if the pod cannot have a
// sidecar.
func (p *pod) agent(w *options) (*container, *port, error) {
	if p.json.Get("spec.hostNetwork").Bool() {
		return nil, nil, errors.New(textHostNetwork)
	}
	if os := p.json.Get("spec.os.name").String(); os != "" && os != "linux" {
		return nil, nil, errors.New(textNotLinux)
	}
	var agent *container
	for _, c := range p.containers {
		if c.name == w.container && !c.init {
			agent = c
		}
	}
	if agent == nil {
		return nil, nil, fmt.Errorf(textNoContainer, agentAnnotation, w.container, joinNames(p.names()))
	}
	var found *port
	for n := range agent.ports {
		if agent.ports[n].name == w.portName {
			found = &agent.ports[n]
		}
	}
	if found == nil {
		var names []string
		for _, o := range agent.ports {
			if o.name != "" {
				names = append(names, o.name)
			}
		}
		return nil, nil, fmt.Errorf(textNoPort, agentAnnotation, w.portName, agent.name, joinNames(names))
	}
	if found.number < 1 || found.number > 65535 {
		return nil, nil, fmt.Errorf(textNoNumber, found.name, agent.name)
	}
	if found.protocol != "TCP" {
		return nil, nil, fmt.Errorf(textNotTCP, found.name, agent.name, found.protocol)
	}
	if found.hostPort != 0 {
		return nil, nil, fmt.Errorf(textHostPort, found.name, agent.name)
	}
	return agent, found, p.checkPorts(agent, found)
}

// checkPorts returns an error if another container uses the name or the number of the agent's port,
// or if any container uses a port number of the sidecar.
func (p *pod) checkPorts(agent *container, found *port) error {
	for _, c := range p.containers {
		for n := range c.ports {
			o := &c.ports[n]
			switch {
			case o == found:
			case o.name == found.name:
				return fmt.Errorf(textTwoPorts, o.name, agent.name, c.name)
			case o.number == found.number && o.protocol == "TCP":
				return fmt.Errorf(textSameNumber, o.number, found.name, agent.name, c.name)
			}
			if slices.Contains(ownPorts, o.number) && o.protocol == "TCP" {
				return fmt.Errorf(textOwnPort, c.name, o.number, runPort, adminPort)
			}
		}
	}
	return nil
}

// joinNames joins names for the text of an error.
func joinNames(names []string) string {
	if len(names) == 0 {
		return textNoNames
	}
	return strings.Join(names, ", ")
}
