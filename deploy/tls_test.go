//go:build deploy

package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// TestTLSOfTheChart renders each form of the chart with the values of docs/limits.md for TLS. Only
// Holdpoint's container may have the certificate, and `holdpoint check` must accept its variables.
// The kubelet and Prometheus must still reach the admin listener without TLS. The notes must name
// an address with https.
func TestTLSOfTheChart(t *testing.T) {
	page, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	values := filepath.Join(t.TempDir(), "tls.yaml")
	for _, b := range pages.Blocks(string(page)) {
		_, text, is := strings.Cut(b.Text, "cat > tls.yaml <<'END'\n")
		if text, _, _ = strings.Cut(text, "END\n"); !is {
			continue
		}
		if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for mode, form := range map[string]string{
		"gateway": "upstream=http://agent:8000/ serviceMonitor.enabled=true",
		"sidecar": "mode=sidecar agent.image=registry.example.com/agent:1 serviceMonitor.enabled=true",
		"desk":    "mode=desk store.type=redis store.url=redis://redis desk.tokenSecret.name=desk serviceMonitor.enabled=true",
	} {
		t.Run(mode, func(t *testing.T) {
			args := append(template(strings.Fields(form)), "--values", values)
			for _, o := range parse(t, must(t, "HELM", args...)) {
				switch o["kind"] {
				case "Deployment":
					d := as[deployment](t, o)
					if checkPod(t, d) != 1 {
						t.Error("no Holdpoint in it")
					}
					p := d.Spec.Template.Spec
					for _, c := range slices.Concat(p.InitContainers, p.Containers) {
						file := c.environment()["HOLDPOINT_TLS_KEY_FILE"]
						v := p.volumeOf(&c, "/tls/tls.key")
						if has := c.Name == "holdpoint"; has != (file == "/tls/tls.key") || has != (v != nil && v.Secret != nil && v.Secret.SecretName == "chat-tls") {
							t.Errorf("the container %s has the key %q on the volume %v", c.Name, file, v)
						}
						for _, one := range []*probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
							if one != nil && one.HTTPGet.Scheme != "" {
								t.Errorf("%s: a probe of the admin listener uses %s", c.Name, one.HTTPGet.Scheme)
							}
						}
					}
				case "ServiceMonitor":
					m := as[struct {
						Spec struct {
							Endpoints []struct{ Port, Scheme string }
						}
					}](t, o)
					if len(m.Spec.Endpoints) != 1 || m.Spec.Endpoints[0].Port != "admin" || m.Spec.Endpoints[0].Scheme != "" {
						t.Errorf("metrics are read at %v", m.Spec.Endpoints)
					}
				}
			}
			args[0] = "install"
			notes := must(t, "HELM", append(args, "--dry-run=client")...)
			if _, notes, _ = strings.Cut(notes, "NOTES:"); !strings.Contains(notes, "https://try-holdpoint") || strings.Contains(notes, "http://try") {
				t.Errorf("the notes name another address: %s", notes)
			}
		})
	}
}
