package inject

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// These are the annotations of a pod. Everyone who may create the pod may set them, so they
// configure only the pod's own sidecar.
const (
	agentAnnotation = "holdpoint/agent" // value: container/port
	// value: the name of the agent's variable for its listen address
	addressAnnotation = "holdpoint/address"
	pathAnnotation    = "holdpoint/path"
	volumeAnnotation  = "holdpoint/volume"
	memoryAnnotation  = "holdpoint/memory"

	ownPrefix    = "holdpoint/"
	envPrefix    = "env.holdpoint/"    // followed by a variable's name without HOLDPOINT_
	secretPrefix = "secret.holdpoint/" // followed by a variable's name; value: secret/key
)

var annotations = []string{agentAnnotation, addressAnnotation, pathAnnotation, volumeAnnotation, memoryAnnotation}

// isOwn reports whether an annotation is for the injector.
func isOwn(name string) bool {
	return strings.HasPrefix(name, ownPrefix) || strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, secretPrefix)
}

// loopback is the address at which only the pod itself can reach the agent.
const loopback = "127.0.0.1"

// leastMemory is the smallest memory limit of a sidecar, in mebibytes. A process that serves one
// user needs 32.
const leastMemory = 64

// options contain what the annotations of a pod say.
type options struct {
	container, portName string
	// a variable's name; loopback if the agent already listens there; "" if not set
	address string
	path    string
	volume  string
	memory  string // a memory limit, or "" for the default
	env     []variable
	secrets []secret
}

// A variable is one environment variable of the sidecar.
type variable struct{ Name, Value string }

// A secret names one key of a Kubernetes Secret, which the sidecar reads as a file. name is the
// name of the sidecar's variable, without HOLDPOINT_ and _FILE.
type secret struct{ name, secret, key string }

var (
	// dnsLabel matches names of containers and volumes.
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	// portName matches names of ports (RFC 6335). The API server also requires a letter.
	portName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$`)
	number   = regexp.MustCompile(`^[0-9]+$`)
	// memoryLimit matches a Kubernetes quantity in Mi or Gi.
	memoryLimit = regexp.MustCompile(`^[1-9][0-9]{0,5}(Mi|Gi)$`)
	// secretName matches names of Secrets, and keyName their keys.
	secretName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	keyName    = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,251}$`)
	// envName matches names of variables that shells accept.
	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,250}$`)
	urlPath = regexp.MustCompile(`^/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,1000}$`)
)

// options parses the annotations of the pod. The error names the wrong annotation and what to write
// instead.
func (p *pod) options() (*options, error) {
	w := &options{}
	for _, name := range p.annotationNames() {
		if !isOwn(name) {
			continue
		}
		if err := w.read(name, p.annotations[name]); err != nil {
			return nil, fmt.Errorf(textAnnotation, name, err)
		}
	}
	return w, w.check()
}

// read parses one annotation into w.
func (w *options) read(name, value string) error {
	if short, is := strings.CutPrefix(name, envPrefix); is {
		return w.readEnv(short, value)
	}
	if short, is := strings.CutPrefix(name, secretPrefix); is {
		return w.readSecret(short, value)
	}
	switch name {
	case agentAnnotation:
		container, port, _ := strings.Cut(value, "/")
		switch {
		case number.MatchString(port):
			return fmt.Errorf(textPortNumber, port)
		case !dnsLabel.MatchString(container) || !portName.MatchString(port):
			return fmt.Errorf(textAgentForm, quote(value))
		}
		w.container, w.portName = container, port
	case addressAnnotation:
		if value != loopback && !envName.MatchString(value) {
			return fmt.Errorf(textAddressForm, loopback, quote(value))
		}
		w.address = value
	case pathAnnotation:
		u, err := url.Parse(value)
		if !urlPath.MatchString(value) || err != nil || u.Host != "" {
			return fmt.Errorf(textPathForm, quote(value))
		}
		w.path = value
	case volumeAnnotation:
		if !dnsLabel.MatchString(value) {
			return fmt.Errorf(textVolumeForm, quote(value))
		}
		w.volume = value
	case memoryAnnotation:
		if !memoryLimit.MatchString(value) || megabytes(value) < leastMemory {
			return fmt.Errorf(textMemoryForm, leastMemory, quote(value))
		}
		w.memory = value
	default:
		return fmt.Errorf(textUnknownAnnotation, strings.Join(annotations, ", "), envPrefix, secretPrefix)
	}
	return nil
}

// readEnv parses an annotation that sets a variable of the sidecar.
func (w *options) readEnv(name, value string) error {
	if strings.HasPrefix(name, prefix) {
		return fmt.Errorf(textWithoutPrefix, prefix, envPrefix, strings.TrimPrefix(name, prefix))
	}
	if why, is := reservedVariables[name]; is {
		return fmt.Errorf(textOwnVariable, prefix, name, why)
	}
	if slices.Contains(secretVariables, strings.TrimSuffix(name, "_FILE")) {
		return fmt.Errorf(textSecretInText, secretPrefix, strings.TrimSuffix(name, "_FILE"))
	}
	if !slices.Contains(allowedVariables, name) {
		return fmt.Errorf(textNotAllowed, prefix, name)
	}
	switch {
	case name == "DESK_LISTEN" && value != "elsewhere":
		return errors.New(textNoDesk)
	case name == "STORE":
		if err := checkStore(value); err != nil {
			return err
		}
	}
	w.env = append(w.env, variable{prefix + name, value})
	return nil
}

// checkStore refuses a store's address that contains a password or names a file.
func checkStore(value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return errors.New(textStoreAddress) // the error of net/url would contain the text
	case u.Scheme == "bolt":
		return fmt.Errorf(textStoreFile, volumeAnnotation)
	}
	if _, has := u.User.Password(); has || u.Query().Has("password") {
		return fmt.Errorf(textPassword, secretPrefix)
	}
	return nil
}

// readSecret parses an annotation that takes a variable from a Secret.
func (w *options) readSecret(name, value string) error {
	if !slices.Contains(secretVariables, name) {
		return fmt.Errorf(textSecretNames, strings.Join(secretVariables, ", "), secretPrefix)
	}
	of, key, _ := strings.Cut(value, "/")
	if !secretName.MatchString(of) || !keyName.MatchString(key) || strings.Contains(key, "..") {
		return errors.New(textSecretForm)
	}
	w.secrets = append(w.secrets, secret{name, of, key})
	return nil
}

// check refuses annotations that contradict each other.
func (w *options) check() error {
	if w.volume != "" && slices.ContainsFunc(w.env, func(v variable) bool { return v.Name == prefix+"STORE" }) {
		return fmt.Errorf(textTwoStores, volumeAnnotation, envPrefix)
	}
	return nil
}

// toLoopback returns value with its host replaced by 127.0.0.1. If value has a port, the port
// stays.
func toLoopback(value string) (string, error) {
	if value == "" || net.ParseIP(strings.Trim(value, "[]")) != nil {
		return loopback, nil
	}
	if host, port, err := net.SplitHostPort(value); err == nil && number.MatchString(port) && !strings.ContainsAny(host, "/$") {
		return net.JoinHostPort(loopback, port), nil
	}
	if strings.ContainsAny(value, ":/$ ,") {
		return "", fmt.Errorf(textNotLoopback, quote(value))
	}
	return loopback, nil
}
