package inject

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// changes returns the changes to the agent's container. The agent's port loses its name, because
// the sidecar's port gets that name. The container's own probes and hooks continue to reach the
// agent. The agent listens on 127.0.0.1, is ready when it accepts connections, and stops after its
// streams have ended.
func (c *container) changes(w *options, o *port, a *Answer) ([]operation, error) {
	patch := []operation{{Op: "remove", Path: fmt.Sprintf("%s/ports/%d/name", c.path, o.index)}}
	of, err := c.probeChanges(w, o)
	if err != nil {
		return nil, err
	}
	patch = append(patch, of...)
	of, err = c.listenChanges(w)
	if err != nil {
		return nil, err
	}
	patch = append(patch, of...)
	if w.address == "" {
		a.warn(textOpenPort, o.number, c.name, addressAnnotation)
	}
	if c.json.Get("readinessProbe").IsObject() {
		a.warn(textOwnProbe, c.name)
	} else {
		patch = append(patch, operation{"add", c.path + "/readinessProbe", json.RawMessage(template("readinessProbe").Raw)})
	}
	hook := json.RawMessage(template("preStop").Raw)
	switch lifecycle := c.json.Get("lifecycle"); {
	case lifecycle.Get("preStop").IsObject():
		a.warn(textOwnHook, c.name, loopback, adminPort)
	case lifecycle.IsObject():
		patch = append(patch, operation{"add", c.path + "/lifecycle/preStop", hook})
	default:
		whole, err := sjson.SetRawBytes([]byte(`{}`), "preStop", hook)
		if err != nil {
			return nil, err
		}
		patch = append(patch, operation{"add", c.path + "/lifecycle", whole})
	}
	return patch, nil
}

// probePaths are the paths in a container at which a probe or a hook tells the kubelet to connect
// to a port.
var probePaths = []string{
	"livenessProbe/httpGet", "livenessProbe/tcpSocket", "readinessProbe/httpGet", "readinessProbe/tcpSocket",
	"startupProbe/httpGet", "startupProbe/tcpSocket", "lifecycle/postStart/httpGet", "lifecycle/postStart/tcpSocket",
	"lifecycle/preStop/httpGet", "lifecycle/preStop/tcpSocket",
}

// probeChanges returns the changes to the container's own probes and hooks. A probe or hook that
// names the agent's port gets the port's number instead. If the agent listens on 127.0.0.1, a probe
// or hook of this port is an error: the kubelet could not reach the port, and would kill the
// container or never report it as ready.
func (c *container) probeChanges(w *options, o *port) (patch []operation, err error) {
	for _, path := range probePaths {
		get := valueAt(c.json, path)
		if !get.IsObject() || get.Get("host").String() != "" {
			continue
		}
		to := get.Get("port")
		named := to.Type == gjson.String && to.String() == o.name
		if !named && to.String() != strconv.FormatInt(o.number, 10) {
			continue
		}
		if w.address != "" {
			return nil, c.unreachableError(path, o)
		}
		if named {
			patch = append(patch, operation{"replace", c.path + "/" + path + "/port", json.RawMessage(strconv.FormatInt(o.number, 10))})
		}
	}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if grpc := c.json.Get(probe + ".grpc.port"); w.address != "" && grpc.Exists() && grpc.Int() == o.number {
			return nil, c.unreachableError(probe+"/grpc", o)
		}
	}
	return patch, nil
}

// unreachableError returns the error for a probe or a hook that uses a port on 127.0.0.1, which the
// kubelet cannot reach.
func (c *container) unreachableError(what string, o *port) error {
	return fmt.Errorf(textProbe, what, c.name, o.number, loopback, addressAnnotation)
}

// valueAt returns the value at a path of names, separated by slashes.
func valueAt(json gjson.Result, path string) gjson.Result {
	for name := range strings.SplitSeq(path, "/") {
		json = json.Get(name)
	}
	return json
}

// listenChanges returns the changes that make the agent listen on 127.0.0.1.
func (c *container) listenChanges(w *options) ([]operation, error) {
	if w.address == "" || w.address == loopback {
		return nil, nil
	}
	element := func(value string) json.RawMessage {
		text, _ := json.Marshal(map[string]string{"name": w.address, "value": value}) // marshalling two strings cannot fail
		return text
	}
	var patch []operation
	list := c.json.Get("env")
	for n, v := range items(list) {
		if v.Get("name").String() != w.address {
			continue
		}
		if from := v.Get("valueFrom"); from.IsObject() && !from.Get("fieldRef").IsObject() {
			return nil, fmt.Errorf(textValueFrom, w.address, c.name)
		}
		value, err := toLoopback(v.Get("value").String())
		if err != nil {
			return nil, fmt.Errorf(textAddressValue, w.address, c.name, err)
		}
		patch = append(patch, operation{"replace", fmt.Sprintf("%s/env/%d", c.path, n), element(value)})
	}
	if patch == nil {
		patch = appendOperations(list, c.path+"/env", element(loopback))
	}
	return patch, nil
}
