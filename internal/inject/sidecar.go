package inject

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// sidecarJSON contains the sidecar of deploy/kubernetes/sidecar.yaml, and what that file adds to
// the agent. TestSidecarIsThatOfTheManifest writes it with -update.
//
//go:embed sidecar.json
var sidecarJSON string

// template returns a member of sidecarJSON.
func template(name string) gjson.Result { return gjson.Get(sidecarJSON, name) }

const (
	sidecarName = "holdpoint"
	// runPort and adminPort are the ports of the manifest.
	runPort, adminPort = 7080, 7081
	// stateFile is the path of the store on the volume that volumeAnnotation names.
	stateFolder, stateFile = "/var/lib/holdpoint", "/var/lib/holdpoint/state.db"
	// secretsName is the volume with the files of secrets. It is mounted at secretsFolder.
	secretsName, secretsFolder = "holdpoint-secrets", "/etc/holdpoint/secrets"
	// tokenFolder is where Kubernetes mounts the token of the pod's service account into every
	// container, also into one that a webhook adds, unless something else is mounted there.
	// noTokenName is an empty volume for this purpose.
	tokenFolder, noTokenName = "/var/run/secrets/kubernetes.io/serviceaccount", "holdpoint-no-token"
	// usualGrace is the grace period of a pod that does not set one, in seconds.
	usualGrace = 30
	// cleanEnd is the part of the grace period after the drain, in seconds.
	cleanEnd = 5
	// lateStart is added to the grace period to get the time that the sidecar may take to start, in
	// seconds. The pod that this one replaces may have the store's file open until its grace period
	// ends.
	lateStart = 30
)

// ownPorts are the port numbers of the sidecar.
var ownPorts = []int64{runPort, adminPort}

// sidecar returns the sidecar's container.
func (i *Injector) sidecar(p *pod, w *options, o *port) (json.RawMessage, error) {
	delay, timeout, grace, err := p.drain()
	if err != nil {
		return nil, err
	}
	if err := p.checkVolumes(w); err != nil {
		return nil, err
	}
	c := []byte(template("container").Raw)
	set := func(path string, value any) {
		if err == nil {
			c, err = sjson.SetBytes(c, path, value)
		}
	}
	limit := template("container.resources.limits.memory").String()
	if w.memory != "" {
		limit = w.memory
		set("resources.limits.memory", limit)
		if megabytes(limit) < megabytes(template("container.resources.requests.memory").String()) {
			set("resources.requests.memory", limit)
		}
	}
	set("image", i.Image)
	set("ports.0.name", o.name)
	if p.hasPort("admin") || o.name == "admin" {
		const other = "holdpoint-admin"
		set("ports.1.name", other)
		for _, of := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
			set(of+".httpGet.port", other)
		}
	}
	set("startupProbe.failureThreshold", grace+lateStart)
	// The manifest sets it for the pod. Here it is set for the sidecar, because the pod belongs to
	// somebody else.
	set("securityContext.seccompProfile.type", "RuntimeDefault")

	env := []variable{
		{prefix + "UPSTREAM", "http://" + loopback + ":" + strconv.FormatInt(o.number, 10) + w.upstreamPath()},
		{prefix + "ADMIN_LISTEN", ":" + strconv.Itoa(adminPort)},
	}
	mounts := []map[string]any{}
	if w.volume != "" {
		env = append(env, variable{prefix + "STORE", "bolt://" + stateFile})
		mounts = append(mounts, map[string]any{"name": w.volume, "mountPath": stateFolder})
	}
	env = append(env, variable{prefix + "DRAIN_DELAY", seconds(delay)}, variable{prefix + "DRAIN_TIMEOUT", seconds(timeout)},
		variable{"GOMEMLIMIT", strconv.Itoa(megabytes(limit)*9/10/10*10) + "MiB"})
	env = append(env, w.env...)
	judged := slices.Clone(env)
	for _, s := range w.secrets {
		env = append(env, variable{prefix + s.name + "_FILE", secretsFolder + "/" + s.name})
		if example, is := examples[s.name]; is {
			judged = append(judged, variable{prefix + s.name, example})
		}
	}
	if len(w.secrets) > 0 {
		mounts = append(mounts, map[string]any{"name": secretsName, "mountPath": secretsFolder, "readOnly": true})
	}
	if p.hasToken() {
		mounts = append(mounts, map[string]any{"name": noTokenName, "mountPath": tokenFolder, "readOnly": true})
	}
	list := make([]map[string]string, 0, len(env))
	for _, v := range env {
		// Kubernetes expands $(NAME) in a value, and reads $$ as a dollar.
		list = append(list, map[string]string{"name": v.Name, "value": strings.ReplaceAll(v.Value, "$", "$$")})
	}
	set("env", list)
	if len(mounts) > 0 {
		set("volumeMounts", mounts)
	} else if err == nil {
		c, err = sjson.DeleteBytes(c, "volumeMounts")
	}
	return c, errors.Join(err, i.check(judged))
}

// check checks the variables as Holdpoint does at its start.
func (i *Injector) check(env []variable) error {
	if i.Check == nil {
		return nil
	}
	var environ []string
	for _, v := range env {
		environ = append(environ, v.Name+"="+v.Value)
	}
	if errs := i.Check(environ); len(errs) > 0 {
		return fmt.Errorf(textNoStart, errors.Join(errs...))
	}
	return nil
}

// upstreamPath returns the path of the agent, "/" by default.
func (w *options) upstreamPath() string {
	if w.path == "" {
		return "/"
	}
	return w.path
}

// drain returns the delay and the timeout of the drain, and the grace period, in seconds. The delay
// is a fifth of the grace period without cleanEnd, at most 5 seconds. The timeout is the time that
// is left for open streams.
func (p *pod) drain() (delay, timeout, grace int64, err error) {
	grace = usualGrace
	if of := p.json.Get("spec.terminationGracePeriodSeconds"); of.Type == gjson.Number {
		grace = min(of.Int(), 1<<31)
	}
	delay = min(5, (grace-cleanEnd)/5)
	timeout = grace - delay - cleanEnd
	if timeout < 1 {
		err = fmt.Errorf(textGracePeriod, grace)
	}
	return delay, timeout, grace, err
}

// checkVolumes refuses a volume that is missing, that the sidecar cannot write to, or whose name
// the injector uses itself.
func (p *pod) checkVolumes(w *options) error {
	group := p.json.Get("spec.securityContext.fsGroup")
	found := w.volume == ""
	for _, v := range items(p.json.Get("spec.volumes")) {
		name := v.Get("name").String()
		if name == secretsName || name == noTokenName {
			return fmt.Errorf(textVolumeName, name)
		}
		if name != w.volume || w.volume == "" {
			continue
		}
		found = true
		if claim := v.Get("persistentVolumeClaim").IsObject() || v.Get("ephemeral").IsObject(); claim && !group.Exists() {
			user := template("container.securityContext.runAsUser").Int()
			return fmt.Errorf(textNoGroup, user, name, user)
		}
	}
	if !found {
		return fmt.Errorf(textNoVolume, volumeAnnotation, quote(w.volume))
	}
	return nil
}

// hasPort reports whether a container of the pod has a port with the name.
func (p *pod) hasPort(name string) bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool { return c.hasPort(name) })
}

// hasToken reports whether a container of the pod mounts the token of its service account.
func (p *pod) hasToken() bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool {
		return slices.ContainsFunc(items(c.json.Get("volumeMounts")), func(m gjson.Result) bool { return m.Get("mountPath").String() == tokenFolder })
	})
}

// volumes returns the volumes that the sidecar needs: one with a file for each secret, and an empty
// one that hides the token, because the sidecar does not need it. The files change when their
// Secret changes. They are readable for everybody, because their owner is not the sidecar's user,
// but only the sidecar mounts them.
func (p *pod) volumes(w *options) (list []json.RawMessage) {
	type item map[string]any
	add := func(volume item) {
		text, _ := json.Marshal(volume) // marshalling strings and numbers cannot fail
		list = append(list, text)
	}
	var sources []item
	for _, s := range w.secrets {
		sources = append(sources, item{"secret": item{"name": s.secret, "items": []item{{"key": s.key, "path": s.name}}}})
	}
	if sources != nil {
		add(item{"name": secretsName, "projected": item{"defaultMode": 0o444, "sources": sources}})
	}
	if p.hasToken() {
		add(item{"name": noTokenName, "emptyDir": item{}})
	}
	return list
}

// megabytes returns a limit in Mi or Gi as a number of mebibytes.
func megabytes(limit string) int {
	if n, is := strings.CutSuffix(limit, "Gi"); is {
		return 1024 * atoi(n)
	}
	return atoi(strings.TrimSuffix(limit, "Mi"))
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text) // memoryLimit has checked it, or it is from the manifest
	return n
}

func seconds(n int64) string { return strconv.FormatInt(n, 10) + "s" }
