//go:build unix

package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdpoint/internal/test/servers"
)

var named = regexp.MustCompile(`holdpoint_[a-z_]+`)

// TestRulesAndDashboard: the alert rules and the dashboard must use only existing metrics, and
// docs/operations.md must describe each alert. If promtool is installed, it checks the rules and
// runs their tests.
func TestRulesAndDashboard(t *testing.T) {
	all := described(t)
	for _, path := range []string{"../../../deploy/prometheus/rules.yaml", "../../../deploy/prometheus/rules_test.yaml", "../../../deploy/grafana/holdpoint.json"} {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(file), -1) {
			base := name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if _, ok := all[base]; !ok {
				t.Errorf("%s: there is no %s", path, name)
			}
		}
	}
	rules, _ := os.ReadFile("../../../deploy/prometheus/rules.yaml")
	page, _ := os.ReadFile("../../../docs/operations.md")
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(page), "### "+m[1]+"\n") {
			t.Errorf("docs/operations.md does not say what to do at %s", m[1])
		}
	}
	promtool := servers.Promtool(t)
	queries := queriesOf(t, "../../../deploy/grafana/holdpoint.json")
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}, {"check", "rules", queries}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../../deploy/prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = strings.NewReader(text(t, used(t)))
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// TestPanelsOfTheDashboard: the ids and titles of panels must be unique, and panels must not
// overlap. Each query must use the data source and the job that the user selects.
func TestPanelsOfTheDashboard(t *testing.T) {
	file, err := os.ReadFile("../../../deploy/grafana/holdpoint.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			ID         int
			Title      string
			Datasource struct{ UID string }
			GridPos    struct{ H, W, X, Y int }
			Targets    []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(file, &d); err != nil {
		t.Fatal(err)
	}
	choices := map[string]bool{}
	for _, v := range d.Templating.List {
		choices[v.Name] = true
	}
	if !choices["datasource"] || !choices["job"] {
		t.Errorf("one can choose %v", choices)
	}
	ids, titles, taken := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || titles[p.Title] || p.Title == "" {
			t.Errorf("panel %d, %q is there twice", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if p.Datasource.UID != "$datasource" || len(p.Targets) == 0 {
			t.Errorf("%s asks %q for %d things", p.Title, p.Datasource.UID, len(p.Targets))
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if refs[q.RefID] || q.RefID == "" || !strings.Contains(q.Expr, `job=~"$job"`) {
				t.Errorf("%s: the query %q is %s", p.Title, q.RefID, q.Expr)
			}
			refs[q.RefID] = true
		}
		g := p.GridPos
		if g.H < 1 || g.W < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s stands at %+v, and a row has 24 columns", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s covers %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// queriesOf writes the queries of a dashboard into a file of rules, so that promtool can check
// them. It returns the path of this file.
func queriesOf(t *testing.T, dashboard string) string {
	t.Helper()
	file, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(file, &d); err != nil {
		t.Fatal(err)
	}
	rules := "groups:\n  - name: dashboard\n    rules:\n"
	n := 0
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			n++
			expr := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*").Replace(q.Expr)
			rules += fmt.Sprintf("      - {record: \"query_%d\", expr: %q}\n", n, expr)
		}
	}
	if n < 15 {
		t.Fatalf("%s has %d queries", dashboard, n)
	}
	path := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
