//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The tests in this file run without Holdpoint. They check the behavior of the real backends on
// which the LangGraph dialect relies. If a new version of the adapter behaves differently, these
// tests fail first.

// bare returns a client that talks to the backend directly, without Holdpoint.
func bare(t *testing.T, b *backend, version, graph string) *client {
	t.Helper()
	return newClient(t, shared.direct, version, b.url()+"/"+graph, fresh("bare"), nil)
}

func eachBackend(t *testing.T, test func(t *testing.T, b *backend)) {
	t.Helper()
	for _, b := range shared.backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// command returns a step that answers by forwardedProps.command.resume.
func command(value any) step { return step{command: value, empty: true} }

func nativeIDs(w wire) []string {
	var all []string
	for _, e := range w.customs() {
		raw, _ := e["rawEvent"].(map[string]any)
		id, _ := raw["id"].(string)
		all = append(all, id)
	}
	return all
}

func TestDirectPause(t *testing.T) {
	t.Parallel()
	tail := map[string]string{
		"0.0.42":         "CUSTOM STATE_SNAPSHOT MESSAGES_SNAPSHOT STEP_FINISHED RUN_FINISHED",
		"0.0.43":         "STATE_SNAPSHOT MESSAGES_SNAPSHOT STEP_FINISHED CUSTOM RUN_FINISHED",
		"0.0.43-outcome": "STATE_SNAPSHOT MESSAGES_SNAPSHOT STEP_FINISHED CUSTOM RUN_FINISHED",
		"0.0.43-quiet":   "STATE_SNAPSHOT MESSAGES_SNAPSHOT STEP_FINISHED CUSTOM RUN_FINISHED",
	}
	eachBackend(t, func(t *testing.T, b *backend) {
		c := bare(t, b, newest, "approve")
		a := c.run(t, step{say: "go"}).answer(t)
		if got := strings.Join(a.kinds(), " "); !strings.HasSuffix(got, tail[b.name]) {
			t.Errorf("a pause ends with %s, was %s", got, tail[b.name])
		}
		if told := a.outcome() != nil; told != (b.mode == "outcome") {
			t.Errorf("outcome told: %v", told)
		}
		if got := nativeIDs(a); len(got) != 1 || (len(got[0]) == 32) != b.showsIDs() {
			t.Errorf("native ids %q", got)
		}
		if value, _ := a.customs()[0]["value"].(string); value != `{"question": "Delete 3 files?", "files": ["a", "b", "c"], "message": "Please confirm"}` {
			t.Errorf("value %q", value)
		}
		if b.mode == "outcome" {
			if native := text(a.outcome()[0]["metadata"]); !strings.Contains(native, `"ns":null,"raw":`) {
				t.Errorf("metadata %s: the nulls were there", native)
			}
		}
	})
}

func TestDirectTwoInterrupts(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		c := bare(t, b, newest, "parallel")
		first := c.run(t, step{say: "go"}).answer(t)
		want := 2
		if b.name == "0.0.42" {
			want = 1 // 0.0.42 sends only the first question
		}
		if got := len(first.customs()); got != want {
			t.Errorf("%d CUSTOM on_interrupt at the end of the run, were %d", got, want)
		}
		again := c.run(t, step{empty: true}).answer(t)
		if got := len(again.customs()); got != 2 {
			t.Errorf("%d CUSTOM on_interrupt at the next run, were 2", got)
		}
		raw := 0
		for _, e := range first.of("RAW") {
			if strings.Contains(text(e["event"]), `"chunk":[[],{"__interrupt__":[{`) {
				raw++
			}
		}
		if want := map[bool]int{true: 2, false: 0}[b.showsIDs()]; raw != want {
			t.Errorf("%d RAW events hold an interrupt, were %d", raw, want)
		}
		if !b.showsIDs() {
			return
		}
		all := nativeIDs(again)
		if r := c.run(t, command(map[string]any{all[0]: yes, all[1]: no})); r.answer(t).End != "clean" {
			t.Errorf("the id map ended %s", r.answer(t).End)
		}
		if l := b.ledger(t, c.thread); l.Counts["a"] != 1 || l.Counts["b"] != 0 {
			t.Errorf("side effects %v", l.Counts)
		}
	})
}

func TestDirectOneValueForTwoInterruptsIsAnError(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		c := bare(t, b, newest, "parallel")
		c.run(t, step{say: "go"})
		if a := c.run(t, command(yes)).answer(t); a.End == "clean" || len(a.of("RUN_ERROR")) > 0 {
			t.Errorf("one value for two interrupts: %s", terminal(a))
		}
		if l := b.ledger(t, c.thread); len(l.Counts) > 0 {
			t.Errorf("side effects %v", l.Counts)
		}
	})
}

func TestDirectErrorCutsTheStream(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		c := bare(t, b, pinned, "boom")
		a := c.run(t, step{say: "go"}).answer(t)
		if a.Status != 200 || a.End == "clean" || slices.ContainsFunc(a.Events, func(e event) bool { return e.kind() == "RUN_ERROR" || e.kind() == "RUN_FINISHED" }) {
			t.Errorf("an exception in the graph: %s %v", a.End, a.kinds())
		}
	})
}

// TestDirectFirstAnswerSticks: the run with the first answer fails. LangGraph then repeats the
// first answer whenever a later one arrives, even if the later one is a denial. So Holdpoint may
// send only the first answer again.
func TestDirectFirstAnswerSticks(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		c := bare(t, b, oldest, "approve")
		c.run(t, step{say: "go"})
		for n, answer := range []map[string]any{{"approved": true, "boom": true}, no, no} {
			if a := c.run(t, command(answer)).answer(t); a.End == "clean" {
				t.Fatalf("answer %d ended well: %v", n, a.kinds())
			}
			if l := b.ledger(t, c.thread); l.Counts["delete"] != n+1 {
				t.Errorf("after %d answers the approved action ran %d times: LangGraph no longer repeats the first answer", n+1, l.Counts["delete"])
			}
			if a := c.run(t, step{say: "plain and lost"}).answer(t); len(a.customs()) != 1 {
				t.Errorf("the thread is no longer stuck: %v", a.kinds())
			}
		}
	})
}

// TestDirectResumeOfAnUnknownThread: if the backend does not know the thread of a resume, it starts
// the graph without any input.
func TestDirectResumeOfAnUnknownThread(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		for graph, asks := range map[string]int{"truthy": 1, "hitl": 0} {
			c := bare(t, b, newest, graph)
			a := c.run(t, step{say: "go", command: map[string]any{strings.Repeat("a", 32): true}}).answer(t)
			if a.End != "clean" || len(a.customs()) != asks {
				t.Errorf("%s: %s %v", graph, a.End, a.kinds())
			}
			for _, e := range a.of("MESSAGES_SNAPSHOT") {
				if strings.Contains(text(e["messages"]), `"role":"user"`) {
					t.Errorf("%s: the request's messages were taken: %s", graph, text(e))
				}
			}
			if l := b.ledger(t, c.thread); len(l.Counts) > 0 {
				t.Errorf("%s: side effects %v", graph, l.Counts)
			}
		}
	})
}

func TestDirectWhatCountsAsAnAnswer(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		for _, test := range []struct {
			value any
			got   string // the answer that the graph got, as JSON, or "asked again"
		}{
			{"42", "42"}, {"Bob", `"Bob"`}, {"", `""`}, {0, "0"}, {[]any{}, "[]"}, {map[string]any{}, "asked again"}, {none{}, "asked again"},
			{map[string]any{strings.Repeat("f", 32): "x"}, "asked again"},
		} {
			c := bare(t, b, oldest, "text")
			c.run(t, step{say: "go"})
			a := c.run(t, command(test.value)).answer(t)
			got := "asked again"
			if l := b.ledger(t, c.thread); len(l.Effects) == 1 {
				got = text(l.Effects[0].Answer)
			} else if len(a.customs()) != 1 {
				got = fmt.Sprint(a.kinds())
			}
			if got != test.got {
				t.Errorf("%v: %s, was %s", test.value, got, test.got)
			}
		}
	})
}

// TestDirectResumeArray: the versions of the adapter read the resume array in different ways. No
// version reads a cancelled entry correctly.
func TestDirectResumeArray(t *testing.T) {
	t.Parallel()
	eachBackend(t, func(t *testing.T, b *backend) {
		c := bare(t, b, newest, "truthy")
		c.run(t, step{say: "go"})
		c.run(t, step{resume: []entry{cancelled("x")}, empty: true})
		l := b.ledger(t, c.thread)
		if b.name == "0.0.42" {
			if len(l.Counts) != 0 || len(l.Nodes) != 1 {
				t.Errorf("0.0.42 reads resume now: %v %v", l.Counts, l.Nodes)
			}
		} else if l.Counts["delete"] != 1 {
			t.Errorf("a cancelled entry no longer looks like a yes to a graph: %v", l.Counts)
		}
	})
}
