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

// sidecarJSON contains the sidecar of deploy/kubernetes/sidecar.yaml, and the changes that this
// file makes to the agent. TestSidecarIsThatOfTheManifest writes sidecar.json when it runs with
// -update.
//
//go:embed sidecar.json
var sidecarJSON string

// template returns the member of sidecarJSON with that name.
func template(name string) gjson.Result { return gjson.Get(sidecarJSON, name) }

const (
	sidecarName = "holdpoint"
	// runPort and adminPort are the ports of the sidecar in deploy/kubernetes/sidecar.yaml.
	runPort, adminPort = 7080, 7081
	// stateFile is the path of the store's file. volumeAnnotation names the volume that is mounted
	// at stateFolder.
	stateFolder, stateFile = "/var/lib/holdpoint", "/var/lib/holdpoint/state.db"
	// secretsName is the name of the volume that contains the files of secrets. It is mounted at
	// secretsFolder.
	secretsName, secretsFolder = "holdpoint-secrets", "/etc/holdpoint/secrets"
	// tokenFolder is the folder at which Kubernetes mounts the token of the pod's service account
	// into every container, even into a container that a webhook adds. Kubernetes does not mount
	// the token if the container mounts another volume at this folder. noTokenName is the empty
	// volume that the sidecar mounts there.
	tokenFolder, noTokenName = "/var/run/secrets/kubernetes.io/serviceaccount", "holdpoint-no-token"
	// defaultGrace is the grace period of a pod that does not set one, in seconds.
	defaultGrace = 30
	// shutdownReserve is the part of the grace period that remains after the drain, in seconds.
	shutdownReserve = 5
	// The sidecar may take the pod's grace period plus startReserve to start, in seconds. The reason
	// is the pod that this pod replaces: until its grace period ends, it may have the store's file
	// open.
	startReserve = 30
)

// ownPorts are the port numbers of the sidecar.
var ownPorts = []int64{runPort, adminPort}

// sidecar returns the container of the sidecar as JSON.
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
	set("startupProbe.failureThreshold", grace+startReserve)
	// In deploy/kubernetes/sidecar.yaml the whole pod has this profile. Here only the sidecar gets
	// it, because the injector must not change the other containers of the pod.
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
		if example, is := exampleSecrets[s.name]; is {
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
		// Kubernetes expands $(NAME) in a value, and reads $$ as one dollar sign.
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

// check checks the variables in the same way as Holdpoint does when it starts.
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

// drain returns the delay and the timeout of the sidecar's drain, and the grace period of the pod,
// all in seconds. The delay is a fifth of the grace period without shutdownReserve, and at most 5
// seconds. The timeout is the rest of that time, in which open streams may end.
func (p *pod) drain() (delay, timeout, grace int64, err error) {
	grace = defaultGrace
	if of := p.json.Get("spec.terminationGracePeriodSeconds"); of.Type == gjson.Number {
		grace = min(of.Int(), 1<<31)
	}
	delay = min(5, (grace-shutdownReserve)/5)
	timeout = grace - delay - shutdownReserve
	if timeout < 1 {
		err = fmt.Errorf(textGracePeriod, grace)
	}
	return delay, timeout, grace, err
}

// checkVolumes returns an error if the volume of the store is missing or not writable for the
// sidecar, or if a volume has a name that the injector itself uses.
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

// hasPort reports whether any container of the pod has a port with that name.
func (p *pod) hasPort(name string) bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool { return c.hasPort(name) })
}

// hasToken reports whether a container of the pod mounts the token of its service account.
func (p *pod) hasToken() bool {
	return slices.ContainsFunc(p.containers, func(c *container) bool {
		return slices.ContainsFunc(items(c.json.Get("volumeMounts")), func(m gjson.Result) bool { return m.Get("mountPath").String() == tokenFolder })
	})
}

// volumes returns the volumes that the sidecar needs. One contains a file for each secret; a file
// changes when its Secret changes. The other is empty and hides the token of the service account,
// because the sidecar does not need the token. The files are readable for every user, because the
// sidecar's user does not own them, but only the sidecar mounts them.
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

// megabytes converts a limit in Mi or Gi into a number of mebibytes.
func megabytes(limit string) int {
	if n, is := strings.CutSuffix(limit, "Gi"); is {
		return 1024 * atoi(n)
	}
	return atoi(strings.TrimSuffix(limit, "Mi"))
}

func atoi(text string) int {
	// cannot fail: memoryLimit has matched text, or it is from sidecar.json
	n, _ := strconv.Atoi(text)
	return n
}

func seconds(n int64) string { return strconv.FormatInt(n, 10) + "s" }
