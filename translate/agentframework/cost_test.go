package agentframework

import (
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Most events of a stream are none of the dialect's business, and cost nothing.
func TestPassingEventsDoNotAllocate(t *testing.T) {
	_, plain, err := newDialect(t).Begin(translate.Request{Input: input(t, ""), Transcript: &log{}})
	if err != nil {
		t.Fatal(err)
	}
	p, l := pausedBy(t, asking(withOutcome(schemaOld, "a", "b"), "", "a", "b")...)
	_, resumed := answering(t, p, l, input(t, entries(p, yes, no)))
	play := func(run translate.Run, list ...string) func() {
		var events []agui.Event
		for _, s := range list {
			events = append(events, agui.NewEvent([]byte(s)))
		}
		emit := func(agui.Event) {}
		return func() {
			for _, ev := range events {
				if err := run.Event(ev, emit); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	ordinary := []string{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`, `{"type":"STATE_DELTA","delta":[]}`, `{"type":"RAW","event":{}}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"x"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"z","delta":"x"}`,
	}
	play(resumed, started, result("a", "gone"))()
	for name, run := range map[string]translate.Run{"a plain run": plain, "a run that has its results": resumed} {
		if n := testing.AllocsPerRun(100, play(run, ordinary...)); n != 0 {
			t.Errorf("%s: %v allocations for %d events", name, n, len(ordinary))
		}
	}
	// While a result is to come, a delta costs the same however much was said before.
	_, waiting := answering(t, p, l, input(t, entries(p, yes, no)))
	play(waiting, started, textOpen)()
	if n := testing.AllocsPerRun(100, play(waiting, ordinary[0])); n > 4 {
		t.Errorf("%v allocations for what waits", n)
	}
}
