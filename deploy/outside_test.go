//go:build deploy

package deploy

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// additions returns the manifests that go with those of deploy/kubernetes/gateway and have no pods,
// by their paths.
func additions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"kubernetes/ingress/*.yaml", "kubernetes/scale/*.yaml", "prometheus/prometheusrule.yaml"} {
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

// TestAlertsAreTheSame: the chart and the PrometheusRule have the rules of rules.yaml.
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

// TestOutsideLeadsToHoldpoint: what brings clients in names Holdpoint's Service and its port, what
// scales names its Deployment, and both of the chart are as the files beside it.
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

// TestReplicasByLoad: a Deployment that is scaled by its load says no number itself, or each
// upgrade would set it back.
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
