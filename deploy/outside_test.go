//go:build deploy

package deploy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	texts "text/template"
	"time"

	"holdpoint/internal/test/servers"
)

// additions returns the manifests that refer to a Holdpoint but do not contain one, such as an
// Ingress. The keys are the paths of the files.
func additions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"kubernetes/ingress/*.yaml", "kubernetes/scale/*.yaml", "kubernetes/start/*.yaml", "prometheus/prometheusrule.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			all[filepath.ToSlash(path)] = read(t, path)
		}
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAlertsAreTheSame: the chart and prometheusrule.yaml must have the same alert rules as
// rules.yaml.
func TestAlertsAreTheSame(t *testing.T) {
	const source = "prometheus/rules.yaml"
	if read(t, "helm/holdpoint/rules.yaml") != read(t, source) {
		t.Errorf("helm/holdpoint/rules.yaml is not a copy of %s", source)
	}
	want := parse(t, read(t, source))[0]["groups"]
	for name, text := range map[string]string{
		"prometheusrule.yaml": read(t, "prometheus/prometheusrule.yaml"),
		"the chart":           must(t, "HELM", template(charts["gateway from outside"])...),
	} {
		found := 0
		for _, o := range parse(t, text) {
			if o["kind"] == "PrometheusRule" {
				found++
				if got := o["spec"].(object)["groups"]; !reflect.DeepEqual(got, want) {
					t.Errorf("%s has other rules than %s", name, source)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s has %d PrometheusRules", name, found)
		}
	}
}

// TestOutsideLeadsToHoldpoint: each Ingress and HTTPRoute must lead to Holdpoint's Service and its
// port, and each autoscaler must scale Holdpoint's Deployment. The annotations, timeouts and
// triggers that the chart renders must equal those in the files of deploy/kubernetes.
func TestOutsideLeadsToHoldpoint(t *testing.T) {
	files := parse(t, must(t, "KUSTOMIZE", "build", "kubernetes/gateway"))
	for _, text := range additions(t) {
		files = append(files, parse(t, text)...)
	}
	chart := parse(t, must(t, "HELM", template(charts["gateway from outside"])...))
	seen := map[string][]any{}
	for name, objects := range map[string][]object{"holdpoint": files, "try-holdpoint": chart} {
		ports := map[any]bool{}
		for _, o := range objects {
			if o["kind"] == "Service" && o["metadata"].(object)["name"] == name {
				for _, p := range o["spec"].(object)["ports"].([]any) {
					ports[p.(object)["port"]] = true
				}
			}
		}
		if len(ports) != 1 {
			t.Fatalf("%s has the ports %v", name, ports)
		}
		for _, o := range objects {
			kind := o["kind"].(string)
			spec, _ := o["spec"].(object)
			switch kind {
			case "Ingress":
				b := as[struct {
					Rules []struct {
						Host string
						HTTP struct {
							Paths []struct {
								Backend struct {
									Service struct {
										Name string
										Port struct{ Number int }
									}
								}
							}
						}
					}
				}](t, spec).Rules[0]
				s := b.HTTP.Paths[0].Backend.Service
				if s.Name != name || !ports[s.Port.Number] || b.Host != "chat.example.com" {
					t.Errorf("%s of %s leads from %s to %s:%d", kind, name, b.Host, s.Name, s.Port.Number)
				}
				annotations, _ := o["metadata"].(object)["annotations"].(object)
				if spec["ingressClassName"] == "nginx" {
					seen["annotations"] = append(seen["annotations"], annotations)
				}
			case "HTTPRoute":
				rule := spec["rules"].([]any)[0].(object)
				to := rule["backendRefs"].([]any)[0].(object)
				if to["name"] != name || !ports[to["port"]] {
					t.Errorf("%s of %s leads to %v", kind, name, to)
				}
				seen["timeouts"] = append(seen["timeouts"], rule["timeouts"])
			case "HorizontalPodAutoscaler":
				if to := spec["scaleTargetRef"].(object); to["name"] != name || to["kind"] != "Deployment" {
					t.Errorf("%s of %s scales %v", kind, name, to)
				}
				seen["metrics"] = append(seen["metrics"], spec["metrics"])
				seen["behavior"] = append(seen["behavior"], spec["behavior"])
			case "ScaledObject":
				if to := spec["scaleTargetRef"].(object); to["name"] != name {
					t.Errorf("%s of %s scales %v", kind, name, to)
				}
				advanced := spec["advanced"].(object)["horizontalPodAutoscalerConfig"].(object)
				seen["behavior"] = append(seen["behavior"], advanced["behavior"])
			}
		}
	}
	for what, count := range map[string]int{"annotations": 2, "timeouts": 2, "metrics": 2, "behavior": 3} {
		list := seen[what]
		if len(list) != count {
			t.Fatalf("%s: %d of %d", what, len(list), count)
		}
		for _, other := range list[1:] {
			if !reflect.DeepEqual(list[0], other) {
				t.Errorf("%s differ: %v and %v", what, list[0], other)
			}
		}
	}
	if want := (object{"request": "0s", "backendRequest": "0s"}); !reflect.DeepEqual(seen["timeouts"][0], want) {
		t.Errorf("a stream ends after %v", seen["timeouts"][0])
	}
}

// TestReplicasByLoad: if an autoscaler scales a Deployment, the Deployment must not give a number
// of replicas, because each upgrade would reset the replicas to that number.
func TestReplicasByLoad(t *testing.T) {
	text := must(t, "HELM", template(charts["gateway from outside"])...)
	for _, o := range parse(t, text) {
		if o["kind"] == "Deployment" {
			if n, ok := o["spec"].(object)["replicas"]; ok {
				t.Errorf("it says %v replicas", n)
			}
		}
	}
	if !strings.Contains(text, "kind: PodDisruptionBudget") {
		t.Error("a drain of nodes may end all of its pods at once")
	}
}

// TestLoadAsScalersAskForIt: autoscalers read the load by the queries of prometheus-adapter's rule
// and of KEDA. The query of the adapter must return, for each pod, the sum over the pod's agents.
// The query of KEDA must return the sum over all pods. promtool evaluates both, after the test has
// expanded them as prometheus-adapter does.
func TestLoadAsScalersAskForIt(t *testing.T) {
	rule := as[struct {
		Rules struct {
			Custom []struct{ SeriesQuery, MetricsQuery string }
		}
	}](t, parse(t, read(t, "prometheus/adapter.yaml"))[0]).Rules.Custom[0]
	query, err := texts.New("").Delims("<<", ">>").Parse(rule.MetricsQuery)
	if err != nil {
		t.Fatal(err)
	}
	var adapter strings.Builder
	if err := query.Execute(&adapter, map[string]string{"Series": "holdpoint_runs_open", "LabelMatchers": `namespace="default",pod=~"holdpoint-a|holdpoint-b"`, "GroupBy": "pod"}); err != nil {
		t.Fatal(err)
	}
	keda := as[struct {
		Spec struct {
			Triggers []struct{ Metadata map[string]string }
		}
	}](t, parse(t, read(t, "kubernetes/scale/keda.yaml"))[0]).Spec.Triggers[0].Metadata["query"]
	file := filepath.Join(t.TempDir(), "test.yaml")
	text := fmt.Sprintf(`
tests:
  - interval: 1m
    input_series:
      - {series: 'holdpoint_runs_open{namespace="default",pod="holdpoint-a",agent="billing"}', values: '3'}
      - {series: 'holdpoint_runs_open{namespace="default",pod="holdpoint-a",agent="support"}', values: '4'}
      - {series: 'holdpoint_runs_open{namespace="default",pod="holdpoint-b",agent="billing"}', values: '5'}
      - {series: 'holdpoint_runs_open{namespace="other",pod="holdpoint-a",agent="billing"}', values: '9'}
      - {series: 'holdpoint_runs_open{job="one that no pod has"}', values: '9'}
    promql_expr_test:
      - {expr: %q, eval_time: 0m, exp_samples: [{labels: '{pod="holdpoint-a"}', value: 7}, {labels: '{pod="holdpoint-b"}', value: 5}]}
      - {expr: %q, eval_time: 0m, exp_samples: [{labels: '{}', value: 12}]}
      - {expr: %q, eval_time: 0m, exp_samples: [{labels: '{}', value: 4}]}
`, adapter.String(), keda, "count("+rule.SeriesQuery+")")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), servers.Promtool(t), "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// directives has annotations of ingress-nginx. For each of them, it has the directive that
// ingress-nginx writes into the nginx location of an Ingress, and the value that ingress-nginx uses
// if the annotation is missing.
var directives = map[string][2]string{
	"proxy-body-size":    {"client_max_body_size %s;", "1m"},
	"proxy-buffering":    {"proxy_buffering %s;", "off"},
	"proxy-read-timeout": {"proxy_read_timeout %ss;", "60"},
	"proxy-send-timeout": {"proxy_send_timeout %ss;", "60"},
}

// ingressNginx starts nginx in front of a Holdpoint. Its configuration has the directives that
// ingress-nginx would write for the annotations. ingressNginx returns a client whose requests go
// through this nginx.
func ingressNginx(t *testing.T, annotations map[string]string, holdpoint string) *http.Client {
	t.Helper()
	path := servers.NginxPath(t)
	dir, err := os.MkdirTemp("", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var location string
	known := 0
	for name, d := range directives {
		value, ok := annotations["nginx.ingress.kubernetes.io/"+name]
		if ok {
			known++
		} else {
			value = d[1]
		}
		location += fmt.Sprintf(d[0], value) + "\n"
	}
	if known != len(annotations) {
		t.Fatalf("nobody here knows some of the annotations %v", annotations)
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	config := fmt.Sprintf(`%s
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
	upstream upstream_balancer { server %s; keepalive 320; }
	server {
		listen unix:%s/s;
		location / {
			%s
			proxy_connect_timeout 5s; proxy_buffer_size 4k; proxy_buffers 4 4k; proxy_max_temp_file_size 1024m; proxy_request_buffering on;
			proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
			proxy_next_upstream error timeout; proxy_next_upstream_timeout 0; proxy_next_upstream_tries 3;
			proxy_redirect off; proxy_pass http://upstream_balancer;
		}
	}
}`, user, strings.TrimPrefix(holdpoint, "http://"), dir, location)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, "s"))
	}
	for range 400 {
		if c, err := dial(t.Context(), "", ""); err == nil {
			c.Close()
			return &http.Client{Transport: &http.Transport{DialContext: dial}}
		}
		time.Sleep(50 * time.Millisecond) // until nginx listens
	}
	t.Fatal("nginx does not listen")
	return nil
}

// TestIngressNginx: requests go through nginx with the directives for the annotations of the
// chart's Ingress. Each frame of a stream must arrive at once, and a request of 2 MB must be
// accepted. Without the annotations the frames still arrive at once, because Holdpoint switches the
// buffering off by a header, but the request of 2 MB is refused.
func TestIngressNginx(t *testing.T) {
	var annotations map[string]string
	for _, o := range parse(t, must(t, "HELM", template(charts["gateway from outside"])...)) {
		if o["kind"] == "Ingress" {
			annotations = as[struct {
				Metadata struct{ Annotations map[string]string }
			}](t, o).Metadata.Annotations
		}
	}
	if len(annotations) == 0 {
		t.Fatal("the chart's Ingress has no annotations")
	}
	heard := make(chan struct{}, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i, frame := range []string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"CUSTOM","name":"x","value":1}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`} {
			fmt.Fprintf(w, "data: %s\n\n", frame)
			w.(http.Flusher).Flush()
			if i == 2 {
				return
			}
			select { // the next frame is sent after the client has this one
			case <-heard:
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer agent.Close()
	address := start(t, map[string]string{"HOLDPOINT_UPSTREAM": agent.URL, "HOLDPOINT_LISTEN": "127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN": "off", "HOLDPOINT_DRAIN_DELAY": "0"})
	for _, tt := range []struct {
		name        string
		annotations map[string]string
		large       int
	}{
		{"with the annotations", annotations, http.StatusOK},
		{"without them", nil, http.StatusRequestEntityTooLarge},
		{"and with buffers", map[string]string{"nginx.ingress.kubernetes.io/proxy-buffering": "on"}, http.StatusRequestEntityTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := ingressNginx(t, tt.annotations, address)
			for kb, want := range map[int]int{1: http.StatusOK, 2000: tt.large} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				body := fmt.Sprintf(`{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":%q}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`, strings.Repeat("x", kb<<10))
				req, err := http.NewRequestWithContext(ctx, "POST", "http://chat.example.com/", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				res, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if res.StatusCode != want {
					t.Errorf("%d kB: %s, want %d", kb, res.Status, want)
				}
				if res.StatusCode != http.StatusOK {
					continue
				}
				frames := 0
				for lines := bufio.NewScanner(res.Body); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "data:") {
						if frames++; frames < 3 {
							heard <- struct{}{}
						}
					}
				}
				if frames != 3 {
					t.Errorf("%d kB: %d frames of 3 came", kb, frames)
				}
			}
		})
	}
}

// TestNotesOfTheChart: helm prints notes after an installation. They must say how to check two
// things that helm itself does not check: the StorageClass, and the metric that an autoscaler
// needs.
func TestNotesOfTheChart(t *testing.T) {
	for name, want := range map[string][]string{
		"gateway":              {"Questions are kept on the claim try-holdpoint. If it stays Pending", "kubectl -n agents get pvc try-holdpoint", "store.persistence.storageClassName must name one"},
		"gateway from outside": {"https://chat.example.com/ from outside", "/namespaces/agents/pods/*/holdpoint_runs_open"},
	} {
		args := append([]string{"install", "--dry-run=client"}, template(charts[name])[1:]...)
		_, notes, _ := strings.Cut(must(t, "HELM", args...), "NOTES:\n")
		for _, w := range want {
			if !strings.Contains(notes, w) {
				t.Errorf("%s: the notes lack %q:\n%s", name, w, notes)
			}
		}
	}
}
