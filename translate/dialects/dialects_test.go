package dialects

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/kit"
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
	if _, err := New("auto", Options{LangGraph: langgraph.Options{Cancel: kit.JSON("no")}}); err == nil {
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

// TestFieldReaders: who says that answers come in fields only finds none in a message, whatever the messages look like; auto says
// it of those that do.
func TestFieldReaders(t *testing.T) {
	const call = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"%s","arguments":"{\"request\":{\"approval_id\":\"c\",\"function_name\":\"f\"},\"function_call_id\":\"c\"}"}}]}`
	const tool = `{"id":"t1","role":"tool","toolCallId":"c","content":"{\"approval_id\":\"c\",\"approved\":true,\"accepted\":true,\"status\":\"resolved\"}"}`
	const props = `"forwardedProps":{"command":{"resume":true}}`
	const entry = `"resume":[{"interruptId":"c~1","status":"resolved","payload":{"approved":true}}]`
	all := map[string]int{}
	auto, err := New("auto", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names()[1:] {
		d, err := New(name, Options{Superagent: superagent.Options{AgentID: "a"}, Phrases: mayI})
		if err != nil {
			t.Fatal(err)
		}
		reader, _ := d.(translate.FieldReader)
		fields := reader != nil && reader.FieldsOnly(name)
		if one := slices.Contains([]string{"agent-framework", "langgraph", "aws-strands", "request-approval", "draft", "agui"}, name); one && fields != auto.(translate.FieldReader).FieldsOnly(name) {
			t.Errorf("%s: auto says otherwise", name)
		}
		p := agui.Pause{ID: "p", Dialect: name, Interrupts: []agui.Interrupt{{ID: "c~1", Native: "c", Object: []byte(`{"id":"c~1","reason":"tool_call","toolCallId":"c"}`)}}}
		for _, messages := range []string{
			fmt.Sprintf(call, "request_approval") + "," + tool, fmt.Sprintf(call, "confirm_changes") + "," + tool, fmt.Sprintf(call, "f") + "," + tool, tool,
			`{"id":"u1","role":"user","content":"","function_approvals":[{"id":"c","call_id":"c","approved":true}]}`,
			`{"id":"u1","role":"user","content":"Yes, please proceed."}`,
		} {
			for _, more := range []string{props, entry, props + "," + entry, `"resume":{"interruptId":"c","payload":{"approved":true}}`, `"state":{}`} {
				in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + messages + `],` + more + `}`))
				if err != nil {
					t.Fatal(err)
				}
				for _, ended := range []bool{false, true} {
					p.Ended = ended
					answers, _ := d.Answers(in, p)
					for _, a := range answers {
						if a.Message != (agui.SeenMessage{}) {
							all[name]++
						}
					}
				}
			}
		}
		if fields && all[name] > 0 {
			t.Errorf("%s found %d answers in messages", name, all[name])
		}
	}
	if all["agent-framework"] == 0 {
		t.Errorf("the messages are no answers to anybody: %v", all)
	}
}

// What passes costs no allocation, whatever the dialect: the calls, the texts and what else there is in an ordinary stream,
// each round under ids of its own. What a Run keeps of them grows now and then; that is less than one allocation for a round.
func TestPassingEventsDoNotAllocate(t *testing.T) {
	const rounds = 200
	for _, name := range Names() {
		d := fresh(t, name, nil)
		if isForeign(d) {
			continue // it makes its events
		}
		_, run, err := d.Begin(translate.Request{Input: parse(t, `{"threadId":"t","runId":"r","tools":[{"name":"x"}]}`), Transcript: noTranscript{}})
		if err != nil {
			t.Fatal(err)
		}
		var stream [][]agui.Event
		for n := range 1 + rounds { // AllocsPerRun has one that does not count
			stream = append(stream, ordinary(n, name))
		}
		shown, played := 0, 0
		emit := func(agui.Event) { shown++ }
		allocs := testing.AllocsPerRun(rounds, func() {
			for _, ev := range stream[played] {
				if err := run.Event(ev, emit); err != nil {
					t.Fatal(err)
				}
			}
			played++
		})
		if all := played * len(stream[0]); allocs != 0 || shown != all {
			t.Errorf("%s: %v allocations for %d events, %d of %d shown", name, allocs, len(stream[0]), shown, all)
		}
	}
}

// ordinary is a part of a run that asks nothing.
func ordinary(n int, dialect string) []agui.Event {
	id := fmt.Sprint("text-", n)
	list := append(call(n),
		`{"type":"STEP_STARTED","stepName":"s"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"`+id+`","role":"assistant"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"`+id+`","delta":"x"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"`+id+`","delta":"y"}`, `{"type":"TEXT_MESSAGE_END","messageId":"`+id+`"}`,
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"`+id+`","toolCallName":"f","delta":"x"}`, `{"type":"TOOL_CALL_CHUNK","delta":"x"}`,
		`{"type":"STATE_DELTA","delta":[]}`, `{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"RAW","event":{}}`, `{"type":"CUSTOM","name":"x","value":{"a":1}}`,
		`{"type":"REASONING_MESSAGE_CONTENT","messageId":"`+id+`","delta":"x"}`, `{"type":"STEP_FINISHED","stepName":"s"}`,
	)
	if dialect != agentframework.Name { // which reads the whole history in it
		list = append(list, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`)
	}
	var events []agui.Event
	for _, one := range list {
		events = append(events, agui.NewEvent([]byte(one)))
	}
	return events
}
