//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestAnOrdinaryRunIsUntouched: if a run does not pause, the client must get the backend's stream
// unchanged. Only two things may differ: ids, which are new in each run, and the protocol version,
// which Holdpoint sends to a client that declares one.
func TestAnOrdinaryRunIsUntouched(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		for n := 0; !sameOrdinaryRuns(t, w); n++ {
			if n == 10 {
				t.Fatal("the adapter wrote other values each time")
			}
		}
	})
}

// sameOrdinaryRuns plays the same messages without and with Holdpoint, and compares the streams. It
// returns false if two streams cannot be compared: the adapter writes "<recursive>" for a value
// that happens to have the memory address of an earlier value.
func sameOrdinaryRuns(t *testing.T, w world) bool {
	t.Helper()
	const chance = "<recursive>"
	near, far := bare(t, w.b, w.version, "chat"), w.client(t, "chat")
	for _, said := range []string{"plain one", "plain ünd “two”"} {
		one, two := near.run(t, step{say: said}), far.run(t, step{say: said})
		a, b := normal(one.answer(t).Text), normal(two.answer(t).Text)
		if a != b && strings.Count(a, chance) != strings.Count(b, chance) {
			return false
		}
		if a != b {
			t.Errorf("direct and through Holdpoint differ:\n%s", difference(a, b))
		}
	}
	sameClient(t, near, far)
	return true
}

// TestAnAnswerLeavesTheSameMessages: after an approval in any format, the client must have the same
// messages and the same state as a client that talks to the backend directly.
func TestAnAnswerLeavesTheSameMessages(t *testing.T) {
	t.Parallel()
	approve := map[string]any{"type": "approve"}
	for graph, test := range map[string]struct {
		open    int
		command any
	}{
		"approve": {1, yes},
		"hitl":    {2, map[string]any{"decisions": []any{approve, approve}}},
	} {
		t.Run(graph, func(t *testing.T) {
			matrix(t, func(t *testing.T, w world) {
				near, far := bare(t, w.b, w.version, graph), w.client(t, graph)
				near.run(t, step{say: "go"})
				far.pause(t, test.open)
				near.run(t, command(test.command))
				far.finish(t, far.answer(far.answers(accept), test.command))
				sameClient(t, near, far)
				near.run(t, step{say: "plain and even"})
				far.finish(t, step{say: "plain and even"})
				sameClient(t, near, far)
			})
		})
	}
}

func sameClient(t *testing.T, near, far *client) {
	t.Helper()
	var a, b struct{ Messages, State any }
	near.d.call(t, "get", map[string]any{"client": near.name}, &a)
	far.d.call(t, "get", map[string]any{"client": far.name}, &b)
	if one, two := normal(indented(a.Messages)), normal(indented(b.Messages)); one != two {
		t.Errorf("messages differ, direct and through Holdpoint:\n%s", difference(one, two))
	}
	if one, two := normal(indented(a.State)), normal(indented(b.State)); one != two {
		t.Errorf("the state differs, direct and through Holdpoint:\n%s", difference(one, two))
	}
}

func indented(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

var changing = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:bare|thread|user|client)-\d+-\d+|[0-9a-f]{32}|,"protocolVersion":"1.0"`)

// normal replaces each id in s with a number, in the order in which the ids first appear. It also
// removes the protocol version.
func normal(s string) string {
	seen := map[string]string{}
	return changing.ReplaceAllStringFunc(s, func(id string) string {
		if strings.HasPrefix(id, ",") {
			return ""
		}
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("#%d", len(seen)+1)
		}
		return seen[id]
	})
}

// difference returns the first line in which a and b differ: both the line of a and that of b.
func difference(a, b string) string {
	one, two := strings.Split(a, "\n"), strings.Split(b, "\n")
	for n := range max(len(one), len(two)) {
		var x, y string
		if n < len(one) {
			x = one[n]
		}
		if n < len(two) {
			y = two[n]
		}
		if x != y {
			return fmt.Sprintf("line %d\n- %.600s\n+ %.600s", n+1, x, y)
		}
	}
	return ""
}
