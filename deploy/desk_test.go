//go:build deploy

package deploy

import (
	"slices"
	"strings"
	"testing"
)

// TestDeskOfTheChart: the token is in Holdpoint's container alone, the Service for clients does not
// lead to the desk, and without a token there is none.
func TestDeskOfTheChart(t *testing.T) {
	for name, values := range charts {
		text := must(t, "HELM", template(values)...)
		desk := slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "desk.") })
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
					if _, opens := c.environment()["HOLDPOINT_DESK_LISTEN"]; opens != (desk && c.Name == "holdpoint") {
						t.Errorf("%s: the desk is at the container %s: %t", name, c.Name, opens)
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
		if got := services["try-holdpoint"]; !slices.Equal(got, []any{float64(7080)}) {
			t.Errorf("%s: the Service for clients leads to %v", name, got)
		}
		if strings.Contains(text, "7082") != desk {
			t.Errorf("%s: something is at the desk's port", name)
		}
	}
}
