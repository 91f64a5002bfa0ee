//go:build kube && linux

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// An object is a Kubernetes object, decoded from JSON.
type object = map[string]any

// A space is the namespace in which a scene (a test on the node) runs. Pod Security admits only
// restricted pods to this namespace.
type space struct {
	t      *testing.T
	owner  *testing.T // at the end of this test the namespace and its servers are removed
	name   string
	began  time.Time
	config string // its kubeconfig, which selects the namespace
	notes  []string
}

// patience is how long a scene waits for something that must happen. It is long because CI machines
// may be slow.
const patience = 4 * time.Minute

var capital = regexp.MustCompile(`[A-Z]+`)

// scene begins a scene in a namespace of its own. It runs in parallel with other scenes.
func scene(t *testing.T) *space {
	t.Helper()
	t.Parallel()
	return alone(t)
}

// alone begins a scene that runs before the parallel scenes.
func alone(t *testing.T) *space {
	t.Helper()
	s := namespace(t, strings.Trim(capital.ReplaceAllStringFunc(strings.TrimPrefix(t.Name(), "Test"), func(c string) string { return "-" + strings.ToLower(c) }), "-"))
	t.Cleanup(func() { took(t, s) })
	return s
}

// namespace makes a namespace, and deletes it at the end of the test. If the test has failed,
// namespace prints the pods, events and logs first.
func namespace(t *testing.T, name string) *space {
	t.Helper()
	s := &space{t: t, owner: t, name: strings.ToLower(strings.ReplaceAll(name, "/", "-")), began: time.Now()}
	s.config = filepath.Join(t.TempDir(), "config")
	admin, err := os.ReadFile(filepath.Join(dir, "pki", "admin.conf"))
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(admin), "context: {", "context: {namespace: "+s.name+", ", 1)
	if err := os.WriteFile(s.config, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ask("POST", "/api/v1/namespaces", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{
		"name": s.name, "labels": object{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.dump()
		}
		if err := ask("DELETE", "/api/v1/namespaces/"+s.name, nil, nil); err != nil {
			t.Error(err)
		}
	})
	s.until("the namespace has its service account", func() bool {
		return ask("GET", "/api/v1/namespaces/"+s.name+"/serviceaccounts/default", nil, nil) == nil
	})
	return s
}

// note adds a line to what the scene reports at its end.
func (s *space) note(format string, a ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, a...))
}

// until waits until ok returns true. If this takes longer than patience, the test fails, and at its
// end prints the state of the namespace.
func (s *space) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not so after %v: %s", patience, what)
		}
	}
}

// dump prints the pods, events and logs of the namespace.
func (s *space) dump() {
	var text strings.Builder
	fmt.Fprintf(&text, "namespace %s:\n", s.name)
	for _, p := range s.pods("") {
		fmt.Fprintln(&text, "  "+p.describe())
		for _, c := range p.statuses() {
			for _, args := range [][]string{{"--previous"}, nil} {
				out, err := s.try(append([]string{"logs", p.Metadata.Name, "-c", c.Name, "--tail=12"}, args...)...)
				if err == nil && out != "" {
					fmt.Fprintf(&text, "    %s %s\n      %s\n", c.Name, strings.Join(args, " "), strings.ReplaceAll(out, "\n", "\n      "))
				}
			}
		}
	}
	out, _ := s.try("get", "events", "--sort-by=.lastTimestamp", "-o", `jsonpath={range .items[*]}{.lastTimestamp} {.type} {.involvedObject.name} {.reason} {.message}{"\n"}{end}`)
	fmt.Fprintln(&text, out)
	s.t.Log(text.String())
}

// command runs a program in the root folder of the repository. kubectl and helm then use the
// namespace of the space. It returns what the program printed.
func (s *space) command(stdin, program string, args ...string) (string, error) {
	// The context of the test is not used, because it has already ended when a cleanup prints the
	// state of the namespace.
	ctx, cancel := context.WithTimeout(context.Background(), patience+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Minute // on a busy machine the output may be late
	home := filepath.Dir(s.config)
	cmd.Dir, cmd.Env = checkout, append(os.Environ(), "KUBECONFIG="+s.config, "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s did not end: %w", program, err)
	}
	return strings.TrimSpace(string(out)), err
}

// try runs kubectl, and returns its output and error.
func (s *space) try(args ...string) (string, error) { return s.command("", "kubectl", args...) }

// kubectl runs kubectl and returns its output. If kubectl fails, so does the test.
func (s *space) kubectl(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// shell runs a command of the documentation in bash, exactly as it is written.
func (s *space) shell(command string) string {
	s.t.Helper()
	out, err := s.command("", "bash", "-euo", "pipefail", "-c", command)
	if err != nil {
		s.t.Fatalf("%s\n%v\n%s", command, err, out)
	}
	return out
}

// helm runs helm and returns its output. If helm fails, so does the test.
func (s *space) helm(args ...string) string {
	s.t.Helper()
	out, err := s.command("", "helm", args...)
	if err != nil {
		s.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// apply applies the objects by kubectl apply.
func (s *space) apply(objects ...object) {
	s.t.Helper()
	b, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		s.t.Fatal(err)
	}
	if out, err := s.command(string(b), "kubectl", "apply", "-f", "-"); err != nil {
		s.t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

// get reads an object of the namespace. For a core object, path is its plural kind and name, such
// as "services/agent". For any other, the API path of its group comes first:
// "apis/apps/v1:deployments/agent".
func get[T any](s *space, path string) T {
	s.t.Helper()
	var v T
	group, rest, ok := strings.Cut(path, ":")
	if !ok {
		group, rest = "api/v1", path
	}
	if err := ask("GET", "/"+group+"/namespaces/"+s.name+"/"+rest, nil, &v); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// pods returns the pods whose labels match selector, such as "app=agent". If selector is "", it
// returns all pods of the namespace.
func (s *space) pods(selector string) []pod {
	var list struct{ Items []pod }
	if err := ask("GET", "/api/v1/namespaces/"+s.name+"/pods?labelSelector="+strings.ReplaceAll(selector, "=", "%3D"), nil, &list); err != nil {
		s.t.Log(err)
	}
	return list.Items
}

// readyPods returns the pods that match selector and are ready.
func (s *space) readyPods(selector string) []pod {
	return slices.DeleteFunc(s.pods(selector), func(p pod) bool { return !p.ready() })
}

// rollout waits until the rollout of a Deployment, such as "deployment/agent", is complete.
func (s *space) rollout(name string) {
	s.t.Helper()
	s.kubectl("rollout", "status", name, fmt.Sprintf("--timeout=%v", patience))
}

// service returns the URL of a Service as soon as connections to it succeed. A rollout can be
// complete a little before the node's network rules lead to the new pod.
func (s *space) service(name string) string {
	s.t.Helper()
	service := get[struct {
		Spec struct {
			ClusterIP string
			Ports     []struct{ Port int }
		}
	}](s, "services/"+name)
	address := net.JoinHostPort(service.Spec.ClusterIP, fmt.Sprint(service.Spec.Ports[0].Port))
	s.until("somebody answers at the Service "+name, func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		c.Close()
		return true
	})
	return "http://" + address + "/"
}

// kill sends SIGKILL to the first process of a container.
func (s *space) kill(p pod, container string) {
	s.t.Helper()
	id := strings.TrimPrefix(p.container(container).ContainerID, "containerd://")
	if out, err := exec.Command("ctr", "-n", "k8s.io", "tasks", "kill", "-s", "9", id).CombinedOutput(); err != nil {
		s.t.Fatalf("ctr tasks kill: %v\n%s", err, out)
	}
}

// done returns the actions that the scripted agent has done in the thread. It reads them from the
// file on the agent's volume.
func (s *space) done(thread string) []string {
	s.t.Helper()
	claim := get[struct{ Spec struct{ VolumeName string } }](s, "persistentvolumeclaims/agent-own")
	b, err := os.ReadFile(filepath.Join("/var/lib/volumes", claim.Spec.VolumeName, "done"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), thread+" "); ok {
			list = append(list, what)
		}
	}
	return list
}

// redisPort counts the Redis servers of all scenes. Each server gets its own port of the node's
// network namespace.
var redisPort atomic.Int32

// redis starts a Redis server on the node, outside of the cluster, and makes a Service of the given
// name that leads to it.
func (s *space) redis(name, password string) {
	s.t.Helper()
	port := 7000 + redisPort.Add(1)
	args := []string{"--bind", "198.18.0.1", "--port", fmt.Sprint(port), "--dir", s.owner.TempDir(), "--appendonly", "yes", "--appendfsync", "always"}
	if password != "" {
		args = append(args, "--requirepass", password)
	} else {
		args = append(args, "--protected-mode", "no")
	}
	cmd := exec.Command("redis-server", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.owner.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s.until("Redis listens", func() bool {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("198.18.0.1:%d", port), time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	s.apply(
		object{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name}, "spec": object{"ports": []any{object{"name": "redis", "port": 6379}}}},
		object{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": object{"name": name, "labels": object{"kubernetes.io/service-name": name}},
			"addressType": "IPv4", "ports": []any{object{"name": "redis", "port": port}},
			"endpoints": []any{object{"addresses": []any{"198.18.0.1"}, "conditions": object{"ready": true}}},
		},
	)
}

// manifest reads the objects in a file. path is relative to the folder deploy.
func manifest(t *testing.T, path string) []object {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(b))
}

func parse(t *testing.T, text string) []object {
	t.Helper()
	var list []object
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		if err := dec.Decode(&o); err != nil {
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			return list
		}
		if o != nil {
			list = append(list, o)
		}
	}
}

// one returns the first object of the kind in the list. If there is none, the test fails.
func one(t *testing.T, list []object, kind string) object {
	t.Helper()
	for _, o := range list {
		if o["kind"] == kind {
			return o
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// podSpec returns the spec of the pods that a Deployment makes.
func podSpec(deployment object) object {
	return deployment["spec"].(object)["template"].(object)["spec"].(object)
}

// container returns the container with the name in the pods of a Deployment, as a map that the
// caller can change.
func container(t *testing.T, deployment object, name string) object {
	t.Helper()
	for _, kind := range []string{"initContainers", "containers"} {
		list, _ := podSpec(deployment)[kind].([]any)
		for _, c := range list {
			if c.(object)["name"] == name {
				return c.(object)
			}
		}
	}
	t.Fatalf("there is no container %s", name)
	return nil
}

// setEnv sets variables of the container c. They are given as NAME=VALUE.
func setEnv(c object, variables ...string) {
	list, _ := c["env"].([]any)
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		list = slices.DeleteFunc(list, func(e any) bool { return e.(object)["name"] == name })
		list = append(list, object{"name": name, "value": value})
	}
	c["env"] = list
}

// mount adds the volume source to the Deployment's pods, and mounts it in the container c at path.
func mount(deployment, c object, name, path string, source object) {
	s := podSpec(deployment)
	volumes, _ := s["volumes"].([]any)
	volume := object{"name": name}
	for k, v := range source {
		volume[k] = v
	}
	s["volumes"] = append(volumes, volume)
	mounts, _ := c["volumeMounts"].([]any)
	c["volumeMounts"] = append(mounts, object{"name": name, "mountPath": path})
}

// claim returns a PersistentVolumeClaim of 1 GiB with the name.
func claim(name string) object {
	return object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": name},
		"spec": object{"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "1Gi"}}}}
}

// encode returns v as JSON.
func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
