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

	"holdpoint/internal/servers"
)

var named = regexp.MustCompile(`holdpoint_[a-z_]+`)

// TestRulesAndDashboard: they name metrics that there are, and each alert has its lines in
// docs/operations.md. promtool judges the rules, and plays them, where it is installed.
func TestRulesAndDashboard(t *testing.T) {
	all := described(t)
	for _, path := range []string{"../../deploy/prometheus/rules.yaml", "../../deploy/prometheus/rules_test.yaml", "../../deploy/grafana/holdpoint.json"} {
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
	rules, _ := os.ReadFile("../../deploy/prometheus/rules.yaml")
	page, _ := os.ReadFile("../../docs/operations.md")
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(page), "### "+m[1]+"\n") {
			t.Errorf("docs/operations.md does not say what to do at %s", m[1])
		}
	}
	promtool := servers.Promtool(t)
	queries := queriesOf(t, "../../deploy/grafana/holdpoint.json")
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}, {"check", "rules", queries}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = "../../deploy/prometheus"
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

// queriesOf writes the queries of a dashboard into a file of rules, which promtool can read.
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
