package inject

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// plainPod returns the spec of a pod that contains only an agent.
func plainPod() object {
	return object{"containers": []any{object{
		"name": "agent", "image": "agent:1", "ports": []any{object{"name": "http", "containerPort": 8000.0}},
	}}}
}

// request returns the AdmissionReview for a new pod.
func request(t *testing.T, annotations, spec object) object {
	t.Helper()
	return object{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": object{
			"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "namespace": "agents",
			"kind":   object{"group": "", "version": "v1", "kind": "Pod"},
			"object": object{"metadata": object{"generateName": "agent-", "annotations": annotations}, "spec": spec},
		},
	}
}

// ask returns the injector's answer to a review. It also checks the members that every answer must
// have.
func ask(t *testing.T, i *Injector, review object) *Answer {
	t.Helper()
	a, err := i.Review(marshal(t, review))
	if err != nil {
		t.Fatal(err)
	}
	got := gjson.ParseBytes(a.Body)
	if !gjson.ValidBytes(a.Body) || got.Get("apiVersion").String() != "admission.k8s.io/v1" || got.Get("kind").String() != "AdmissionReview" ||
		got.Get("response.uid").String() != "705ab4f5-6393-11e8-b7cc-42010a800002" || got.Get("response.allowed").Bool() == (a.Outcome == Refused) {
		t.Fatalf("%s", a.Body)
	}
	if has := got.Get("response.patch").Exists(); has != (a.Outcome == Injected) || has != (got.Get("response.patchType").String() == "JSONPatch") {
		t.Fatalf("%s, with a patch: %v", a.Outcome, has)
	}
	return a
}

// patched returns the spec of the pod after the injector has added the sidecar.
func patched(t *testing.T, i *Injector, annotations, spec object) object {
	t.Helper()
	review := request(t, annotations, spec)
	a := ask(t, i, review)
	if a.Outcome != Injected {
		t.Fatalf("%s: %s", a.Outcome, a.Reason)
	}
	var pod any
	if err := json.Unmarshal(marshal(t, review["request"].(object)["object"]), &pod); err != nil {
		t.Fatal(err)
	}
	return apply(t, pod, patchOf(t, a))["spec"].(object)
}

func patchOf(t *testing.T, a *Answer) (patch []operation) {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(gjson.GetBytes(a.Body, "response.patch").String())
	if err == nil {
		err = json.Unmarshal(text, &patch)
	}
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

// apply applies a JSON Patch (RFC 6902) to doc. It supports only the operations that the injector
// uses.
func apply(t *testing.T, doc any, patch []operation) object {
	t.Helper()
	for _, op := range patch {
		var value any
		if op.Op != "remove" {
			if err := json.Unmarshal(op.Value, &value); err != nil {
				t.Fatalf("%s: %v", op.Path, err)
			}
		}
		names := strings.Split(op.Path, "/")[1:]
		doc = edit(t, doc, names, op, value)
	}
	return doc.(object)
}

func edit(t *testing.T, doc any, names []string, op operation, value any) any {
	t.Helper()
	last := len(names) == 1
	switch doc := doc.(type) {
	case object:
		_, has := doc[names[0]]
		switch {
		case !last && has:
			doc[names[0]] = edit(t, doc[names[0]], names[1:], op, value)
		case last && op.Op == "remove" && has:
			delete(doc, names[0])
		case last && (op.Op == "add" || op.Op == "replace" && has):
			doc[names[0]] = value
		default:
			t.Fatalf("%s of %s: there is no %s", op.Op, op.Path, names[0])
		}
		return doc
	case []any:
		if last && op.Op == "add" && names[0] == "-" {
			return append(doc, value)
		}
		n, err := strconv.Atoi(names[0])
		if err != nil || n >= len(doc) {
			t.Fatalf("%s of %s: %v", op.Op, op.Path, err)
		}
		if last {
			doc[n] = value
		} else {
			doc[n] = edit(t, doc[n], names[1:], op, value)
		}
		return doc
	}
	t.Fatalf("%s of %s: nothing is there", op.Op, op.Path)
	return nil
}

// with returns the spec of the plain pod, as changed by change. It passes the spec and its agent
// container to change.
func with(change func(spec, agent object)) object {
	spec := plainPod()
	change(spec, spec["containers"].([]any)[0].(object))
	return spec
}

// beside returns a container with one port, for a pod that has further containers.
func beside(name, port string, number float64) object {
	return object{"name": name, "image": "x", "ports": []any{object{"name": port, "containerPort": number}}}
}

func add(spec object, list string, c object) {
	of, _ := spec[list].([]any)
	spec[list] = append(of, c)
}

// get returns a probe or a hook of kind httpGet.
func get(port any) object { return object{"httpGet": object{"path": "/ok", "port": port}} }

// TestRefused: a pod that cannot work must be refused, with a reason that says what to change.
func TestRefused(t *testing.T) {
	plain := object{agentAnnotation: "agent/http"}
	closed := object{agentAnnotation: "agent/http", addressAnnotation: "HOST"}
	set := func(name, value string) object { return object{agentAnnotation: "agent/http", name: value} }
	none := func(_, _ object) {}
	for _, tt := range []struct {
		name        string
		annotations object
		change      func(spec, agent object)
		want        string
	}{
		{"a number in the place of the port", object{agentAnnotation: "agent/8000"}, none, "8000 is a number: give the port of the container a name"},
		{"no port", object{agentAnnotation: "agent"}, none, "want container/port"},
		{"no such container", object{agentAnnotation: "graph/http"}, none, `names the container "graph", but the pod has agent`},
		{"an init container", object{agentAnnotation: "setup/http"}, func(spec, _ object) { add(spec, "initContainers", beside("setup", "http", 1)) }, `names the container "setup"`},
		{"no such port", object{agentAnnotation: "agent/agui"}, none, `names the port "agui", but the container agent has http`},
		{"a port without a name", plain, func(_, agent object) { agent["ports"] = []any{object{"containerPort": 8000.0}} }, "the container agent has none with a name: give its port this name"},
		{"another protocol", plain, func(_, agent object) {
			agent["ports"].([]any)[0].(object)["protocol"] = "UDP"
		}, "is for UDP"},
		{"a port of the node", plain, func(_, agent object) { agent["ports"].([]any)[0].(object)["hostPort"] = 80.0 }, "has a hostPort"},
		{"the network of the node", plain, func(spec, _ object) { spec["hostNetwork"] = true }, "the pod has hostNetwork"},
		{"Windows", plain, func(spec, _ object) { spec["os"] = object{"name": "windows"} }, "the pod is not for Linux"},
		{"a name that two containers have", plain, func(spec, _ object) { add(spec, "containers", beside("other", "http", 9000)) }, "two containers have a port http, agent and other"},
		{"a name that a native sidecar has", plain, func(spec, _ object) {
			c := beside("other", "http", 9000)
			c["restartPolicy"] = "Always"
			add(spec, "initContainers", c)
		}, "two containers have a port http"},
		{"a number that two containers have", plain, func(spec, _ object) { add(spec, "containers", beside("other", "web", 8000)) }, "two ports have the number 8000"},
		{"Holdpoint's own number", plain, func(spec, _ object) { add(spec, "containers", beside("other", "web", 7081)) }, "has the port 7081, which Holdpoint's sidecar takes"},
		{"the agent on Holdpoint's number", plain, func(_, agent object) { agent["ports"].([]any)[0].(object)["containerPort"] = 7080.0 }, "has the port 7080"},
		{"a grace period without time", plain, func(spec, _ object) { spec["terminationGracePeriodSeconds"] = 5.0 }, "leaves open streams no time"},
		{"a probe that cannot reach", closed, func(_, agent object) { agent["livenessProbe"] = get("http") }, "the livenessProbe/httpGet of agent uses port 8000, which the kubelet cannot reach on 127.0.0.1"},
		{"one by number", closed, func(_, agent object) {
			agent["startupProbe"] = object{"tcpSocket": object{"port": 8000.0}}
		}, "the startupProbe/tcpSocket of agent"},
		{"one of gRPC", closed, func(_, agent object) { agent["livenessProbe"] = object{"grpc": object{"port": 8000.0}} }, "the livenessProbe/grpc of agent"},
		{"an address that is none", set(addressAnnotation, "0.0.0.0"), none, "want the agent's variable with the address to listen on"},
		{"an address in an URL", closed, func(_, agent object) { agent["env"] = []any{object{"name": "HOST", "value": "http://0.0.0.0:8000"}} }, "is neither an address nor host:port"},
		{"an address of a ConfigMap", closed, func(_, agent object) {
			agent["env"] = []any{object{"name": "HOST", "valueFrom": object{"configMapKeyRef": object{"name": "a", "key": "b"}}}}
		}, "takes its value from elsewhere"},
		{"an unknown annotation", set("holdpoint/adress", "HOST"), none, "the annotation holdpoint/adress: the injector has no such annotation, want one of holdpoint/agent"},
		{"annotations without the agent's", object{volumeAnnotation: "state"}, none, "holdpoint/volume is set, and holdpoint/agent is not"},
		{"a path that is none", set(pathAnnotation, "agent?x"), none, "want the path of the agent"},
		{"a path that is a host", set(pathAnnotation, "//evil.example.com/"), none, "want the path of the agent"},
		{"a volume that is not there", set(volumeAnnotation, "state"), none, "the pod has no volume of that name"},
		{"a volume of others", set(volumeAnnotation, "state"), func(spec, _ object) {
			spec["volumes"] = []any{object{"name": "state", "persistentVolumeClaim": object{"claimName": "c"}}}
		}, "the pod has no securityContext.fsGroup, so Holdpoint's user 65532 cannot write"},
		{"a limit that is none", set(memoryAnnotation, "1e9"), none, "want a limit in Mi or Gi"},
		{"a limit for nobody", set(memoryAnnotation, "16Mi"), none, "at least 64Mi"},
		{"the injector's variable", set("env.holdpoint/UPSTREAM", "http://x/"), none, "HOLDPOINT_UPSTREAM is the injector's own"},
		{"a variable with its prefix", set("env.holdpoint/HOLDPOINT_NAME", "x"), none, "env.holdpoint/NAME"},
		{"a variable that is closed", set("env.holdpoint/PPROF", "true"), none, "HOLDPOINT_PPROF cannot be set"},
		{"a secret", set("env.holdpoint/STORE_PASSWORD", "s3cret"), none, "secret.holdpoint/STORE_PASSWORD takes the Secret"},
		{"a secret's file", set("env.holdpoint/STORE_KEYS_FILE", "/x"), none, "secret.holdpoint/STORE_KEYS takes the Secret"},
		{"a password in an address", set("env.holdpoint/STORE", "redis://u:s3cret@redis"), none, "a password does not belong into an annotation"},
		{"a password in a query", set("env.holdpoint/STORE", "postgres://db/x?password=s3cret"), none, "a password does not belong into an annotation"},
		{"a file", set("env.holdpoint/STORE", "bolt:///x"), none, "a store in a file needs a volume"},
		{"two stores", object{agentAnnotation: "agent/http", volumeAnnotation: "state", "env.holdpoint/STORE": "memory://"}, none, "are both set"},
		{"a desk in the sidecar", set("env.holdpoint/DESK_LISTEN", ":7082"), none, "a sidecar has no desk of its own"},
		{"a secret of no variable", set("secret.holdpoint/TOKEN", "a/b"), none, "want one of STORE_PASSWORD"},
		{"a secret without a key", set("secret.holdpoint/STORE_PASSWORD", "store"), none, "such as name/key"},
		{"a key that is a path", set("secret.holdpoint/STORE_PASSWORD", "store/../x"), none, "such as name/key"},
		{"the injector's volume", set("secret.holdpoint/STORE_PASSWORD", "store/password"), func(spec, _ object) { spec["volumes"] = []any{object{"name": secretsName}} }, "whose name the injector uses itself"},
		{"what Holdpoint itself refuses", set("env.holdpoint/DIALECT", "klingon"), none, "the sidecar would not start: HOLDPOINT_DIALECT: no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(environ []string) []error {
				if slices.Contains(environ, "HOLDPOINT_DIALECT=klingon") {
					return []error{errors.New("HOLDPOINT_DIALECT: no")}
				}
				return nil
			}
			a := ask(t, &Injector{Image: "h", Check: check}, request(t, tt.annotations, with(tt.change)))
			if a.Outcome != Refused || !strings.Contains(a.Reason, tt.want) {
				t.Errorf("%s: %q, want %q", a.Outcome, a.Reason, tt.want)
			}
			status := gjson.GetBytes(a.Body, "response.status")
			if status.Get("message").String() != "holdpoint: "+a.Reason || status.Get("code").Int() != 422 {
				t.Errorf("status %s", status.Raw)
			}
			if strings.Contains(string(a.Body), "s3cret") {
				t.Error("the answer has the secret")
			}
		})
	}
}

// TestSkipped: if a request does not concern the injector, the pod must stay unchanged.
func TestSkipped(t *testing.T) {
	plain := object{agentAnnotation: "agent/http"}
	withSidecar := func(port string) func(spec, agent object) {
		return func(spec, _ object) {
			c := beside(sidecarName, port, runPort)
			c["restartPolicy"] = "Always"
			add(spec, "initContainers", c)
		}
	}
	for _, tt := range []struct {
		name        string
		annotations object
		change      func(spec, agent object)
		request     object // members that replace those of the request
		want, warns string
	}{
		{"no annotation", nil, nil, nil, "no annotation holdpoint/agent", ""},
		{"a pod with the sidecar", plain, withSidecar("http"), nil, "has a container holdpoint already", ""},
		{"another sidecar", plain, withSidecar("agui"), nil, "has a container holdpoint already", "a Service may bypass it"},
		{"a pod of the kubelet", object{agentAnnotation: "agent/http", "kubernetes.io/config.mirror": "x"}, nil, nil, "a mirror pod", ""},
		{"another kind", plain, nil, object{"kind": object{"group": "apps", "version": "v1", "kind": "Deployment"}}, "not a pod of v1", ""},
		{"an update", plain, nil, object{"operation": "UPDATE"}, "a pod that exists already", ""},
		{"an ephemeral container", plain, nil, object{"operation": "UPDATE", "subResource": "ephemeralcontainers"}, "a subresource of a pod", ""},
		{"a deletion", plain, nil, object{"operation": "DELETE", "object": nil}, "a pod that exists already", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.change == nil {
				tt.change = func(_, _ object) {}
			}
			review := request(t, tt.annotations, with(tt.change))
			maps.Copy(review["request"].(object), tt.request)
			a := ask(t, &Injector{Image: "h"}, review)
			if a.Outcome != Skipped || !strings.Contains(a.Reason, tt.want) || (tt.warns == "") != (len(a.Warnings) == 0) || !strings.Contains(strings.Join(a.Warnings, ""), tt.warns) {
				t.Errorf("%s: %q, %q", a.Outcome, a.Reason, a.Warnings)
			}
		})
	}
}

// TestAgent checks the changes to the agent's container, and the warnings about it.
func TestAgent(t *testing.T) {
	open := object{agentAnnotation: "agent/http"}
	closed := object{agentAnnotation: "agent/http", addressAnnotation: "HOST"}
	usual := template("readinessProbe").Value()
	drained := object{"preStop": template("preStop").Value()}
	env := func(v object) []any { return []any{object{"name": "A", "value": "b"}, v} }
	host := func(value string) object { return object{"name": "HOST", "value": value} }
	for _, tt := range []struct {
		name        string
		annotations object
		change      object // members that are added to the container
		want        object // members that the container must have after injection
		warns       []string
	}{
		{"as it is", closed, nil, object{"env": []any{host("127.0.0.1")}, "readinessProbe": usual, "lifecycle": drained, "ports": []any{object{"containerPort": 8000.0}}}, nil},
		{"an open port", open, nil, object{"env": nil}, []string{"port 8000 of agent can be reached without Holdpoint"}},
		{"it listens there already", object{agentAnnotation: "agent/http", addressAnnotation: "127.0.0.1"}, nil, object{"env": nil}, nil},
		{"other variables", closed, object{"env": env(host("0.0.0.0"))}, object{"env": env(host("127.0.0.1"))}, nil},
		{"an address with a port", closed, object{"env": env(host("0.0.0.0:8000"))}, object{"env": env(host("127.0.0.1:8000"))}, nil},
		{"an address of IPv6", closed, object{"env": env(host("[::]:8000"))}, object{"env": env(host("127.0.0.1:8000"))}, nil},
		{"all addresses of IPv6", closed, object{"env": env(host("::"))}, object{"env": env(host("127.0.0.1"))}, nil},
		{"the pod's own address", closed, object{"env": env(object{"name": "HOST", "valueFrom": object{"fieldRef": object{"fieldPath": "status.podIP"}}})},
			object{"env": env(host("127.0.0.1"))}, nil},
		{"probes by the port's name", open, object{"livenessProbe": get("http"), "startupProbe": object{"tcpSocket": object{"port": "http"}}},
			object{"livenessProbe": get(8000.0), "startupProbe": object{"tcpSocket": object{"port": 8000.0}}, "readinessProbe": usual}, []string{"can be reached"}},
		{"probes elsewhere", closed, object{"livenessProbe": get(9000.0)}, object{"livenessProbe": get(9000.0)}, nil},
		{"its own readiness", open, object{"readinessProbe": get("http")}, object{"readinessProbe": get(8000.0), "lifecycle": drained}, []string{"can be reached", "keeps its own readinessProbe"}},
		{"its own hook", closed, object{"lifecycle": object{"preStop": object{"sleep": object{"seconds": 5.0}}}},
			object{"lifecycle": object{"preStop": object{"sleep": object{"seconds": 5.0}}}, "readinessProbe": usual}, []string{"keeps its own preStop hook"}},
		{"a hook at its start", open, object{"lifecycle": object{"postStart": get("http")}},
			object{"lifecycle": object{"postStart": get(8000.0), "preStop": drained["preStop"]}}, []string{"can be reached"}},
		{"several ports", closed, object{"ports": []any{object{"name": "metrics", "containerPort": 9090.0}, object{"name": "http", "containerPort": 8000.0}}},
			object{"ports": []any{object{"name": "metrics", "containerPort": 9090.0}, object{"containerPort": 8000.0}}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := with(func(_, agent object) { maps.Copy(agent, tt.change) })
			a := ask(t, &Injector{Image: "h"}, request(t, tt.annotations, spec))
			ok := len(a.Warnings) == len(tt.warns)
			for n := range tt.warns {
				ok = ok && strings.Contains(a.Warnings[n], tt.warns[n])
			}
			if !ok {
				t.Errorf("warnings %q, want %q", a.Warnings, tt.warns)
			}
			agent := patched(t, &Injector{Image: "h"}, tt.annotations, spec)["containers"].([]any)[0].(object)
			for name, want := range tt.want {
				if got := agent[name]; !reflect.DeepEqual(got, want) {
					t.Errorf("%s is %s, want %s", name, marshal(t, got), marshal(t, want))
				}
			}
		})
	}
}

// TestPortsOfTheSidecar: the sidecar's port must have the name that the Service uses. If another
// container has a port named admin, the sidecar's port for probes must get a different name. The
// sidecar must be the last init container.
func TestPortsOfTheSidecar(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(spec, agent object)
		port   string
		want   string
	}{
		{"as usual", func(_, _ object) {}, "http", "admin"},
		{"admin elsewhere", func(spec, _ object) { add(spec, "containers", beside("other", "admin", 9000)) }, "http", "holdpoint-admin"},
		{"an agent called admin", func(_, agent object) { agent["ports"].([]any)[0].(object)["name"] = "admin" }, "admin", "holdpoint-admin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := with(tt.change)
			add(spec, "initContainers", object{"name": "setup"})
			list := patched(t, &Injector{Image: "h:2"}, object{agentAnnotation: "agent/" + tt.port}, spec)["initContainers"].([]any)
			c := list[len(list)-1].(object)
			ports := c["ports"].([]any)
			want := []any{object{"name": tt.port, "containerPort": 7080.0}, object{"name": tt.want, "containerPort": 7081.0}}
			if len(list) != 2 || c["image"] != "h:2" || c["restartPolicy"] != "Always" || !reflect.DeepEqual(ports, want) {
				t.Errorf("%s", marshal(t, list))
			}
			for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
				if got := c[probe].(object)["httpGet"].(object)["port"]; got != tt.want {
					t.Errorf("%s asks %v", probe, got)
				}
			}
		})
	}
}

// TestTwice: with reinvocationPolicy, the injector gets a pod a second time, after it has changed
// it. It must then leave the pod unchanged.
func TestTwice(t *testing.T) {
	annotations := object{agentAnnotation: "agent/http"}
	once := patched(t, &Injector{Image: "h"}, annotations, plainPod())
	if a := ask(t, &Injector{Image: "h"}, request(t, annotations, once)); a.Outcome != Skipped || len(a.Warnings) > 0 {
		t.Errorf("%s: %s %q", a.Outcome, a.Reason, a.Warnings)
	}
}

// TestCheckedVariables: the function Check must get the variables of the sidecar. For a variable
// from a secret, it must get an example as the value.
func TestCheckedVariables(t *testing.T) {
	var got []string
	patched(t, &Injector{Image: "h", Check: func(environ []string) []error { got = environ; return nil }}, object{
		agentAnnotation: "agent/http", "env.holdpoint/PRINCIPAL_HEADER": "X-User", "secret.holdpoint/PRINCIPAL_KEY": "a/b", "secret.holdpoint/UPSTREAM_HEADERS": "a/c",
	}, plainPod())
	if !slices.Contains(got, "HOLDPOINT_PRINCIPAL_HEADER=X-User") || !slices.Contains(got, "HOLDPOINT_PRINCIPAL_KEY="+exampleSecrets["PRINCIPAL_KEY"]) ||
		slices.ContainsFunc(got, func(v string) bool { return strings.Contains(v, "_FILE=") }) {
		t.Errorf("%q", got)
	}
}

// TestBadReviews: if the body is not a review, Review must return an error and no answer.
func TestBadReviews(t *testing.T) {
	for body, want := range map[string]string{
		``:     "not valid JSON",
		`{`:    "not valid JSON",
		`[]`:   `got kind "" of apiVersion ""`,
		`null`: `got kind ""`,
		`{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}`:                                                                                         `apiVersion "admission.k8s.io/v1beta1"`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`:                                                                                              "no request.uid",
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"version":"v1","kind":"Pod"},"operation":"CREATE"}}`:              "no request.object",
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","kind":{"version":"v1","kind":"Pod"},"operation":"CREATE","object":"x"}}`: "no request.object",
		strings.Repeat("[", 1<<20): "not valid JSON",
	} {
		a, err := (&Injector{}).Review([]byte(body))
		if a != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", body, err, want)
		}
	}
}

// FuzzReview: for any pod, the answer must be valid JSON, and its patch must fit the pod.
func FuzzReview(f *testing.F) {
	spec, _ := json.Marshal(plainPod())
	f.Add(`{"holdpoint/agent":"agent/http","holdpoint/address":"HOST"}`, string(spec))
	f.Add(`{"holdpoint/agent":"agent/http"}`, `{"containers":[{"name":"agent","ports":[{"name":"http","containerPort":8000}],"env":[],"lifecycle":{"postStart":{"httpGet":{"port":"http"}}}}],"initContainers":[],"volumes":null}`)
	f.Add(`{"holdpoint/agent":"agent/http","holdpoint/volume":"v","secret.holdpoint/STORE_KEYS":"a/b"}`, `{"containers":[{"name":"agent","ports":{"0":{"name":"http"}}}],"volumes":{"name":"v"}}`)
	f.Add(`{"holdpoint/agent":"a/h"}`, `{"containers":[{"name":"a","ports":[1,{"name":"h","containerPort":8e3}],"env":{},"lifecycle":[],"readinessProbe":7}],"initContainers":{}}`)
	f.Fuzz(func(t *testing.T, annotations, spec string) {
		body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"object":{"metadata":{"annotations":` +
			annotations + `},"spec":` + spec + `}}}`
		if _, err := (&Injector{Image: "h"}).Review([]byte(body)); err != nil {
			return
		}
		// An API server marshals what it has parsed, so no key occurs twice.
		var review any
		if err := json.Unmarshal([]byte(body), &review); err != nil {
			return // a number is too large for a float64
		}
		a, err := (&Injector{Image: "h"}).Review(marshal(t, review))
		if err != nil {
			return
		}
		if !gjson.ValidBytes(a.Body) || gjson.GetBytes(a.Body, "response.allowed").Bool() == (a.Outcome == Refused) {
			t.Fatalf("%s", a.Body)
		}
		if a.Outcome != Injected {
			return
		}
		pod := review.(object)["request"].(object)["object"]
		if _, typed := pod.(object)["spec"].(object); !typed {
			t.Fatalf("a sidecar for %s", spec)
		}
		apply(t, pod, patchOf(t, a))
	})
}
