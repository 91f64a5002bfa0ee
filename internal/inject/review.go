package inject

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"holdpoint/internal/agui"
)

// The version and kind of a review.
const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// A review is one request of the API server.
type review struct {
	uid, namespace, name string
	dryRun               bool
	skip                 string // why the pod is not changed, or ""
	pod                  gjson.Result
}

// readReview parses the body of a request. It checks the JSON first, including its depth, because
// gjson needs valid JSON.
func readReview(body []byte) (*review, error) {
	if !agui.ValidJSON(body) {
		return nil, errors.New(textNotJSON)
	}
	root := gjson.ParseBytes(body)
	if v, k := root.Get("apiVersion").String(), root.Get("kind").String(); v != reviewVersion || k != reviewKind {
		return nil, fmt.Errorf(textOtherKind, reviewKind, reviewVersion, quote(k), quote(v))
	}
	request := root.Get("request")
	r := &review{
		uid: request.Get("uid").String(), namespace: request.Get("namespace").String(),
		name: request.Get("name").String(), dryRun: request.Get("dryRun").Bool(),
	}
	if r.uid == "" {
		return nil, errors.New(textNoUID)
	}
	kind := request.Get("kind")
	r.pod = request.Get("object")
	switch {
	case kind.Get("group").String() != "" || kind.Get("version").String() != "v1" || kind.Get("kind").String() != "Pod":
		r.skip = textNotCorePod
	case request.Get("subResource").String() != "":
		r.skip = textSubresource
	case request.Get("operation").String() != "CREATE":
		r.skip = textExists
	case !r.pod.IsObject():
		return nil, errors.New(textNoObject)
	}
	for _, name := range []string{"metadata.name", "metadata.generateName"} {
		if r.name == "" {
			r.name = r.pod.Get(name).String()
		}
	}
	return r, nil
}

// quote quotes a text that the client sent, for use in an error. It shortens a long text.
func quote(text string) string {
	const longest = 60
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return strconv.Quote(text)
}

// An operation is one operation of a JSON Patch. Path consists only of names that the injector
// knows and of numbers. It never contains a text from the pod.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// statusInvalid is the HTTP status of a refusal. The API server uses the same status for an object
// that breaks a rule of the API.
const statusInvalid = 422

// answer returns the answer to the review as JSON.
func (r *review) answer(a *Answer, patch []operation) ([]byte, error) {
	body := []byte(`{}`)
	var err error
	set := func(path string, value any) {
		if err == nil {
			body, err = sjson.SetBytes(body, path, value)
		}
	}
	set("apiVersion", reviewVersion)
	set("kind", reviewKind)
	set("response.uid", r.uid)
	set("response.allowed", a.Outcome != Refused)
	if a.Outcome == Refused {
		set("response.status.code", statusInvalid)
		set("response.status.reason", "Invalid")
		set("response.status.message", "holdpoint: "+a.Reason)
	}
	if len(a.Warnings) > 0 {
		set("response.warnings", a.Warnings)
	}
	if len(patch) > 0 {
		text, failed := json.Marshal(patch)
		err = errors.Join(err, failed)
		set("response.patchType", "JSONPatch")
		set("response.patch", base64.StdEncoding.EncodeToString(text))
	}
	return body, err
}

// A pod contains those parts of a Kubernetes pod that the injector reads.
type pod struct {
	json        gjson.Result
	annotations map[string]string
	containers  []*container // spec.initContainers, then spec.containers
}

// A container is one container of a pod.
type container struct {
	name  string
	json  gjson.Result
	init  bool
	path  string // the JSON Pointer to the container in the pod
	ports []port
}

// A port is one port of a container.
type port struct {
	index    int
	name     string
	number   int64
	hostPort int64
	protocol string
}

func readPod(text gjson.Result) *pod {
	p := &pod{json: text, annotations: map[string]string{}}
	text.Get("metadata.annotations").ForEach(func(name, value gjson.Result) bool {
		p.annotations[name.String()] = value.String()
		return true
	})
	for _, list := range []string{"initContainers", "containers"} {
		for n, c := range items(text.Get("spec." + list)) {
			one := &container{
				name: c.Get("name").String(), json: c, init: list == "initContainers",
				path: "/spec/" + list + "/" + strconv.Itoa(n),
			}
			// any other init container ends before the agent starts
			if !one.init || c.Get("restartPolicy").String() == "Always" {
				one.ports = readPorts(c)
			}
			p.containers = append(p.containers, one)
		}
	}
	return p
}

// items returns the elements of list, or nil if list is not an array.
func items(list gjson.Result) []gjson.Result {
	if !list.IsArray() {
		return nil
	}
	return list.Array()
}

func readPorts(c gjson.Result) (list []port) {
	for n, o := range items(c.Get("ports")) {
		protocol := o.Get("protocol").String()
		if protocol == "" {
			protocol = "TCP"
		}
		list = append(list, port{
			index: n, name: o.Get("name").String(), number: o.Get("containerPort").Int(),
			hostPort: o.Get("hostPort").Int(), protocol: protocol,
		})
	}
	return list
}

// container returns the container with that name, or nil.
func (p *pod) container(name string) *container {
	for _, c := range p.containers {
		if c.name == name {
			return c
		}
	}
	return nil
}

// names returns the names of the containers that an annotation may name: all except the init
// containers.
func (p *pod) names() (list []string) {
	for _, c := range p.containers {
		if !c.init {
			list = append(list, c.name)
		}
	}
	return list
}

func (p *pod) annotationNames() []string {
	var list []string
	for name := range p.annotations {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// append returns the operations that append elements to an array in the pod's spec. list is the
// name of that array.
func (p *pod) append(list string, elements ...json.RawMessage) []operation {
	return appendOperations(p.json.Get("spec."+list), "/spec/"+list, elements...)
}

// appendOperations returns the operations that append elements to the array list. path is the JSON
// Pointer to list. If list does not exist, the first operation creates it.
func appendOperations(list gjson.Result, path string, elements ...json.RawMessage) (patch []operation) {
	there := list.IsArray()
	for _, element := range elements {
		if there {
			patch = append(patch, operation{"add", path + "/-", element})
			continue
		}
		patch = append(patch, operation{"add", path, slices.Concat([]byte{'['}, element, []byte{']'})})
		there = true
	}
	return patch
}

func (c *container) hasPort(name string) bool {
	return slices.ContainsFunc(c.ports, func(o port) bool { return o.name == name })
}
