//go:build deploy

package deploy

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/test/authority"
)

// injectors returns the manifests of both forms of the injector. The keys are the folders below
// deploy.
func injectors(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range []string{"kubernetes/injector", "kubernetes/injector-cert-manager"} {
		all[folder] = must(t, "KUSTOMIZE", "build", folder)
	}
	return all
}

// rights are the rules of a Role or a ClusterRole.
type rights struct {
	Rules []struct{ APIGroups, Resources, ResourceNames, Verbs []string }
}

// TestInjectorManifests: the pods of the injector must be restricted, and one pod must keep running
// while a node is drained. The webhook must get only pods of namespaces with the label, and never
// the injector's own pods. The injector must have exactly the rights that it needs to make its
// certificate. If cert-manager makes the certificate, the injector must have no rights.
func TestInjectorManifests(t *testing.T) {
	for name, text := range injectors(t) {
		t.Run(name, func(t *testing.T) {
			own := name == "kubernetes/injector"
			objects := parse(t, text)
			var kinds []string
			for _, o := range objects {
				kinds = append(kinds, o["kind"].(string))
				switch o["kind"] {
				case "Deployment":
					checkInjector(t, as[deployment](t, o), own)
					checkAround(t, as[deployment](t, o), withNumbers(objects))
				case "MutatingWebhookConfiguration":
					checkWebhook(t, o, own)
				case "Namespace":
					labels := as[struct {
						Metadata struct{ Labels map[string]string }
					}](t, o).Metadata.Labels
					if labels["holdpoint/inject"] != "" || labels["pod-security.kubernetes.io/enforce"] != "restricted" {
						t.Errorf("the namespace has %v", labels)
					}
				case "ValidatingAdmissionPolicy":
					if text := string(marshal(t, o)); !strings.Contains(text, `"failurePolicy":"Fail"`) || !strings.Contains(text, `'holdpoint/agent'`) {
						t.Errorf("the policy is %s", text)
					}
				case "ValidatingAdmissionPolicyBinding":
					if text := string(marshal(t, o)); !strings.Contains(text, `{"policyName":"holdpoint-injector","validationActions":["Deny"]}`) {
						t.Errorf("the policy is bound by %s", text)
					}
				case "Role", "ClusterRole":
					for _, rule := range as[rights](t, o).Rules {
						if !slices.Equal(rule.ResourceNames, []string{"holdpoint-injector"}) || slices.Contains(slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups), "*") {
							t.Errorf("%s allows %+v", o["kind"], rule)
						}
					}
				}
			}
			want := strings.Fields("ClusterRole ClusterRoleBinding Role RoleBinding Secret")
			if !own {
				want = strings.Fields("Certificate Issuer")
			}
			for _, kind := range strings.Fields("Certificate ClusterRole ClusterRoleBinding Issuer Role RoleBinding Secret") {
				if slices.Contains(kinds, kind) != slices.Contains(want, kind) {
					t.Errorf("it has %q, want of these %q", kinds, want)
				}
			}
		})
	}
}

// withNumbers returns the objects with the number of the webhook's port in place of its name.
// checkAround demands a number, because the port of a native sidecar cannot always be found by
// name. The port of the injector, which is a plain container, can be found by name.
func withNumbers(objects []object) []object {
	var list []object
	for _, o := range objects {
		if o["kind"] == "Service" {
			o["spec"].(object)["ports"].([]any)[0].(object)["targetPort"] = 8443.0
		}
		list = append(list, o)
	}
	return list
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func checkInjector(t *testing.T, d deployment, own bool) {
	t.Helper()
	p := d.Spec.Template.Spec
	c := p.Containers[0]
	env := c.environment()
	for what, ok := range map[string]bool{
		"two replicas":           d.Spec.Replicas == 2,
		"a user without rights":  is(c.SecurityContext.RunAsNonRoot, true) && c.SecurityContext.RunAsUser == 65532 && is(p.SecurityContext.RunAsNonRoot, true),
		"a read-only root":       is(c.SecurityContext.ReadOnlyRootFilesystem, true),
		"no more rights":         is(c.SecurityContext.AllowPrivilegeEscalation, false) && slices.Equal(c.SecurityContext.Capabilities.Drop, []string{"ALL"}),
		"a seccomp profile":      p.SecurityContext.SeccompProfile.Type == "RuntimeDefault",
		"a token where it asks":  is(p.AutomountServiceAccountToken, own),
		"no variables injected":  is(p.EnableServiceLinks, false),
		"time to end":            *p.TerminationGracePeriodSeconds >= 20,
		"its own image injected": env["HOLDPOINT_INJECT_IMAGE"] == c.Image && strings.HasSuffix(c.Image, ":"+released(t)),
		"probes":                 c.ReadinessProbe.HTTPGet.Path == "/readyz" && c.LivenessProbe.HTTPGet.Path == "/healthz",
	} {
		if !ok {
			t.Errorf("the injector lacks %s", what)
		}
	}
	cmd := exec.CommandContext(t.Context(), holdpoint, "check", "inject")
	folder := authority.NewFolder(t)
	folder.Issue(authority.New(t), "holdpoint-injector.holdpoint.svc")
	for name, value := range env {
		if strings.HasSuffix(name, "_FILE") {
			value = folder.Path(filepath.Base(value))
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "makes its certificate itself") != own {
		t.Errorf("holdpoint check inject: %v\n%s", err, out)
	}
}

func checkWebhook(t *testing.T, o object, own bool) {
	t.Helper()
	w := as[struct {
		Metadata struct{ Annotations map[string]string }
		Webhooks []struct {
			AdmissionReviewVersions                                     []string
			SideEffects, FailurePolicy, MatchPolicy, ReinvocationPolicy string
			TimeoutSeconds                                              int
			NamespaceSelector                                           struct{ MatchLabels map[string]string }
			ObjectSelector                                              struct {
				MatchExpressions []struct {
					Key, Operator string
					Values        []string
				}
			}
			Rules        []struct{ APIGroups, APIVersions, Resources, Operations []string }
			ClientConfig struct {
				Service struct {
					Name, Namespace, Path string
					Port                  int
				}
				CABundle string
			}
		}
	}](t, o)
	h := w.Webhooks[0]
	service := h.ClientConfig.Service
	for what, ok := range map[string]bool{
		"one webhook":            len(w.Webhooks) == 1 && slices.Equal(h.AdmissionReviewVersions, []string{"v1"}),
		"the policies":           h.SideEffects == "None" && h.FailurePolicy == "Fail" && h.MatchPolicy == "Equivalent" && h.ReinvocationPolicy == "IfNeeded",
		"a short time":           h.TimeoutSeconds == 5,
		"namespaces that opt in": h.NamespaceSelector.MatchLabels["holdpoint/inject"] == "enabled" && len(h.NamespaceSelector.MatchLabels) == 1,
		"not its own pods":       h.ObjectSelector.MatchExpressions[0].Operator == "NotIn" && h.ObjectSelector.MatchExpressions[0].Values[0] == "holdpoint-injector",
		"new pods only":          len(h.Rules) == 1 && slices.Equal(h.Rules[0].Operations, []string{"CREATE"}) && slices.Equal(h.Rules[0].Resources, []string{"pods"}),
		"its Service":            service.Name == "holdpoint-injector" && service.Namespace == "holdpoint" && service.Path == "/inject" && service.Port == 443,
		"somebody's authority":   (w.Metadata.Annotations["cert-manager.io/inject-ca-from"] == "holdpoint/holdpoint-injector") != own && h.ClientConfig.CABundle == "",
	} {
		if !ok {
			t.Errorf("the webhook lacks %s: %+v", what, h)
		}
	}
}
