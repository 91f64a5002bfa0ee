//go:build kube && linux

package kube

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/test/pages"
)

// A documented is a block of commands in the documentation that uses kubectl or helm. The field
// block is a part of its text, by which the test finds the block. The test runs the block in a
// restricted namespace. There the pods must start, and a question must be asked and answered. The
// field then lists the blocks that a reader would run afterwards.
type documented struct {
	name, block         string
	before              func(s *space) // prepares what the page requires
	deployment, service string
	then                []later
}

// A later is a block that the reader runs after another one. check, if it is not nil, checks the
// result.
type later struct {
	block string
	check func(s *space, url string)
}

var commands = []documented{
	{name: "Sidecar", block: "deploy/kubernetes/sidecar.yaml | kubectl apply", deployment: "agent", service: "agent"},
	{name: "Container", block: "deploy/kubernetes/container.yaml | kubectl apply", deployment: "agent", service: "agent"},
	{
		name: "Gateway", block: "kubectl kustomize deploy/kubernetes/gateway |", deployment: "holdpoint", service: "holdpoint",
		before: func(s *space) {
			s.agent()
			s.redis("redis", "secret")
			s.kubectl("create", "secret", "generic", "holdpoint-store", "--from-literal=password=secret")
		},
		then: []later{
			{"kubectl set image deployment/holdpoint", func(s *space, url string) { s.image("deployments/holdpoint", "registry.example.com/holdpoint:2") }},
			{"kubectl exec deployment/holdpoint -c holdpoint -- /holdpoint reload", nil},
		},
	},
	{
		name: "Helm", block: "helm install chat deploy/helm/holdpoint --set upstream=", deployment: "chat-holdpoint", service: "chat-holdpoint",
		before: func(s *space) { s.agent() },
		then: []later{
			{"helm upgrade chat", func(s *space, url string) { s.image("deployments/chat-holdpoint", "holdpoint:2") }},
		},
	},
	{name: "HelmSidecar", block: "helm install chat deploy/helm/holdpoint --set mode=sidecar", deployment: "chat-holdpoint", service: "chat-holdpoint"},
	{name: "Kustomize", block: "kubectl apply -k deploy/kustomize/example", deployment: "agent", service: "agent", before: func(s *space) { s.redis("redis", "") }},
}

// image checks that the Deployment uses the image with the name.
func (s *space) image(deployment, name string) {
	s.t.Helper()
	if d := encode(s.t, get[object](s, "apis/apps/v1:"+deployment)["spec"]); !strings.Contains(d, name+`"`) {
		s.t.Errorf("%s has not the image %s: %s", deployment, name, d)
	}
}

// kubectlOrHelm matches a line with a command of kubectl or helm, which needs a cluster.
var kubectlOrHelm = regexp.MustCompile(`(?m)(^|\| *)(kubectl|helm) `)

// blocks returns each block of the documentation that uses kubectl or helm. The key is the text of
// the block, and the value names its page. A block is left out if a comment on the page names
// another test that runs it, or a reason why no test runs it.
func blocks(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, root := range []string{"README.md", "docs", "deploy"} {
		err := filepath.WalkDir(filepath.Join(checkout, root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, b := range pages.Blocks(string(text)) {
				page := strings.TrimPrefix(path, checkout+"/")
				elsewhere := b.Reason != "" || strings.HasPrefix(b.Runs, "deploy/kube: ") && !strings.HasSuffix(b.Runs, "TestDocumentedCommands")
				if page != "docs/kubernetes.md" && page != "docs/operations.md" { // for other pages a test without a cluster is enough
					elsewhere = elsewhere || b.Runs != ""
				}
				if (b.Language == "" || b.Language == "sh") && !elsewhere && kubectlOrHelm.MatchString(b.Text) {
					found[b.Text] = page
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestDocumentedCommands runs each block of commands that the documentation has for a cluster,
// exactly as it is written.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	all := blocks(t)
	if len(all) < 10 {
		t.Fatalf("%d blocks of commands", len(all))
	}
	find := func(part string) []string {
		var list []string
		for block := range all {
			if strings.Contains(block, part) {
				list = append(list, block)
			}
		}
		return list
	}
	claimed := map[string]bool{}
	var summary = &space{t: t, began: time.Now()}
	t.Cleanup(func() { took(t, summary) })
	for _, c := range commands {
		list := find(c.block)
		if len(list) == 0 {
			t.Errorf("no page has %q any more", c.block)
		}
		var after []string
		for _, l := range c.then {
			found := find(l.block)
			if len(found) != 1 {
				t.Errorf("%d blocks have %q", len(found), l.block)
				return
			}
			after = append(after, found[0])
			claimed[found[0]] = true
		}
		for i, block := range list {
			claimed[block] = true
			summary.note("%s: %s", all[block], strings.SplitN(block, "\n", 2)[0])
			t.Run(fmt.Sprintf("%s%d", c.name, i), func(t *testing.T) {
				t.Parallel()
				s := namespace(t, t.Name())
				if c.before != nil {
					c.before(s)
				}
				s.shell(block)
				s.rollout("deployment/" + c.deployment)
				url := s.service(c.service)
				yes(t, url, s.name, question(t, url, s.name, "ask cake"))
				for i, command := range after {
					s.shell(command)
					s.rollout("deployment/" + c.deployment)
					if check := c.then[i].check; check != nil {
						check(s, url)
					}
					s.until("runs are answered", func() bool { return say(url, s.name+"-after", "hello").wait().result() == "" })
					thread := fmt.Sprintf("%s-%d", s.name, i)
					yes(t, url, thread, question(t, url, thread, "ask cake"))
				}
			})
		}
	}
	for block, page := range all {
		if !claimed[block] {
			t.Errorf("%s: no scene runs this:\n%s", page, block)
		}
	}
}

// TestReplicasOfTheChart: docs/operations.md says what to add to the installation of the chart for
// three replicas. With these additions, three replicas must be ready, and a question must be
// answered.
func TestReplicasOfTheChart(t *testing.T) {
	s := scene(t)
	page, err := os.ReadFile(filepath.Join(checkout, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "<!-- replicas of the chart -->")
	if len(parts) != 3 {
		t.Fatal("docs/operations.md does not say what to add for replicas")
	}
	_, additions, _ := strings.Cut(parts[1], "`")
	additions, _, _ = strings.Cut(additions, "`")
	s.agent()
	s.redis("redis", "")
	s.helm(append([]string{"install", "chat", "deploy/helm/holdpoint", "--set", "upstream=http://agent:8000/", "--set", "image.repository=registry.example.com/holdpoint", "--set-string", "image.tag=1"}, strings.Fields(additions)...)...)
	s.rollout("deployment/chat-holdpoint")
	url := s.service("chat-holdpoint")
	if n := len(s.readyPods("app.kubernetes.io/instance=chat")); n != 3 {
		t.Errorf("%d replicas", n)
	}
	yes(t, url, "replicas", question(t, url, "replicas", "ask cake"))
}

// TestChartOutlivesUninstall: helm uninstall must not delete the volume. The next installation must
// still know the open question.
func TestChartOutlivesUninstall(t *testing.T) {
	s := scene(t)
	s.agent()
	install := []string{"install", "chat", "deploy/helm/holdpoint", "--set", "upstream=http://agent:8000/", "--set", "image.repository=registry.example.com/holdpoint", "--set-string", "image.tag=1"}
	s.helm(install...)
	s.rollout("deployment/chat-holdpoint")
	url := s.service("chat-holdpoint")
	id := question(t, url, "outlives", "ask cake")
	s.helm("uninstall", "chat", "--wait")
	s.helm(install...)
	s.rollout("deployment/chat-holdpoint")
	yes(t, s.service("chat-holdpoint"), "outlives", id)
}

// TestDeskOfTheManifests runs the commands in the comment at the beginning of
// deploy/kubernetes/desk/kustomization.yaml. Then the desk, reached through kubectl port-forward,
// must show a question.
func TestDeskOfTheManifests(t *testing.T) {
	s := scene(t)
	s.agent()
	s.redis("redis", "secret")
	s.kubectl("create", "secret", "generic", "holdpoint-store", "--from-literal=password=secret")
	text, err := os.ReadFile("../kubernetes/desk/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var forward *exec.Cmd
	for _, m := range regexp.MustCompile(`(?m)^#   (kubectl .*)$`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(m[1], "port-forward") {
			s.shell(m[1])
			continue
		}
		s.rollout("deployment/holdpoint")
		s.rollout("deployment/holdpoint-desk")
		forward = exec.CommandContext(t.Context(), "bash", "-c", "exec "+m[1])
		forward.Env = append(os.Environ(), "KUBECONFIG="+s.config)
		if err := forward.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { forward.Process.Kill(); forward.Wait() })
	}
	if forward == nil {
		t.Fatal("no port-forward at the head of the file")
	}
	question(t, s.service("holdpoint"), "desk", "ask pudding")
	token := s.shell("kubectl get secret holdpoint-desk -o jsonpath={.data.token} | base64 -d")
	s.until("the desk shows the question", func() bool {
		out, err := s.command("", "curl", "-sf", "-H", "Authorization: Bearer "+token, "http://127.0.0.1:7082/v1/approvals")
		return err == nil && strings.Contains(out, "pudding")
	})
}

// TestAPIServerTakesAll: the API server must accept each file, each kustomization and each form of
// the chart without a warning. The test uses a server-side dry run in a restricted namespace.
func TestAPIServerTakesAll(t *testing.T) {
	s := scene(t)
	s.crds()
	taken, left := 0, 0
	try := func(name string, list []object) {
		var own []object
		made := map[any]bool{} // namespaces in list, which a dry run does not make
		for _, o := range list {
			if o["kind"] == "Namespace" {
				made[o["metadata"].(object)["name"]] = true
			}
		}
		for _, o := range list {
			if m := o["metadata"].(object); made[m["namespace"]] {
				m["namespace"] = s.name
			}
			if group, _, _ := strings.Cut(o["apiVersion"].(string), "/"); slices.Contains([]string{"security.istio.io", "cert-manager.io"}, group) {
				left++ // kinds of meshes and operators, which are not on the node
				continue
			}
			// Another scene may be using the namespaces that the manifests name. So the test gives
			// the objects namespaces of its own.
			if meta := o["metadata"].(object); o["kind"] == "Namespace" {
				meta["name"] = s.name + "-other"
			} else if meta["namespace"] != nil {
				meta["namespace"] = s.name
			}
			own = append(own, o)
		}
		if len(own) == 0 {
			return
		}
		out, err := s.command(encode(t, object{"apiVersion": "v1", "kind": "List", "items": own}), "kubectl", "apply", "--dry-run=server", "-f", "-")
		if err != nil || strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		taken += len(own)
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && d.Name() == "helm":
			return fs.SkipDir
		case d.Name() == "kustomization.yaml":
			text, _ := os.ReadFile(path)
			if strings.Contains(string(text), "kind: Component") {
				return nil // it is only part of other kustomizations
			}
			try(filepath.Dir(path), parse(t, s.kubectl("kustomize", filepath.Join("deploy", strings.TrimPrefix(filepath.Dir(path), "../")))))
		case filepath.Dir(path) == "../kubernetes" && filepath.Ext(path) == ".yaml":
			try(path, manifest(t, strings.TrimPrefix(path, "../")))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../testdata/charts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range parse(t, string(text))[0] {
		args := []string{"template", "try", "deploy/helm/holdpoint", "--namespace", s.name}
		for _, v := range values.([]any) {
			if !strings.HasPrefix(v.(string), "--") {
				args = append(args, "--set")
			}
			args = append(args, v.(string))
		}
		try("chart: "+name, parse(t, s.helm(args...)))
	}
	s.note("%d objects; left out: %d of Istio and of cert-manager", taken, left)
}

// TestProbesAndPorts checks which ports of a pod can be reached. The admin port must answer probes
// from outside the pod, but accept a drain only from inside. The agent's port must not be reachable
// from outside.
func TestProbesAndPorts(t *testing.T) {
	s := scene(t)
	s.install("kubernetes/sidecar.yaml")
	p := s.readyPods(agentLabel)[0]
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/startupz": 200, "/agentz": 200} {
		resp, err := http.Get("http://" + p.Status.PodIP + ":7081" + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	resp, err := http.Post("http://"+p.Status.PodIP+":7081/drain", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a drain from another address: %s", resp.Status)
	}
	if resp, err := http.Get("http://" + p.Status.PodIP + ":8000/healthz"); err == nil {
		resp.Body.Close()
		t.Error("the agent is reached from outside its pod")
	}
	for _, command := range [][]string{{"check"}, {"version"}, {"healthcheck", "ready"}, {"doctor", "http://127.0.0.1:8000/"}} {
		s.kubectl(append([]string{"exec", p.Metadata.Name, "-c", "holdpoint", "--", "/holdpoint"}, command...)...)
	}
}
