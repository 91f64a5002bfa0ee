package dialects

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const testdata = "../../testdata"

// TestEveryDialect checks for each dialect, with the options of its scenarios, the rules that apply
// to all dialects (dialecttest.CheckThread).
func TestEveryDialect(t *testing.T) {
	for _, name := range All().Names() {
		t.Run(name, func(t *testing.T) {
			list := scenariosOf(t, name)
			answered := 0
			// With -short, few threads are tried. So the test is repeated until a question had an
			// answer.
			for round := 0; answered == 0 && round < 10; round++ {
				rapid.Check(t, func(rt *rapid.T) {
					answered += dialecttest.CheckThread(rt, func(s dialecttest.Scenario) translate.Dialect { return madeFor(t, name, s) }, list)
				})
			}
			t.Logf("%d questions answered with a yes and with a no", answered)
			if answered == 0 {
				t.Error("no question has a plain yes and no")
			}
		})
	}
}

// scenariosOf returns the scenarios of a dialect. For auto it returns the scenarios of all backends
// that use AG-UI.
func scenariosOf(t *testing.T, name string) []dialecttest.Scenario {
	t.Helper()
	if name != "auto" {
		return dialecttest.Scenarios(t, testdata, name)
	}
	return slices.DeleteFunc(dialecttest.Scenarios(t, testdata, "*"), func(s dialecttest.Scenario) bool {
		named := s.Environment["HOLDPOINT_DIALECT"]
		return named != "" && isForeign(fresh(t, named, nil))
	})
}

// madeFor returns the dialect with the options that the scenario sets.
func madeFor(t *testing.T, name string, s dialecttest.Scenario) translate.Dialect {
	t.Helper()
	list := ready(t)
	for _, err := range list.Read(s.Environment) {
		t.Fatal(err)
	}
	d, err := list.New(name, nil)
	if err != nil {
		t.Fatalf("%s: %v", s.Path, err)
	}
	return d
}
