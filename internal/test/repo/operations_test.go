package repo

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// section returns the section of docs/operations.md that has this heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, "docs/operations.md"), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/operations.md has no section %s", heading)
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	return body
}

// TestSizingIsMeasured: the section Sizing has tables with numbers and the commands that measured
// them. For each number, bench/results.md must have the same number below the same command. There
// the spread of the number may follow.
func TestSizingIsMeasured(t *testing.T) {
	results := regexp.MustCompile("(?m)^\\d{4}-\\d\\d-\\d\\d, (`go run \\./bench.*?`)$").Split(read(t, "bench/results.md"), -1)[1:]
	commands := regexp.MustCompile("(?m)^\\d{4}-\\d\\d-\\d\\d, (`go run \\./bench.*?`)$").FindAllStringSubmatch(read(t, "bench/results.md"), -1)
	rows := regexp.MustCompile("(?m)^\\| .+ \\| ([\\d.]+)(?: \\w+)? \\| (`go run .+`) \\|$").FindAllStringSubmatch(section(t, "Sizing"), -1)
	for _, row := range rows {
		at := slices.IndexFunc(commands, func(c []string) bool { return c[1] == row[2] })
		if at < 0 {
			t.Errorf("bench/results.md has nothing of %s", row[2])
			continue
		}
		if !regexp.MustCompile(`(?m)^\| holdpoint\b.*\| `+regexp.QuoteMeta(row[1])+`( \[.*?\])? (\||after)`).MatchString(results[at]) &&
			!regexp.MustCompile(`(?m)^\| a pause and a resume \| `+regexp.QuoteMeta(row[1])+` \[`).MatchString(results[at]) {
			t.Errorf("%s: no %s for Holdpoint in bench/results.md", row[0], row[1])
		}
	}
	if len(rows) < 14 {
		t.Errorf("%d figures, the form of the tables has changed", len(rows))
	}
}

// TestEachAlertHasItsRunbook: docs/operations.md must have exactly one section for each alert, and
// a row with its severity in the table of alerts, both in the order of the alert rules.
func TestEachAlertHasItsRunbook(t *testing.T) {
	var alerts, headings []string
	for _, m := range regexp.MustCompile(`(?m)^ *- alert: (\w+)$`).FindAllStringSubmatch(read(t, "deploy/prometheus/rules.yaml"), -1) {
		alerts = append(alerts, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)\n\n\S`).FindAllStringSubmatch(section(t, "At an alert"), -1) {
		headings = append(headings, m[1])
	}
	if len(alerts) < 8 || !slices.Equal(alerts, headings) {
		t.Errorf("the alerts are\n%v\nthe runbook has\n%v", alerts, headings)
	}
	var rules, rows []string
	for _, m := range regexp.MustCompile(`(?s)- alert: (\w+)\n.*?severity: (\w+)`).FindAllStringSubmatch(read(t, "deploy/prometheus/rules.yaml"), -1) {
		rules = append(rules, m[1]+" "+m[2])
	}
	for _, m := range regexp.MustCompile(`(?m)^\| \[(\w+)\]\(#\w+\) \| (\w+) \| .+ \|$`).FindAllStringSubmatch(section(t, "Metrics"), -1) {
		rows = append(rows, m[1]+" "+m[2])
	}
	if !slices.Equal(rules, rows) {
		t.Errorf("the alerts are\n%v\nthe table has\n%v", rules, rows)
	}
}

// TestFilesOfCommandsExist: each path in a command must exist, in documents and in the notes of the
// chart. (The tests of deploy run the commands of operations.md.)
func TestFilesOfCommandsExist(t *testing.T) {
	path := regexp.MustCompile(`(?m)(?:^|[\s"'(=])(?:\./)?((?:deploy|cmd|examples|bench|docs|e2e|testdata)/[\w./-]*\w)`)
	blocks := regexp.MustCompile("(?ms)^```\\w*\n.*?^```$")
	found := 0
	for _, document := range append(documents(t), "deploy/helm/holdpoint/templates/NOTES.txt") {
		text := read(t, document)
		if strings.HasSuffix(document, ".md") {
			text = strings.Join(blocks.FindAllString(text, -1), "\n")
		}
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: there is no %s", document, m[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("%d paths found", found)
	}
}
