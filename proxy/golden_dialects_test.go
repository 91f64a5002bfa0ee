package proxy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	golden "holdpoint/internal/scenario"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
)

// TestScenariosCoverEveryDialect: each dialect of translate/dialects has a folder of scenarios.
func TestScenariosCoverEveryDialect(t *testing.T) {
	covered := map[string][]string{}
	for _, s := range scenarios(t) {
		covered[s.Folder()] = append(covered[s.Folder()], s.Covers...)
	}
	names := dialects.All().Names()
	for _, name := range names {
		if name == auto.Name {
			continue // it has no pause of its own
		}
		for _, c := range golden.Coverable {
			if !slices.Contains(covered[name], c) {
				t.Errorf("testdata/%s: no scenario with `covers: %s`", name, c)
			}
		}
	}
	folders, err := os.ReadDir("../translate")
	if err != nil {
		t.Fatal(err)
	}
	for n := range names {
		names[n] = strings.ReplaceAll(names[n], "-", "") // the name of a package has no "-"
	}
	// "standard" is the package of the dialect agui. It has another name because internal/agui
	// exists.
	names = append(names, "standard")
	// These folders contain no dialect.
	rooms := []string{"dialects", "dialecttest", "internal", "kit", "yesno"}
	for _, f := range folders {
		if f.IsDir() && !slices.Contains(rooms, f.Name()) && !slices.Contains(names, f.Name()) {
			t.Errorf("translate/%s is not in the list of translate/dialects", f.Name())
		}
	}
}
