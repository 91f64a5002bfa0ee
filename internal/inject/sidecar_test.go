package inject

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write sidecar.json from deploy/kubernetes/sidecar.yaml")

type object = map[string]any

// manifestPod returns the pod spec of deploy/kubernetes/sidecar.yaml, with the types of decoded
// JSON.
func manifestPod(t *testing.T) object {
	t.Helper()
	text, err := os.ReadFile("../../deploy/kubernetes/sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o object
		if err := dec.Decode(&o); err != nil {
			t.Fatal(err)
		}
		if o["kind"] == "Deployment" {
			spec := o["spec"].(object)["template"].(object)["spec"]
			var pod object
			if err := json.Unmarshal(marshal(t, spec), &pod); err != nil {
				t.Fatal(err)
			}
			return pod
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestSidecarIsThatOfTheManifest: sidecar.json must have the content of
// deploy/kubernetes/sidecar.yaml. The test removes Holdpoint from the pod of the manifest and
// injects it again. The result must be the same pod.
func TestSidecarIsThatOfTheManifest(t *testing.T) {
	want := manifestPod(t)
	sidecar := want["initContainers"].([]any)[0].(object)
	agent := want["containers"].([]any)[0].(object)
	image := sidecar["image"]
	delete(sidecar, "image") // the injector sets its own image
	source, err := json.MarshalIndent(object{
		"container": sidecar, "readinessProbe": agent["readinessProbe"], "preStop": agent["lifecycle"].(object)["preStop"],
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if source = append(source, '\n'); string(source) != sidecarJSON {
		if !*update {
			t.Fatal("sidecar.json differs from deploy/kubernetes/sidecar.yaml: run with -update")
		}
		if err := os.WriteFile("sidecar.json", source, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("sidecar.json was written, and is compiled in with the next build")
	}

	sidecar["image"] = image
	bare := manifestPod(t)
	delete(bare, "initContainers")
	alone := bare["containers"].([]any)[0].(object)
	delete(alone, "readinessProbe")
	delete(alone, "lifecycle")
	alone["ports"] = []any{object{"name": "agui", "containerPort": 8000.0}}
	alone["env"] = []any{object{"name": "HOST", "value": "0.0.0.0"}}
	got := patched(t, &Injector{Image: image.(string)}, object{
		agentAnnotation: "agent/agui", addressAnnotation: "HOST", volumeAnnotation: "state",
	}, bare)

	agent["ports"] = []any{object{"containerPort": 8000.0}}
	agent["env"] = []any{object{"name": "HOST", "value": "127.0.0.1"}}
	sidecar["securityContext"].(object)["seccompProfile"] = want["securityContext"].(object)["seccompProfile"]
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", marshal(t, got), marshal(t, want))
	}
}

// TestDrainTimes: the injector must compute the drain delay and timeout from the pod's grace
// period, as the chart does (deploy: TestDrainTimesOfTheChart). A new pod may replace an old pod,
// so the startup probe must also allow for the grace period of the old pod.
func TestDrainTimes(t *testing.T) {
	for _, tt := range []struct {
		grace          float64
		delay, timeout string
		startup        float64
	}{{30, "5s", "20s", 60}, {610, "5s", "600s", 640}, {15, "2s", "8s", 45}, {7, "0s", "2s", 37}} {
		pod := plainPod()
		pod["terminationGracePeriodSeconds"] = tt.grace
		got := patched(t, &Injector{Image: "h"}, object{agentAnnotation: "agent/http"}, pod)["initContainers"].([]any)[0].(object)
		env := environment(got)
		if env["HOLDPOINT_DRAIN_DELAY"] != tt.delay || env["HOLDPOINT_DRAIN_TIMEOUT"] != tt.timeout || got["startupProbe"].(object)["failureThreshold"] != tt.startup {
			t.Errorf("%v: %s, %s, %v", tt.grace, env["HOLDPOINT_DRAIN_DELAY"], env["HOLDPOINT_DRAIN_TIMEOUT"], got["startupProbe"])
		}
	}
}

// environment returns the environment variables of a container, by name.
func environment(c object) map[string]string {
	env := map[string]string{}
	list, _ := c["env"].([]any)
	for _, v := range list {
		value, _ := v.(object)["value"].(string)
		env[v.(object)["name"].(string)] = value
	}
	return env
}

// TestWhatAnnotationsConfigure: the annotations set memory, path, variables and secrets of the
// sidecar. They must change nothing else in the pod.
func TestWhatAnnotationsConfigure(t *testing.T) {
	pod := plainPod()
	pod["volumes"] = []any{object{"name": "tmp", "emptyDir": object{}}}
	got := patched(t, &Injector{Image: "h"}, object{
		agentAnnotation: "agent/http", pathAnnotation: "/agent", memoryAnnotation: "512Mi",
		"env.holdpoint/STORE": "redis://redis:6379", "env.holdpoint/DIALECT": "langgraph", "env.holdpoint/PHRASES_ASK": "$(PATH)",
		"secret.holdpoint/STORE_PASSWORD": "store/password", "secret.holdpoint/UPSTREAM_HEADERS": "agent/headers",
		"other.example.com/note": "x",
	}, pod)
	sidecar := got["initContainers"].([]any)[0].(object)
	env := environment(sidecar)
	for name, want := range map[string]string{
		"HOLDPOINT_UPSTREAM": "http://127.0.0.1:8000/agent", "GOMEMLIMIT": "460MiB", "HOLDPOINT_STORE": "redis://redis:6379",
		"HOLDPOINT_DIALECT": "langgraph", "HOLDPOINT_PHRASES_ASK": "$$(PATH)",
		"HOLDPOINT_STORE_PASSWORD_FILE":   "/etc/holdpoint/secrets/STORE_PASSWORD",
		"HOLDPOINT_UPSTREAM_HEADERS_FILE": "/etc/holdpoint/secrets/UPSTREAM_HEADERS",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	if limit := sidecar["resources"].(object)["limits"].(object)["memory"]; limit != "512Mi" {
		t.Errorf("the limit is %v", limit)
	}
	volumes := got["volumes"].([]any)
	if len(volumes) != 2 || len(volumes[1].(object)["projected"].(object)["sources"].([]any)) != 2 {
		t.Errorf("volumes %s", marshal(t, volumes))
	}
	if mounts := sidecar["volumeMounts"].([]any); len(mounts) != 1 || mounts[0].(object)["readOnly"] != true {
		t.Errorf("mounts %s", marshal(t, mounts))
	}
	if agent := got["containers"].([]any)[0].(object); agent["volumeMounts"] != nil || strings.Contains(string(marshal(t, agent)), "secrets") {
		t.Errorf("the agent has %s", marshal(t, agent))
	}
}

// TestNoToken: the token of the pod's service account must not be mounted into the sidecar.
func TestNoToken(t *testing.T) {
	for _, volumes := range []any{nil, []any{object{"name": "token"}}} {
		pod := plainPod()
		if volumes != nil {
			pod["volumes"] = volumes
		}
		agent := pod["containers"].([]any)[0].(object)
		agent["volumeMounts"] = []any{object{"name": "token", "mountPath": tokenFolder}}
		got := patched(t, &Injector{Image: "h"}, object{agentAnnotation: "agent/http", "secret.holdpoint/STORE_KEYS": "a/b"}, pod)
		mounts := got["initContainers"].([]any)[0].(object)["volumeMounts"].([]any)
		want := object{"name": noTokenName, "mountPath": tokenFolder, "readOnly": true}
		if !slices.ContainsFunc(mounts, func(m any) bool { return reflect.DeepEqual(m, want) }) {
			t.Errorf("mounts %s", marshal(t, mounts))
		}
		var names []any
		for _, v := range got["volumes"].([]any) {
			names = append(names, v.(object)["name"])
		}
		if n := len(names); n < 2 || names[n-2] != secretsName || names[n-1] != noTokenName {
			t.Errorf("volumes %v", names)
		}
	}
}
