//go:build deploy

package deploy

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"holdpoint/internal/test/authority"
)

// released returns the version of the newest section in CHANGELOG.md. The chart and the images must
// have the same version.
func released(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindSubmatch(text)
	if m == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	return string(m[1])
}

// charts are the forms in which the tests render the chart. The key is the name of a form, and the
// value lists its settings as for --set.
var charts = func() map[string][]string {
	text, err := os.ReadFile("testdata/charts.yaml")
	if err != nil {
		panic(err)
	}
	var forms map[string][]string
	if err := yaml.Unmarshal(text, &forms); err != nil {
		panic(err)
	}
	return forms
}()

// template returns the arguments of helm that render the chart with these values.
func template(values []string) []string {
	args := []string{"template", "try", "helm/holdpoint", "--namespace", "agents"}
	for _, v := range values {
		if !strings.HasPrefix(v, "--") {
			args = append(args, "--set")
		}
		args = append(args, v)
	}
	return args
}

// manifests returns all manifests that a user may apply, by the name of their file, folder or form
// of the chart.
func manifests(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"kubernetes/*.yaml", "kubernetes/gateway/istio.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(text)
		}
	}
	for _, folder := range []string{"kubernetes/gateway", "kubernetes/desk", "kustomize/example", "kustomize/behind-oauth2-proxy"} {
		all[folder] = must(t, "KUSTOMIZE", "build", folder)
	}
	for name, values := range charts {
		all["chart: "+name] = must(t, "HELM", template(values)...)
	}
	return all
}

// TestManifestsAreValid: kubeconform must find that each object matches the schemas of Kubernetes.
// It checks with two versions: the oldest one that has native sidecars, and the newest one in the
// schemas here. The injector is checked only with newer versions, because it needs them.
func TestManifestsAreValid(t *testing.T) {
	dir, newer := t.TempDir(), t.TempDir()
	for name, text := range injectors(t) {
		if err := os.WriteFile(filepath.Join(newer, filepath.Base(name)+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, texts := range []map[string]string{manifests(t), additions(t)} {
		for name, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, strings.NewReplacer("/", "_", ": ", "_", " ", "_").Replace(name)+".yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for version, folders := range map[string][]string{"1.29.0": {dir}, "1.37.0": {dir, newer}} {
		args := []string{"-strict", "-summary", "-kubernetes-version", version,
			"-schema-location", "schemas/{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json",
			"-schema-location", "schemas/custom/{{.ResourceKind}}{{.KindSuffix}}.json"}
		stdout, stderr, err := run(t, "KUBECONFORM", append(args, folders...)...)
		if err != nil || !regexp.MustCompile(`Valid: [1-9]\d+, Invalid: 0, Errors: 0, Skipped: 0`).MatchString(stdout) {
			t.Errorf("kubeconform for %s: %v\n%s%s", version, err, stdout, stderr)
		}
	}
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	text := strings.Replace(manifests(t)["kubernetes/sidecar.yaml"], "runAsNonRoot", "runAsNoRoot", 1)
	if err := os.WriteFile(wrong, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, err := run(t, "KUBECONFORM", "-strict", "-kubernetes-version", "1.37.0", "-schema-location", "schemas/{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json", wrong); err == nil || !strings.Contains(out, "runAsNoRoot") {
		t.Errorf("kubeconform takes a field that does not exist: %v\n%s", err, out)
	}
}

// TestChartLint: helm lint must find no error and no warning, in any form of the chart.
func TestChartLint(t *testing.T) {
	for name, values := range charts {
		args := []string{"lint", "--strict", "helm/holdpoint"}
		for _, v := range values {
			args = append(args, "--set", v)
		}
		if out := must(t, "HELM", args...); strings.Contains(out, "[WARNING]") {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// TestChartRefuses: if values cannot work, helm must refuse them with a clear reason before it
// installs anything.
func TestChartRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, values, want string
	}{
		{"no agent", "", "upstream is not set: the address of your agent"},
		{"replicas with a file", "upstream=http://a/ replicas=2", "replicas is 2, but the store bolt is for one process: set store.type to redis or postgres"},
		{"replicas in memory", "upstream=http://a/ replicas=2 store.type=memory", "replicas is 2, but the store memory is for one process"},
		{"a sidecar's replicas with a file", "mode=sidecar agent.image=x replicas=2", "replicas is 2"},
		{"Redis without an address", "upstream=http://a/ store.type=redis", "set store.url to an address that begins with redis"},
		{"Redis at PostgreSQL's address", "upstream=http://a/ store.type=redis store.url=postgres://db/x", "set store.url to an address that begins with redis"},
		{"an address without a type", "upstream=http://a/ store.url=redis://redis", "store.url is set, but store.type is bolt"},
		{"a password in the address", "upstream=http://a/ store.type=redis store.url=redis://u:secret@redis", "/store/url"},
		{"a sidecar without an agent", "mode=sidecar", "set agent.image to the image of your agent"},
		{"an agent beside the gateway", "upstream=http://a/ agent.image=x", "set mode to sidecar"},
		{"no time for streams", "upstream=http://a/ terminationGracePeriodSeconds=10 drainDelaySeconds=5", "leaves open streams no time"},
		{"replicas by load on a file", "upstream=http://a/ autoscaling.enabled=true", "autoscaling.enabled is true, but the store bolt is for one process"},
		{"a desk by load", "mode=desk store.type=redis store.url=redis://redis desk.tokenSecret.name=t autoscaling.enabled=true", "a desk has no runs to scale by"},
		{"fewer than at least", "upstream=http://a/ store.type=redis store.url=redis://redis autoscaling.enabled=true autoscaling.maxReplicas=1", "autoscaling.maxReplicas is 1, less than minReplicas (2)"},
		{"a desk from outside", "mode=desk store.type=redis store.url=redis://redis desk.tokenSecret.name=t ingress.enabled=true ingress.host=x", "ingress and httpRoute lead to runs"},
		{"an ingress for every host", "upstream=http://a/ ingress.enabled=true", "set ingress.host"},
		{"a route of no Gateway", "upstream=http://a/ httpRoute.enabled=true", "set httpRoute.parentRefs to your Gateway"},
		{"a kind that the cluster does not know", "upstream=http://a/ httpRoute.enabled=true httpRoute.parentRefs[0].name=g --api-versions=v1/Secret", "httpRoute.enabled is true, but this cluster does not know the kind gateway.networking.k8s.io/v1/HTTPRoute"},
		{"monitors without their operator", "upstream=http://a/ serviceMonitor.enabled=true --api-versions=v1/Secret", "does not know the kind monitoring.coreos.com/v1/ServiceMonitor. It comes with the Prometheus operator"},
		{"rules without their operator", "upstream=http://a/ prometheusRule.enabled=true --api-versions=v1/Secret,monitoring.coreos.com/v1/ServiceMonitor", "does not know the kind monitoring.coreos.com/v1/PrometheusRule"},
		{"a header from anybody", "upstream=http://a/ principal.header=X-User", "principal.header needs principal.trustedPeers"},
		{"a signature for nobody", "upstream=http://a/ webhook.signingSecret.name=hook", "webhook.signingSecret and webhook.template need webhook.urlSecret.name"},
		{"a desk without a token", "upstream=http://a/ networkPolicy.deskFrom[0].podSelector.matchLabels.app=x", "networkPolicy.deskFrom needs desk.tokenSecret.name"},
		{"a desk for everybody", "upstream=http://a/ desk.auth=jwt", "desk.auth is jwt: set desk.policy.name"},
		{"a desk in two ways", "upstream=http://a/ desk.auth=jwt desk.policy.name=p desk.tokenSecret.name=t", "desk.tokenSecret is set: leave one of them out"},
		{"a policy for no desk", "upstream=http://a/ desk.policy.name=p", "desk.policy needs desk.tokenSecret.name"},
		{"one desk with an agent", "mode=desk upstream=http://a/ desk.tokenSecret.name=t", "mode is desk: leave upstream and agent out"},
		{"one desk on a file", "mode=desk desk.tokenSecret.name=t", "the store bolt is for one process"},
		{"one desk without a token", "mode=desk store.type=redis store.url=redis://redis", "mode is desk: set desk.tokenSecret.name"},
		{"a desk elsewhere, and a file", "upstream=http://a/ desk.elsewhere=true", "the store bolt is for one process"},
		{"a desk elsewhere, and here", "upstream=http://a/ store.type=redis store.url=redis://redis desk.elsewhere=true desk.tokenSecret.name=t", "desk.elsewhere is true, and there is a desk here too"},
		{"keys in a variable", "upstream=http://a/ config.HOLDPOINT_STORE_KEYS=a:b", "HOLDPOINT_STORE_KEYS is not set by config or extraEnv: set store.keysSecret"},
		{"a desk of no kind", "upstream=http://a/ desk.auth=none", "/desk/auth"},
		{"a variable of the desk", "upstream=http://a/ config.HOLDPOINT_DESK_LISTEN=:7082", "HOLDPOINT_DESK_LISTEN is not set by config or extraEnv: set desk.tokenSecret"},
		{"a variable of the webhook", "upstream=http://a/ config.HOLDPOINT_WEBHOOK_URL=https://x/", "HOLDPOINT_WEBHOOK_URL is not set by config or extraEnv: set webhook.urlSecret"},
		{"a variable of another value", "upstream=http://a/ config.HOLDPOINT_STORE=memory://", "HOLDPOINT_STORE is not set by config or extraEnv: set store"},
		{"the same in extraEnv", "upstream=http://a/ extraEnv[0].name=HOLDPOINT_DRAIN_DELAY", "set drainDelaySeconds"},
		{"a variable twice", "upstream=http://a/ config.HOLDPOINT_NAME=a extraEnv[0].name=HOLDPOINT_NAME", "HOLDPOINT_NAME is in config and in extraEnv"},
		{"a variable of somebody else", "upstream=http://a/ config.PATH=/", "'PATH' does not match"},
		{"a volume of the chart", "upstream=http://a/ extraVolumes[0].name=state", "the chart has a volume state of its own"},
		{"a volume with the chart's Secrets", "upstream=http://a/ store.keysSecret.name=k extraVolumes[0].name=secrets", "the chart has a volume secrets of its own"},
		{"a volume twice", "upstream=http://a/ extraVolumes[0].name=a extraVolumes[1].name=a", "extraVolumes has the name a twice"},
		{"a volume without a name", "upstream=http://a/ extraVolumes[0].secret.secretName=a", "/extraVolumes/0"},
		{"a mount of no volume", "upstream=http://a/ extraVolumeMounts[0].name=tls extraVolumeMounts[0].mountPath=/tls", "extraVolumeMounts: tls is not in extraVolumes"},
		{"a mount without a path", "upstream=http://a/ extraVolumes[0].name=tls extraVolumeMounts[0].name=tls", "/extraVolumeMounts/0"},
		{"a mount over the chart's", "upstream=http://a/ extraVolumes[0].name=tls extraVolumeMounts[0].name=tls extraVolumeMounts[0].mountPath=/etc/holdpoint/secrets/tls", "something is mounted at /etc/holdpoint/secrets/tls already"},
		{"a mount over another", "upstream=http://a/ extraVolumes[0].name=tls extraVolumeMounts[0].name=tls extraVolumeMounts[0].mountPath=/tls extraVolumeMounts[1].name=tls extraVolumeMounts[1].mountPath=/tls/", "something is mounted at /tls/ already"},
		{"variables of nothing", "upstream=http://a/ extraEnvFrom[0].prefix=x", "/extraEnvFrom/0"},
		{"a value that is not there", "upstream=http://a/ replica=2", "replica"},
		{"a store that is not there", "upstream=http://a/ store.type=sqlite", "/store/type"},
		{"a wrong number", "upstream=http://a/ replicas=two", "/replicas"},
		{"an address without a scheme", "upstream=agent:8000", "/upstream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, err := run(t, "HELM", template(strings.Fields(tt.values))...)
			if err == nil || !strings.Contains(stderr, tt.want) {
				t.Errorf("helm said %v: %s\nwant %q", err, stderr, tt.want)
			}
		})
	}
}

// TestSidecarOfTheChart: the chart's form with a sidecar must render for Kubernetes 1.29, the first
// version with native sidecars. Values that the user sets for the agent's container must be kept.
func TestSidecarOfTheChart(t *testing.T) {
	const sidecar = "mode=sidecar agent.image=x"
	own := sidecar + " agent.lifecycle.preStop.exec.command={sleep,25} agent.readinessProbe.exec.command={ready}"
	for _, tt := range []struct {
		version, values string
		own             bool
	}{
		{"1.29.9-gke.100", sidecar, false},
		{"1.37.0", sidecar, false},
		{"1.37.0", own, true},
	} {
		stdout, stderr, err := run(t, "HELM", append(template(strings.Fields(tt.values)), "--kube-version", tt.version)...)
		if err != nil {
			t.Errorf("%s on %s: %v\n%s", tt.values, tt.version, err, stderr)
		}
		for _, ours := range []string{"path: /drained", "path: /agentz"} {
			if strings.Contains(stdout, ours) == tt.own {
				t.Errorf("%s on %s: %q in it: %v", tt.values, tt.version, ours, tt.own)
			}
		}
		if strings.Contains(stdout, "sleep:") {
			t.Errorf("%s on %s has a hook that only 1.30 knows", tt.values, tt.version)
		}
	}
}

// TestIDsOfTheChart: the user can set the user and group ids of the pods, or set them to null. If
// they are null, the chart must leave them out, because OpenShift chooses the ids for each
// namespace itself.
func TestIDsOfTheChart(t *testing.T) {
	for values, want := range map[string][3]int{
		"": {65532, 65532, 65532},
		"runAsUser=null runAsGroup=null fsGroup=null":          {},
		"runAsUser=1000680000 runAsGroup=0 fsGroup=1000680000": {1000680000, 0, 1000680000},
	} {
		for _, mode := range []string{"upstream=http://a/", "mode=sidecar agent.image=x"} {
			text := must(t, "HELM", template(strings.Fields(mode+" "+values))...)
			for _, o := range parse(t, text) {
				if o["kind"] != "Deployment" {
					continue
				}
				p := as[deployment](t, o).Spec.Template.Spec
				h := append(p.InitContainers, p.Containers...)[0]
				if got := [3]int{h.SecurityContext.RunAsUser, h.SecurityContext.RunAsGroup, p.SecurityContext.FSGroup}; got != want {
					t.Errorf("%s %s: user, group, group of volumes %v, want %v", mode, values, got, want)
				}
				if strings.Contains(text, "runAsUser") != strings.Contains(strings.ReplaceAll(values, "null", ""), "runAsUser=1") && values != "" {
					t.Errorf("%s %s: it names a user, or none, against what was said", mode, values)
				}
			}
		}
	}
}

// TestDrainTimesOfTheChart: the chart derives the drain delay and the drain timeout from the pod's
// grace period. The two together must take the whole grace period except 5 seconds. A delay that
// the user sets must be kept.
func TestDrainTimesOfTheChart(t *testing.T) {
	for _, tt := range []struct{ values, delay, timeout string }{
		{"", "5s", "20s"},
		{"terminationGracePeriodSeconds=610", "5s", "600s"},
		{"terminationGracePeriodSeconds=15", "2s", "8s"},
		{"terminationGracePeriodSeconds=7", "0s", "2s"},
		{"terminationGracePeriodSeconds=610 drainDelaySeconds=10", "10s", "595s"},
		{"drainDelaySeconds=0", "0s", "25s"},
	} {
		text := must(t, "HELM", template(append([]string{"upstream=http://a/"}, strings.Fields(tt.values)...))...)
		for name, want := range map[string]string{"HOLDPOINT_DRAIN_DELAY": tt.delay, "HOLDPOINT_DRAIN_TIMEOUT": tt.timeout} {
			if !regexp.MustCompile("name: " + name + `\n\s*value: "` + want + `"`).MatchString(text) {
				t.Errorf("%q: %s is not %s", tt.values, name, want)
			}
		}
	}
}

// These types have the parts of a Deployment and its pods that the tests read.
type (
	pod struct {
		AutomountServiceAccountToken, EnableServiceLinks *bool
		TerminationGracePeriodSeconds                    *int
		SecurityContext                                  security
		InitContainers, Containers                       []container
		Volumes                                          []volume
	}
	volume struct {
		Name                  string
		PersistentVolumeClaim *struct{ ClaimName string }
		Secret                *struct{ SecretName string }
	}
	mount struct {
		Name, MountPath string
		ReadOnly        bool
	}
	container struct {
		Name, Image, RestartPolicy                  string
		Args                                        []string
		Env                                         []variable
		EnvFrom                                     []any
		Ports                                       []struct{ ContainerPort int }
		StartupProbe, ReadinessProbe, LivenessProbe *probe
		Lifecycle                                   struct {
			PreStop *struct {
				Exec    struct{ Command []string }
				HTTPGet get
			}
		}
		Resources       struct{ Limits map[string]string }
		SecurityContext security
		VolumeMounts    []mount
	}
	get struct {
		Path, Scheme string
		Port         any // a name, or a number
	}
	probe struct {
		HTTPGet                                         get
		PeriodSeconds, TimeoutSeconds, FailureThreshold int
	}
	variable struct {
		Name, Value string
		ValueFrom   any
	}
	security struct {
		RunAsNonRoot, ReadOnlyRootFilesystem, AllowPrivilegeEscalation *bool
		RunAsUser, RunAsGroup, FSGroup                                 int
		SeccompProfile                                                 struct{ Type string }
		Capabilities                                                   struct{ Drop, Add []string }
	}
	deployment struct {
		Metadata struct{ Name string }
		Spec     struct {
			Replicas int
			Strategy struct{ Type string }
			Selector struct{ MatchLabels map[string]string }
			Template struct {
				Metadata struct{ Labels map[string]string }
				Spec     pod
			}
		}
	}
)

// is reports whether the optional value p is set, and equals want.
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// environment returns the variables of a container, as a map from name to value.
func (c container) environment() map[string]string {
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = v.Value
	}
	return env
}

// volumeOf returns the volume that has the file at path in the container c. It returns nil if no
// mount of the container has it.
func (p *pod) volumeOf(c *container, path string) *volume {
	for _, m := range c.VolumeMounts {
		at := slices.IndexFunc(p.Volumes, func(v volume) bool { return v.Name == m.Name })
		if at >= 0 && strings.HasPrefix(path, m.MountPath+"/") {
			return &p.Volumes[at]
		}
	}
	return nil
}

// within reports whether labels contains all labels of selector. An empty selector matches nothing.
func within(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// TestPods: each pod with Holdpoint must be restricted, have the probes and end within its grace
// period. The objects that refer to the pod must match it.
func TestPods(t *testing.T) {
	for name, text := range manifests(t) {
		t.Run(name, func(t *testing.T) {
			objects := parse(t, text)
			found := 0
			for _, o := range objects {
				if o["kind"] != "Deployment" {
					continue
				}
				d := as[deployment](t, o)
				found += checkPod(t, d)
				checkAround(t, d, objects)
			}
			if found == 0 && name != filepath.FromSlash("kubernetes/gateway/istio.yaml") {
				t.Error("no Holdpoint in it")
			}
		})
	}
}

// checkPod checks the pods of a Deployment, and returns 1 if they contain Holdpoint, else 0.
func checkPod(t *testing.T, d deployment) int {
	t.Helper()
	p := d.Spec.Template.Spec
	at := func(list []container) int {
		return slices.IndexFunc(list, func(c container) bool { return c.Name == "holdpoint" })
	}
	native := at(p.InitContainers) >= 0
	var h container
	switch {
	case native:
		h = p.InitContainers[at(p.InitContainers)]
	case at(p.Containers) >= 0:
		h = p.Containers[at(p.Containers)]
	default:
		return 0
	}
	env := h.environment()
	want := func(ok bool, what string) {
		if !ok {
			t.Errorf("%s: %s", d.Metadata.Name, what)
		}
	}
	want(is(p.EnableServiceLinks, false), "enableServiceLinks is not false")
	s := h.SecurityContext
	want(is(s.RunAsNonRoot, true) && s.RunAsUser == 65532, "it may run as root")
	want(is(s.ReadOnlyRootFilesystem, true), "its root file system can be written")
	want(is(s.AllowPrivilegeEscalation, false), "it may get more rights")
	want(slices.Equal(s.Capabilities.Drop, []string{"ALL"}) && s.Capabilities.Add == nil, "it has capabilities")
	want(s.SeccompProfile.Type == "RuntimeDefault" || p.SecurityContext.SeccompProfile.Type == "RuntimeDefault", "no seccomp profile")
	want(strings.Contains(h.Image, ":"+released(t)) || strings.Contains(h.Image, "@sha256:"), "the image is "+h.Image)

	want(env["HOLDPOINT_ADMIN_LISTEN"] == ":7081", "the kubelet cannot reach the admin listener")
	for _, one := range []struct {
		is   *probe
		path string
	}{{h.StartupProbe, "/startupz"}, {h.ReadinessProbe, "/readyz"}, {h.LivenessProbe, "/healthz"}} {
		want(one.is != nil && one.is.HTTPGet.Path == one.path && one.is.HTTPGet.Port == "admin", "no probe "+one.path)
	}
	// A probe may be answered late while the processor is busy, so it needs time and several tries.
	want(h.ReadinessProbe.TimeoutSeconds == 5 && h.ReadinessProbe.FailureThreshold == 3, "a slow answer makes it unready")
	want(h.LivenessProbe.TimeoutSeconds == 5 && h.LivenessProbe.FailureThreshold == 6, "a slow answer ends it")

	seconds := func(name string) int {
		v, err := time.ParseDuration(env[name])
		want(err == nil, name+" is "+env[name])
		return int(v.Seconds())
	}
	drain := seconds("HOLDPOINT_DRAIN_DELAY") + seconds("HOLDPOINT_DRAIN_TIMEOUT")
	want(p.TerminationGracePeriodSeconds != nil && *p.TerminationGracePeriodSeconds == drain+5,
		fmt.Sprintf("the drain takes %ds, and 5 for the end", drain))
	want(h.StartupProbe.PeriodSeconds == 1 && (env["HOLDPOINT_STORE"] != "bolt:///var/lib/holdpoint/state.db" || h.StartupProbe.FailureThreshold >= drain+5+25),
		fmt.Sprintf("it waits for the file as long as a pod before it may take to end, and has %ds", h.StartupProbe.FailureThreshold))
	want((h.RestartPolicy == "Always") == native, "restartPolicy is "+h.RestartPolicy)
	if beside := native || len(p.Containers) > 1; beside {
		want(h.Lifecycle.PreStop != nil && slices.Equal(h.Lifecycle.PreStop.Exec.Command, []string{"/holdpoint", "drain"}), "no drain before TERM")
		for _, c := range p.Containers {
			if c.Name == h.Name {
				continue
			}
			stop := c.Lifecycle.PreStop
			want(stop != nil && stop.HTTPGet.Path == "/drained" && stop.HTTPGet.Port == 7081.0, "the agent does not live as long as the streams")
			ready := c.ReadinessProbe
			want(ready != nil && ready.HTTPGet.Path == "/agentz" && ready.HTTPGet.Port == 7081.0, "the pod is ready before the agent")
			s := c.SecurityContext
			want(is(s.AllowPrivilegeEscalation, false) && slices.Equal(s.Capabilities.Drop, []string{"ALL"}) && s.Capabilities.Add == nil, "the agent is not restricted")
			want(is(p.SecurityContext.RunAsNonRoot, true) && p.SecurityContext.SeccompProfile.Type == "RuntimeDefault", "the pod is not restricted")
		}
		want(strings.HasPrefix(env["HOLDPOINT_UPSTREAM"], "http://127.0.0.1:"), "the agent beside it is asked at "+env["HOLDPOINT_UPSTREAM"])
		want(!strings.Contains(env["HOLDPOINT_TRUSTED_PEERS"], "127.0.0"), "the agent would be believed")
	}

	store, _, _ := strings.Cut(env["HOLDPOINT_STORE"], "://")
	want(d.Spec.Replicas <= 1 || !slices.Contains([]string{"", "memory", "bolt"}, store), "replicas do not share "+store)
	if store == "bolt" {
		want(d.Spec.Strategy.Type == "Recreate", "two pods would open one file")
		path := strings.TrimPrefix(env["HOLDPOINT_STORE"], "bolt://")
		state := p.volumeOf(&h, path)
		want(state != nil && state.PersistentVolumeClaim != nil, path+" is on no volume")
		want(p.SecurityContext.FSGroup == 65532, "it cannot write to its volume")
	}
	for name, path := range env {
		if strings.HasSuffix(name, "_FILE") || name == "HOLDPOINT_POLICY" {
			want(p.volumeOf(&h, path) != nil, name+" is "+path+", which is on no volume")
		}
	}
	var limit, memory int
	_, err := fmt.Sscanf(strings.Replace(h.Resources.Limits["memory"], "1Gi", "1024Mi", 1)+" "+env["GOMEMLIMIT"], "%dMi %dMiB", &limit, &memory)
	want(err == nil && memory < limit && memory > limit/2, "GOMEMLIMIT is "+env["GOMEMLIMIT"])
	checkConfiguration(t, env, h.Args...)
	return 1
}

// secret matches the names of variables whose values are secrets. A manifest must not contain these
// values.
var secret = regexp.MustCompile(`HOLDPOINT_(PRINCIPAL_KEY|STORE_KEYS|WEBHOOK_SECRET|DESK_TOKEN)$`)

// checkConfiguration runs `holdpoint check` with the variables. It makes the files that the cluster
// would mount.
func checkConfiguration(t *testing.T, env map[string]string, command ...string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), holdpoint, append([]string{"check"}, command...)...)
	signer := authority.New(t)
	certificate, key := signer.Certificate("agent")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		if secret.MatchString(name) && value != "" {
			t.Errorf("%s stands in the manifest", name)
		}
		if strings.HasSuffix(name, "_FILE") || name == "HOLDPOINT_POLICY" {
			value = filepath.Join(dir, name)
			content := strings.Repeat("k", 40)
			switch {
			case strings.HasSuffix(name, "_HEADERS_FILE"):
				content = "X-Key: " + content
			case name == "HOLDPOINT_STORE_KEYS_FILE":
				content = "a:" + base64.StdEncoding.EncodeToString(make([]byte, 32))
			case name == "HOLDPOINT_POLICY":
				content = `access: [{groups: [finance], agents: ["*"], rights: [decide]}]`
			case strings.HasSuffix(name, "_CA_FILE"):
				content = string(signer.PEM())
			case strings.HasSuffix(name, "_CERT_FILE"):
				content = string(certificate)
			case name == "HOLDPOINT_TLS_KEY_FILE", name == "HOLDPOINT_UPSTREAM_KEY_FILE":
				content = string(key)
			case name == "HOLDPOINT_WEBHOOK_SECRET_FILE":
				content = "whsec_" + content
			case name == "HOLDPOINT_WEBHOOK_TEMPLATE_FILE":
				recipe, err := os.ReadFile("webhook/slack.json.tmpl")
				if err != nil {
					t.Fatal(err)
				}
				content = string(recipe)
			}
			if err := os.WriteFile(value, []byte(content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if path, ok := strings.CutPrefix(value, "bolt://"); ok {
			value = "bolt://" + filepath.ToSlash(filepath.Join(dir, filepath.Base(path)))
		}
		if name == "HOLDPOINT_WEBHOOK_URL" {
			if value != "" {
				t.Error("the webhook's address stands in the manifest")
			}
			value = "https://hooks.example.com/" // in the cluster it comes from the Secret
		}
		if value != "" { // other variables with valueFrom have no value here
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("holdpoint check: %v\n%s", err, out)
	}
}

// checkAround checks the objects around a Deployment. Their selectors must match its pods, and the
// ports that they name must be ports of these pods. The port of a native sidecar must be given by
// number, because Kubernetes cannot always find it by name (kubernetes/kubernetes#127958,
// projectcalico/calico#8881).
func checkAround(t *testing.T, d deployment, objects []object) {
	t.Helper()
	labels, ports := d.Spec.Template.Metadata.Labels, map[any]bool{}
	for _, c := range slices.Concat(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers) {
		for _, p := range c.Ports {
			ports[float64(p.ContainerPort)] = true
		}
	}
	if !within(d.Spec.Selector.MatchLabels, labels) {
		t.Errorf("%s selects other pods than its own", d.Metadata.Name)
	}
	budgets := 0
	for _, o := range objects {
		switch o["kind"] {
		case "Service":
			s := as[struct {
				Spec struct {
					Selector map[string]string
					Ports    []struct{ TargetPort any }
				}
			}](t, o)
			for _, p := range s.Spec.Ports {
				if within(s.Spec.Selector, labels) && !ports[p.TargetPort] {
					t.Errorf("a Service leads to port %v, which nobody of %s opens", p.TargetPort, d.Metadata.Name)
				}
			}
		case "NetworkPolicy":
			n := as[struct {
				Spec struct {
					PodSelector struct{ MatchLabels map[string]string }
					Ingress     []struct{ Ports []struct{ Port any } }
				}
			}](t, o)
			for _, rule := range n.Spec.Ingress {
				if len(rule.Ports) == 0 {
					t.Error("a NetworkPolicy opens every port")
				}
				for _, p := range rule.Ports {
					if within(n.Spec.PodSelector.MatchLabels, labels) && !ports[p.Port] {
						t.Errorf("a NetworkPolicy opens port %v, which nobody of %s opens", p.Port, d.Metadata.Name)
					}
				}
			}
		case "PodDisruptionBudget":
			b := as[struct {
				Spec struct {
					Selector struct{ MatchLabels map[string]string }
				}
			}](t, o)
			if within(b.Spec.Selector.MatchLabels, labels) {
				budgets++
			}
		}
	}
	scales := slices.ContainsFunc(objects, func(o object) bool { return o["kind"] == "HorizontalPodAutoscaler" })
	if d.Metadata.Name != "oauth2-proxy" && d.Metadata.Name != "agent" && (budgets > 0) != (scales || d.Spec.Replicas > 1) {
		t.Errorf("%s has %d replicas and %d disruption budgets", d.Metadata.Name, d.Spec.Replicas, budgets)
	}
}

// TestVersions: the chart and the Kustomize component must name the newest version of CHANGELOG.md.
func TestVersions(t *testing.T) {
	version := released(t)
	for path, want := range map[string]string{
		"helm/holdpoint/Chart.yaml":            "appVersion: " + version,
		"kustomize/sidecar/kustomization.yaml": "ref=v" + version,
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}
