//go:build kube && linux

package kube

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// checkout is the root folder of the repository. dir is the folder with the node's files.
var checkout, dir string

// api is an HTTP client of the cluster's API server. A request with it is cheaper than a kubectl
// process.
var api *http.Client

// connect prepares what all tests use: the images on the node, the volumes, and the client of the
// API server.
func connect() error {
	dir = os.Getenv("KUBE_DIR")
	if err := os.Chdir(os.Getenv("KUBE_HERE")); err != nil { // nsenter starts processes in /
		return err
	}
	var err error
	if checkout, err = filepath.Abs("../.."); err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		return err
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "pki", "admin.crt"), filepath.Join(dir, "pki", "admin.key"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	api = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}}}}
	images, err := filepath.Glob(filepath.Join(dir, "images", "*.tar"))
	if err != nil || len(images) == 0 {
		return errors.Join(err, errors.New("no images"))
	}
	for _, path := range images {
		if out, err := exec.Command("ctr", "-n", "k8s.io", "images", "import", path).CombinedOutput(); err != nil {
			return fmt.Errorf("ctr images import: %w\n%s", err, out)
		}
	}
	return volumes(60)
}

// volumes makes the given number of volumes, which have no storage class. Kubernetes binds each
// claim without a storage class to one of these volumes.
func volumes(count int) error {
	var list []any
	for i := range count {
		name := fmt.Sprintf("v%d", i)
		if err := os.MkdirAll(filepath.Join("/var/lib/volumes", name), 0o755); err != nil {
			return err
		}
		list = append(list, object{
			"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": name},
			"spec": object{
				"capacity": object{"storage": "1Gi"}, "accessModes": []any{"ReadWriteOnce"}, "local": object{"path": "/var/lib/volumes/" + name},
				"nodeAffinity": object{"required": object{"nodeSelectorTerms": []any{object{"matchExpressions": []any{
					object{"key": "kubernetes.io/hostname", "operator": "In", "values": []any{"node1"}}}}}}},
			},
		})
	}
	b, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": list})
	if err != nil {
		return err
	}
	cmd := exec.Command("kubectl", "apply", "-f", "-")
	cmd.Stdin = bytes.NewReader(b)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply: %w\n%s", err, out)
	}
	return nil
}

// ask sends a request to the API server. It decodes the response into v, unless v is nil. A status
// other than 2xx is an error.
func ask(method, path string, body, v any) error {
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, "https://127.0.0.1:6443"+path, send)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := api.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, strings.TrimSpace(string(text)))
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(text, v)
}

// A pod has those parts of a Kubernetes pod that the scenes (tests on the node) read.
type pod struct {
	Metadata struct {
		Name, UID         string
		DeletionTimestamp string
		OwnerReferences   []struct{ Name string }
	}
	Spec struct {
		InitContainers, Containers []struct{ Name string }
	}
	Status struct {
		Phase, PodIP, Reason                     string
		Conditions                               []struct{ Type, Status string }
		InitContainerStatuses, ContainerStatuses []containerStatus
	}
}

type containerStatus struct {
	Name, ContainerID string
	Ready             bool
	RestartCount      int
	State, LastState  struct {
		Waiting    *struct{ Reason, Message string }
		Running    *struct{ StartedAt string }
		Terminated *struct {
			Reason     string
			ExitCode   int
			FinishedAt string
		}
	}
}

// ready reports whether the pod is ready and not ending, so that Services send requests to it.
func (p pod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True" && p.Metadata.DeletionTimestamp == ""
		}
	}
	return false
}

func (p pod) statuses() []containerStatus {
	return append(append([]containerStatus(nil), p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...)
}

// container returns the status of the container with the name, or an empty status.
func (p pod) container(name string) containerStatus {
	for _, c := range p.statuses() {
		if c.Name == name {
			return c
		}
	}
	return containerStatus{}
}

// restarts returns how many times the pod's containers were restarted, all together.
func (p pod) restarts() int {
	n := 0
	for _, c := range p.statuses() {
		n += c.RestartCount
	}
	return n
}

// describe returns the pod's phase and the states of its containers in one line.
func (p pod) describe() string {
	text := p.Metadata.Name + " " + p.Status.Phase
	if p.Metadata.DeletionTimestamp != "" {
		text += " ending"
	}
	for _, c := range p.statuses() {
		state := "-"
		switch {
		case c.State.Waiting != nil:
			state = "waiting " + c.State.Waiting.Reason
		case c.State.Running != nil:
			state = "running"
		case c.State.Terminated != nil:
			state = fmt.Sprintf("ended %d %s", c.State.Terminated.ExitCode, c.State.Terminated.Reason)
		}
		text += fmt.Sprintf("; %s %s ready=%v restarts=%d", c.Name, state, c.Ready, c.RestartCount)
	}
	return text
}
