package repo

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inside are targets of the Makefile that are steps of others.
var inside = []string{"tools", "modules"}

// TestMakeHelp: the list has each target, in a group, and fits a terminal.
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

// TestMakeUnit: PKG and RUN choose what is tested, and only if the command line says so.
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

// makes returns what make prints.
func makes(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make on this machine")
	}
	cmd := exec.Command("make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(set string) bool {
		return strings.HasPrefix(set, "MAKE") || strings.HasPrefix(set, "MFLAGS=") // of the make that runs this test
	})
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
