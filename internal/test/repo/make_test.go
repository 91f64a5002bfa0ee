package repo

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/scenario"
)

// inside has the targets of the Makefile that only other targets use.
var inside = []string{"tools", "modules"}

// TestMakeHelp: make help must list each target of the Makefile in a group, except the targets in
// inside. The output must fit into a terminal.
func TestMakeHelp(t *testing.T) {
	out := makes(t, "help")
	phony := regexp.MustCompile(`(?m)^\.PHONY: (.+)$`).FindStringSubmatch(read(t, "Makefile"))
	if phony == nil {
		t.Fatal("the Makefile has no .PHONY")
	}
	for _, name := range strings.Fields(phony[1]) {
		if strings.Contains(out, "\n  "+name+" ") == slices.Contains(inside, name) && name != "help" {
			t.Errorf("%s: a target has a text behind ##, unless it is a step of others", name)
		}
	}
	if groups := strings.Count(out, "\n\n"); groups < 6 {
		t.Errorf("%d groups:\n%s", groups, out)
	}
	for line := range strings.Lines(out) {
		if len(line) > columns+1 {
			t.Errorf("%s has more than %d columns", strings.TrimSpace(line), columns)
		}
	}
}

// TestMakeUnit: if PKG and RUN are set on the command line, they select the tests. If they are set
// in the environment, they must have no effect.
func TestMakeUnit(t *testing.T) {
	t.Setenv("PKG", "./nowhere")
	t.Setenv("RUN", "Nothing")
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"vet ./...", "10m ./..."}},
		{[]string{"PKG=./proxy"}, []string{"vet ./proxy", "10m ./proxy"}},
		{[]string{"PKG=./proxy", "RUN=TestGolden$/agui"}, []string{"vet ./proxy", "10m -run 'TestGolden$/agui' ./proxy"}},
	} {
		lines := strings.Split(strings.TrimSpace(makes(t, append([]string{"-n", "unit"}, tt.args...)...)), "\n")
		if !slices.EqualFunc(lines, tt.want, strings.HasSuffix) {
			t.Errorf("%q: %q", tt.args, lines)
		}
	}
}

// makes runs make with these arguments and returns its output.
func makes(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make on this machine")
	}
	cmd := exec.Command("make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(set string) bool {
		// These variables come from the make that runs this test.
		return strings.HasPrefix(set, "MAKE") || strings.HasPrefix(set, "MFLAGS=")
	})
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// TestFirstChange: CONTRIBUTING.md explains a first change to the code, which changes one sentence.
// This sentence must be at the place that CONTRIBUTING.md names.
func TestFirstChange(t *testing.T) {
	guide, _, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "\n## Build and test")
	m := regexp.MustCompile(`grep -rn "([^"]+)"`).FindStringSubmatch(guide)
	if m == nil {
		t.Fatal("the guide greps for nothing")
	}
	var found []string
	for _, path := range files(t, func(p string) bool { return strings.HasSuffix(p, ".go") }) {
		if strings.Contains(read(t, path), m[1]) {
			found = append(found, path)
		}
	}
	if len(found) != 1 || !strings.Contains(guide, "`"+found[0]+"`") {
		t.Errorf("%q is in %q, and the guide says otherwise", m[1], found)
	}
	scenarios := 0
	for _, path := range files(t, func(p string) bool { return strings.HasSuffix(p, scenario.Ext) }) {
		if strings.Contains(read(t, path), m[1]) {
			scenarios++
		}
	}
	if want := fmt.Sprintf("in %d scenarios", scenarios); !strings.Contains(guide, want) {
		t.Errorf("the guide does not say %q", want)
	}
}
