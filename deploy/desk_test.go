//go:build deploy

package deploy

import (
	"slices"
	"strings"
	"testing"
)

// TestDeskOfTheChart: in the Helm chart, only Holdpoint's container may read the token of the desk.
// The Service for clients must not lead to the desk's port. Without a token there must be no desk.
// A chart that is only a desk (mode=desk) has no Service for clients.
func TestDeskOfTheChart(t *testing.T) {
	for name, values := range charts {
		text := must(t, "HELM", template(values)...)
		elsewhere, alone := slices.Contains(values, "desk.elsewhere=true"), slices.Contains(values, "mode=desk")
		desk := !elsewhere && slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "desk.") })
		services := map[string][]any{}
		for _, o := range parse(t, text) {
			switch o["kind"] {
			case "Service":
				s := as[struct {
					Metadata struct{ Name string }
					Spec     struct {
						Ports []struct{ TargetPort any }
					}
				}](t, o)
				for _, p := range s.Spec.Ports {
					services[s.Metadata.Name] = append(services[s.Metadata.Name], p.TargetPort)
				}
			case "Deployment":
				p := as[deployment](t, o).Spec.Template.Spec
				for _, c := range slices.Concat(p.InitContainers, p.Containers) {
					want := ""
					if c.Name == "holdpoint" && desk {
						want = ":7082"
					} else if c.Name == "holdpoint" && elsewhere {
						want = "elsewhere"
					}
					if got := c.environment()["HOLDPOINT_DESK_LISTEN"]; got != want || slices.Equal(c.Args, []string{"desk"}) != alone {
						t.Errorf("%s: the desk of the container %s is %q, want %q; its command is %q", name, c.Name, got, want, c.Args)
					}
					for _, m := range c.VolumeMounts {
						if c.Name != "holdpoint" && m.Name == "secrets" {
							t.Errorf("%s: %s can read the token", name, c.Name)
						}
					}
				}
			}
		}
		if got := services["try-holdpoint-desk"]; (got != nil) != desk || desk && !slices.Equal(got, []any{float64(7082)}) {
			t.Errorf("%s: the Service of the desk leads to %v", name, got)
		}
		if got := services["try-holdpoint"]; alone != (got == nil) || !alone && !slices.Equal(got, []any{float64(7080)}) {
			t.Errorf("%s: the Service for clients leads to %v", name, got)
		}
		if strings.Contains(text, "7082") != desk {
			t.Errorf("%s: something is at the desk's port", name)
		}
	}
}
