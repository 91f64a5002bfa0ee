package dialects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/translate"
)

// ready are all dialects, with what they need. It is what one of their scenarios sets.
func ready(t testing.TB) List {
	t.Helper()
	list := All()
	for _, e := range list {
		for last := ""; len(e.lacks()) > 0; {
			need := e.Prefix + e.Options.(interface{ Needs() string }).Needs()
			if need == last {
				t.Fatalf("%s needs %s, and no scenario in testdata/%s has a good one", e.Name, need, e.Name)
			}
			last = need
			if errs := e.group().Read(map[string]string{need: scenarioSets(t, e.Name, need)}); errs != nil {
				t.Fatal(errs)
			}
		}
	}
	return list
}

// scenarioSets is the first value that a scenario of the dialect gives to a variable.
func scenarioSets(t testing.TB, dialect, variable string) string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/" + dialect + "/*/scenario.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, "env: "+variable+"="); ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// made is a dialect of the list.
func made(t testing.TB, list List, name string) translate.Dialect {
	t.Helper()
	d, err := list.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
