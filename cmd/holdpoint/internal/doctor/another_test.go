package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/translate"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialects"
)

// A pair is the dialect of a recording, and the dialect that HOLDPOINT_DIALECT names instead.
type pair struct{ found, named string }

// String returns the pair in the syntax of the map alike in this file.
func (p pair) String() string { return fmt.Sprintf("{%q, %q}", p.found, p.named) }

// alike lists the pairs of dialects that doctor cannot always tell apart. The number of a pair
// counts recordings. In each of them, the dialect found asked the question. HOLDPOINT_DIALECT then
// names the dialect named, and doctor does not hint that found would fit better. Most of these
// recordings ask only by the interrupt outcome, which both dialects read. In the rest, the dialect
// named reads the same questions from other events.
//
// A new dialect that does not read the interrupt outcome needs the entry {"agui", <dialect>}: 1.
// The recording counted there is contract/several-runs-pause, whose first run ends without a
// question. If the test reports any other pair, find out the reason before you add it: one dialect
// may wrongly read the other one's tool call as a question.
var alike = map[pair]int{
	{"agui", "mastra"}:          128, // the dialect mastra reads everything that agui reads
	{"agui", "agent-framework"}: 92, {"agui", "aws-strands"}: 92, {"agui", "draft"}: 92, {"agui", "langgraph"}: 92,
	// The dialect agui reads the interrupt outcome of any backend. In some recordings it finds the
	// same questions as the backend's own dialect.
	{"agent-framework", "agui"}: 76, {"langgraph", "agui"}: 2, {"draft", "agui"}: 1,
	{"agui", "adk"}: 1, {"agui", "agno"}: 1, {"agui", "request-approval"}: 1, {"agui", "tool-call"}: 1,
}

// TestAnotherFrameworksDialect: doctor examines each recording with a question under every dialect
// for AG-UI backends. Under the dialect that asked in the recording, and under the dialect that its
// scenario names, doctor must not hint at another dialect. Under every other dialect, doctor must
// hint at the dialect that asked, except for the recordings that the map alike counts.
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
	passed, example := map[pair]int{}, map[pair]string{}
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
			hint := slices.ContainsFunc(report.Failures, func(s string) bool {
				return strings.Contains(s, "asks in the dialect "+own.Dialect+", and HOLDPOINT_DIALECT="+name)
			})
			switch {
			case hint && (name == own.Dialect || name == r.env["HOLDPOINT_DIALECT"]):
				t.Errorf("%s: a false alarm under its own dialect %s", r.name, name)
			case !hint && name != own.Dialect:
				passed[pair{own.Dialect, name}]++
				example[pair{own.Dialect, name}] = r.name
			}
		}
	}
	if testing.Short() { // fewer recordings are played, so n may be too small
		for p, n := range passed {
			if n > alike[p] {
				t.Errorf("alike has %v: %d, and %d recordings have no hint, such as %s", p, alike[p], n, example[p])
			}
		}
		return
	}
	for p, n := range passed {
		if alike[p] == 0 {
			t.Errorf("alike lacks %v: %d, for recordings of %s that have no hint under HOLDPOINT_DIALECT=%s, such as %s", p, n, p.found, p.named, example[p])
		} else if n != alike[p] {
			t.Errorf("alike has %v: %d, and there are %d recordings without a hint", p, alike[p], n)
		}
	}
	for p, n := range alike {
		if passed[p] == 0 {
			t.Errorf("alike has %v: %d, and every recording has a hint", p, n)
		}
	}
}
