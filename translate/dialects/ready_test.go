package dialects

import (
	"strings"
	"sync"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// ready returns all dialects. Required options are set to the values in the dialects' scenarios.
func ready(t testing.TB) List {
	t.Helper()
	list := All()
	for _, e := range list {
		for last := ""; len(e.missingErrors()) > 0; {
			need, _ := e.missingVariable()
			if need == last {
				t.Fatalf("%s needs %s, and no scenario in testdata/%s has a good one", e.Name, need, e.Name)
			}
			last = need
			read := e.group().Read
			if !strings.HasPrefix(need, e.Prefix) {
				read = list.readShared
			}
			if errs := read(map[string]string{need: scenarioSets(t, e.Name, need)}); errs != nil {
				t.Fatal(errs)
			}
		}
	}
	return list
}

// scenarioSets returns the value of a variable from the first scenario of the dialect that sets it.
func scenarioSets(t testing.TB, dialect, variable string) string {
	t.Helper()
	if value, known := sets.Load(variable); known {
		return value.(string)
	}
	for _, s := range dialecttest.Scenarios(t, testdata, dialect) {
		if value := s.Environment[variable]; value != "" {
			sets.Store(variable, value)
			return value
		}
	}
	return ""
}

// sets caches the results of scenarioSets, so that the files are read once.
var sets sync.Map

// made returns a dialect of the list.
func made(t testing.TB, list List, name string) translate.Dialect {
	t.Helper()
	d, err := list.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
