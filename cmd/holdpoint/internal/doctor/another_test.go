package doctor

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
)

// A pair is the dialect of a recording, and the dialect that HOLDPOINT_DIALECT names instead.
type pair struct{ found, named string }

// alike has the pairs of dialects that doctor cannot always distinguish, with the number of
// recordings without a hint that another dialect fits better. Most of these recordings ask with the
// interrupt outcome only, which both dialects read. In the others, the named dialect makes the same
// questions from other events.
var alike = map[pair]int{
	{"agui", "mastra"}:          128, // the dialect mastra reads everything that agui reads
	{"agui", "agent-framework"}: 92, {"agui", "aws-strands"}: 92, {"agui", "draft"}: 92, {"agui", "langgraph"}: 92,
	// agui reads any backend with the outcome, and makes the same questions for some.
	{"agent-framework", "agui"}: 76, {"langgraph", "agui"}: 2, {"draft", "agui"}: 1,
	{"agui", "adk"}: 1, {"agui", "agno"}: 1, {"agui", "request-approval"}: 1, {"agui", "tool-call"}: 1,
}

// TestAnotherFrameworksDialect: each recording with a question is played under every dialect for
// AG-UI backends. There is no hint under its own dialect and under the one that its scenario names.
// There is a hint under any other dialect, except for the recordings counted in alike.
func TestAnotherFrameworksDialect(t *testing.T) {
	var names []string
	for _, name := range dialects.All().Names() {
		list, _ := options(Options{Dialect: name})
		d, err := list.New(name, nil)
		if _, foreign := d.(translate.Foreign); err == nil && !foreign && name != auto.Name {
			names = append(names, name)
		}
	}
	if len(names) < 9 {
		t.Fatalf("only %v are named", names)
	}
	passed := map[pair]int{}
	for at, r := range allRecordings(t) {
		if testing.Short() && at%4 != 0 {
			continue
		}
		own, err := Examine(t.Context(), r.answer, Options{Tools: r.tools, ProtocolVersion: "1.0"})
		if err != nil || own.Verdict == NoStream || len(own.Questions) == 0 || own.Setting != auto.Name {
			continue
		}
		for _, name := range names {
			report, err := Examine(t.Context(), r.answer, Options{Tools: r.tools, ProtocolVersion: "1.0", Dialect: name})
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
			hint := slices.ContainsFunc(report.Cannot, func(s string) bool {
				return strings.Contains(s, "asks in the dialect "+own.Dialect+", and HOLDPOINT_DIALECT="+name)
			})
			switch {
			case hint && (name == own.Dialect || name == r.env["HOLDPOINT_DIALECT"]):
				t.Errorf("%s: a false alarm under its own dialect %s", r.name, name)
			case !hint && name != own.Dialect:
				passed[pair{own.Dialect, name}]++
			}
		}
	}
	if testing.Short() { // fewer recordings are played, so only larger numbers are errors
		maps.DeleteFunc(passed, func(p pair, n int) bool { return n <= alike[p] })
		if len(passed) > 0 {
			t.Errorf("without a hint, and more than %v: %v", alike, passed)
		}
		return
	}
	if !maps.Equal(passed, alike) {
		t.Errorf("without a hint: %v, want %v", passed, alike)
	}
}
