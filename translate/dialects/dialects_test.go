package dialects

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/phrases"
	"holdpoint/translate/superagent"
)

var mayI = phrases.Options{Phrases: phrases.List{"may i"}}

func TestNew(t *testing.T) {
	if got := Names(); !slices.Equal(got, []string{"auto", "agent-framework", "agui", "aws-strands", "draft", "langgraph", "phrases", "request-approval", "strands", "superagent"}) {
		t.Errorf("names %q", got)
	}
	for _, name := range Names() {
		d, err := New(name, Options{Superagent: superagent.Options{AgentID: "a"}, Phrases: mayI})
		if err != nil || d.Name() != name {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if _, err := New("martian", Options{}); err == nil || !strings.Contains(err.Error(), "auto, agent-framework, agui, aws-strands, draft, langgraph, phrases, request-approval, strands, superagent") {
		t.Errorf("an unknown dialect: %v", err)
	}
	if _, err := New("phrases", Options{}); err == nil || !strings.Contains(err.Error(), "PHRASES") {
		t.Errorf("phrases without any: %v", err)
	}
	if _, err := New("superagent", Options{}); err == nil || !strings.Contains(err.Error(), "AGENT_ID") {
		t.Errorf("superagent without an agent: %v", err)
	}
	if _, err := New("auto", Options{LangGraph: langgraph.Options{Cancel: translate.JSON("no")}}); err == nil {
		t.Error("an option that is wrong was taken")
	}
}

// auto asks in this order: agui takes every outcome, so nobody behind it gets one, and phrases guesses.
func TestOrder(t *testing.T) {
	for want, o := range map[string]Options{
		"agent-framework langgraph aws-strands request-approval draft agui":         {},
		"agent-framework langgraph aws-strands request-approval draft agui phrases": {Phrases: mayI},
	} {
		var names []string
		for _, e := range entries() {
			if !e.named(o) {
				names = append(names, e.name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("order %q, want %q", got, want)
		}
	}
}

// What no dialect looks into costs nothing under auto, and a call is not worth a copy either, with all dialects that
// there are.
func TestPassingEventsDoNotAllocate(t *testing.T) {
	d, err := New("auto", Options{Phrases: mayI})
	if err != nil {
		t.Fatal(err)
	}
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, run, err := d.Begin(translate.Request{Input: in})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`, `{"type":"STATE_DELTA","delta":[]}`, `{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"RAW","event":{}}`,
		`{"type":"CUSTOM","name":"x","value":{"a":1}}`,
		`{"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"f","parentMessageId":"m"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"1","delta":"x"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"1"}`, `{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"1","content":"y"}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"1","toolCallName":"f","delta":"x"}`, `{"type":"TOOL_CALL_CHUNK","delta":"x"}`, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
	} {
		ev, n := agui.NewEvent([]byte(s)), 0
		emit := func(agui.Event) { n++ }
		if allocs := testing.AllocsPerRun(1000, func() {
			if err := run.Event(ev, emit); err != nil {
				t.Fatal(err)
			}
		}); allocs != 0 || n == 0 {
			t.Errorf("%v allocations, %d events out: %s", allocs, n, s)
		}
	}
}
