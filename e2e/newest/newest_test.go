package newest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var row = Row{Name: "langgraph", Packages: []string{"adapter", "graph"}, Pinned: map[string]string{"adapter": "1.0", "graph": "2.0"}}

func has(adapter, graph string) func(context.Context, Row) (map[string]string, error) {
	return func(context.Context, Row) (map[string]string, error) {
		return map[string]string{"adapter": adapter, "graph": graph}, nil
	}
}

func installs(context.Context, Row, map[string]string) (string, error) { return "there", nil }

func finds(verdicts ...Verdict) func(context.Context, Row, string) ([]Verdict, error) {
	return func(context.Context, Row, string) ([]Verdict, error) { return verdicts, nil }
}

var good = finds(Verdict{Step: "pause"}, Verdict{Step: "approve"}, Verdict{Step: "deny"})

// TestLines: each row must lead to one line. The line must contain RED if anything about the new
// release is wrong.
func TestLines(t *testing.T) {
	broken := errors.New("the first line\nthe second")
	for name, c := range map[string]struct {
		try  Try
		want string
	}{
		"the pinned one": {Try{Lookup: has("1.0", "2.0")}, "langgraph: adapter 1.0: that is pinned, and tested by the other tests"},
		"a newer one":    {Try{Lookup: has("1.1", "2.0"), Install: installs, Smoke: good}, "langgraph: adapter 1.1 (pinned 1.0): pause ok, approve ok, deny ok"},
		"another package": {Try{Lookup: has("1.0", "3.0"), Install: installs, Smoke: good},
			"langgraph: graph 3.0 (pinned 2.0): pause ok, approve ok, deny ok"},
		"both": {Try{Lookup: has("1.1", "3.0"), Install: installs, Smoke: good},
			"langgraph: adapter 1.1 (pinned 1.0), graph 3.0 (pinned 2.0): pause ok, approve ok, deny ok"},
		"all": {Try{Lookup: has("1.0", "2.0"), Install: installs, Smoke: good, All: true}, "langgraph: adapter 1.0: pause ok, approve ok, deny ok"},
		"a denial that runs": {Try{Lookup: has("1.1", "2.0"), Install: installs, Smoke: finds(Verdict{"pause", ""}, Verdict{"approve", ""}, Verdict{"deny", "it ran"})},
			"langgraph: adapter 1.1 (pinned 1.0): RED: pause ok, approve ok, deny FAILED (it ran)"},
		"a smoke that stops": {Try{Lookup: has("1.1", "2.0"), Install: installs, Smoke: finds(Verdict{"pause", "no question"})},
			"langgraph: adapter 1.1 (pinned 1.0): RED: pause FAILED (no question), approve not run, deny not run"},
		"does not start": {Try{Lookup: has("1.1", "2.0"), Install: installs, Smoke: func(context.Context, Row, string) ([]Verdict, error) { return nil, broken }},
			"langgraph: adapter 1.1 (pinned 1.0): RED: does not start: the first line"},
		"does not install": {Try{Lookup: has("1.1", "2.0"), Install: func(context.Context, Row, map[string]string) (string, error) { return "", broken }},
			"langgraph: adapter 1.1 (pinned 1.0): RED: does not install: the first line"},
		"no registry": {Try{Lookup: func(context.Context, Row) (map[string]string, error) { return nil, broken }},
			"langgraph: not run: the registry does not say what is newest: the first line"},
	} {
		t.Run(name, func(t *testing.T) {
			c.try.Budget = time.Hour
			var got []string
			c.try.Lines(t.Context(), []Row{row}, func(line string) { got = append(got, line) })
			if want := []string{"newest: " + c.want}; !slices.Equal(got, want) {
				t.Errorf("\n%q, want\n%q", got, want)
			}
		})
	}
}

// TestBudget: a row that takes too long must be stopped, and its line must report this. The rows
// after it must not be started.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(3 * time.Minute):
				return nil
			}
		}
		began := 0
		try := Try{Budget: 4 * time.Minute, Install: installs, Smoke: good,
			Lookup: func(ctx context.Context, _ Row) (map[string]string, error) {
				began++
				return map[string]string{"adapter": "1.1", "graph": "2.0"}, slow(ctx)
			}}
		var got []string
		try.Lines(t.Context(), []Row{row, row, {Name: "crewai"}}, func(line string) { got = append(got, line) })
		want := []string{
			"newest: langgraph: adapter 1.1 (pinned 1.0): pause ok, approve ok, deny ok",
			"newest: langgraph: not run: the budget of 4m0s is over",
			"newest: crewai: not run: the budget of 4m0s is over",
		}
		if !slices.Equal(got, want) || began != 2 {
			t.Errorf("%d began\n%s", began, strings.Join(got, "\n"))
		}
	})
}

func TestRequirements(t *testing.T) {
	got := Requirements("ag_ui_strands==1.0.2\n# a comment\npydantic-ai-slim[ag-ui]==2.0\n\nx.y==1\n")
	if !maps.Equal(got, map[string]string{"ag-ui-strands": "1.0.2", "pydantic-ai-slim": "2.0", "x-y": "1"}) {
		t.Errorf("%v", got)
	}
}

func TestReport(t *testing.T) {
	text := []byte(`{"version":"1","install":[{"metadata":{"name":"ag_ui_strands","version":"1.1.0"}},{"metadata":{"name":"other","version":"9"}}]}`)
	got, err := Report(text, []string{"ag-ui-strands"})
	if err != nil || !maps.Equal(got, map[string]string{"ag-ui-strands": "1.1.0"}) {
		t.Errorf("%v %v", got, err)
	}
	for _, packages := range [][]string{{"absent"}, {"ag-ui-strands", "absent"}} {
		if got, err := Report(text, packages); err == nil {
			t.Errorf("%v: %v", packages, got)
		}
	}
	if got, err := Report([]byte("ERROR: no such thing"), nil); err == nil {
		t.Errorf("%v", got)
	}
}

// TestVerdicts: a step passes only if go test reports that it passed.
func TestVerdicts(t *testing.T) {
	const output = `=== RUN   TestSmoke
=== RUN   TestSmoke/pause
=== RUN   TestSmoke/approve
    smoke_test.go:12: what ran: [], want ["x"]
    smoke_test.go:13: more
=== RUN   TestSmoke/deny
--- FAIL: TestSmoke (0.50s)
    --- PASS: TestSmoke/pause (0.10s)
    --- FAIL: TestSmoke/approve (0.20s)
    --- SKIP: TestSmoke/deny (0.20s)
FAIL
`
	got, err := Verdicts(output, "TestSmoke")
	want := []Verdict{{"pause", ""}, {"approve", `what ran: [], want ["x"]`}, {"deny", "skip"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	for output, why := range map[string]string{"": "it said nothing", "e2e: the backend did not start\nFAIL\n": "e2e: the backend did not start", "=== RUN   TestSmoke\npanic: x\nexit status 2\n": "panic: x"} {
		if got, err := Verdicts(output, "TestSmoke"); err == nil || err.Error() != why {
			t.Errorf("%q: %v (%v)", output, got, err)
		}
	}
}

func TestWhy(t *testing.T) {
	for output, want := range map[string]string{
		"":                           "it said nothing",
		"npm error 404\nnpm error x": "npm error x",
		"ERROR: Cannot install\nThe conflict is caused by:\n    core 1.8 depends on certifi>=3\nERROR: ResolutionImpossible: for help": "core 1.8 depends on certifi>=3",
	} {
		if got := Why(output); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
