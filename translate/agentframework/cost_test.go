package agentframework

import (
	"strconv"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestPassingEventsDoNotAllocate: an event that does not concern the dialect must cost no
// allocation.
func TestPassingEventsDoNotAllocate(t *testing.T) {
	_, plain, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: &dialecttest.Log{}})
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
	// While a result is missing, events other than text are emitted at once, and the cost of a
	// piece of text does not depend on the text before it.
	_, waiting := answering(t, p, l, input(t, entries(p, yes, no)))
	play(waiting, started)()
	if n := testing.AllocsPerRun(100, play(waiting, ordinary[1:4]...)); n != 0 {
		t.Errorf("%v allocations for what need not wait", n)
	}
	play(waiting, textOpen)()
	if n := testing.AllocsPerRun(100, play(waiting, ordinary[0])); n > 4 {
		t.Errorf("%v allocations for what waits", n)
	}
}

// TestHeldCallsHaveOneBound: the size of the held events of all calls together is bounded. All of
// these events must be sent in the end.
func TestHeldCallsHaveOneBound(t *testing.T) {
	const calls = 40
	list := []string{started}
	long := strings.Repeat("x", maxHeld/10)
	for n := range calls {
		id := strconv.Itoa(n)
		list = append(list, `{"type":"TOOL_CALL_START","toolCallId":"`+id+`","toolCallName":"confirm_changes"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"`+id+`","delta":"`+long+`"}`)
	}
	l := &dialecttest.Log{}
	_, one, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	shown, most := 0, 0
	for _, s := range list {
		if err := one.Event(agui.NewEvent([]byte(s)), func(agui.Event) { shown++ }); err != nil {
			t.Fatal(err)
		}
		most = max(most, one.(*run).events.Size())
	}
	end, err := one.End(translate.End{Event: agui.NewEvent([]byte(finished))})
	if shown += len(end.HeldEvents); err != nil || shown != len(list) || most > maxHeld+len(long) {
		t.Errorf("%v: %d of %d events came out, %d bytes were held", err, shown, len(list), most)
	}
}
