package dialects

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/auto"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/phrases"
	"holdpoint/translate/standard"
)

func TestNew(t *testing.T) {
	list := ready(t)
	if names := list.Names(); names[0] != auto.Name || !slices.IsSorted(names[1:]) || len(names) != 1+len(list) {
		t.Errorf("names %q", names)
	}
	for _, name := range list.Names() {
		if d, err := list.New(name, nil); err != nil || d.Name() != name {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	if _, err := list.New("martian", nil); err == nil || !strings.Contains(err.Error(), strings.Join(list.Names(), ", ")) {
		t.Errorf("an unknown dialect: %v", err)
	}
}

// TestNeeds: a required option of a dialect is not set. auto must leave the dialect out, and naming
// the dialect must be an error that names the option.
func TestNeeds(t *testing.T) {
	list, needy := All(), 0
	asked := asked(t, list)
	for _, e := range list {
		o, ok := e.Options.(interface{ Needs() string })
		if !ok || o.Needs() == "" {
			continue
		}
		needy++
		need, _ := e.missingVariable()
		if slices.Contains(asked, e.Name) {
			t.Errorf("auto asks %s, which needs %s", e.Name, o.Needs())
		}
		if _, err := list.New(e.Name, nil); err == nil || !strings.Contains(err.Error(), need+" is not set") {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	if needy == 0 {
		t.Error("no dialect needs anything: this test shows nothing")
	}
}

func TestForeignDialectsAreNamed(t *testing.T) {
	list := ready(t)
	asked := asked(t, list)
	for _, e := range list {
		if in := slices.Contains(asked, e.Name); in == isForeign(made(t, list, e.Name)) {
			t.Errorf("auto asks %s: %v", e.Name, in)
		}
	}
}

// TestWrongOptions checks that a wrong option is an error if its dialect is named, and also if auto
// is named and includes the dialect.
func TestWrongOptions(t *testing.T) {
	for _, name := range []string{langgraph.Name, auto.Name} {
		list := All()
		if errs := list.Read(map[string]string{"HOLDPOINT_CANCEL": "true"}); errs != nil {
			t.Fatal(errs)
		}
		const want = `HOLDPOINT_CANCEL "true": it could be taken for an approval`
		if _, err := list.New(name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if errs := list.Check(name); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestOrder checks that auto tries its dialects in the order of the list. agui accepts every
// outcome, so no dialect after it may read outcomes. phrases only guesses, so it must be the last
// dialect.
func TestOrder(t *testing.T) {
	const outcome = `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"agui:interrupt","metadata":{"langgraph":{},"agent_framework":{},"strandsName":"x"}}]}}`
	list := ready(t)
	names := asked(t, list)
	if names[len(names)-1] != phrases.Name {
		t.Errorf("%s is asked last", names[len(names)-1])
	}
	for n, name := range names {
		signer, _ := made(t, list, name).(translate.Signer)
		mine := signer != nil && signer.Sign(agui.NewEvent([]byte(outcome)), &translate.Request{Transcript: noTranscript{}})
		if behind := n > slices.Index(names, standard.Name); behind && mine {
			t.Errorf("%s is asked behind %s, and takes an outcome", name, standard.Name)
		} else if name == standard.Name && !mine {
			t.Errorf("%s does not take every outcome", name)
		}
	}
}

// asked returns the names of the dialects that auto tries.
func asked(t *testing.T, list List) []string {
	t.Helper()
	dialects, err := list.autoDialects(func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name())
	}
	return names
}

// TestAnswersReadFieldsOnly checks that the method Answers of every dialect does not read the
// messages of a request, because the method Replies finds the decisions in them. By Replies, each
// dialect for AG-UI must also find a stray: a decision that is meant for another backend.
func TestAnswersReadFieldsOnly(t *testing.T) {
	const call = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"%s","arguments":"{\"request\":{\"approval_id\":\"c\",\"function_name\":\"f\"},\"function_call_id\":\"c\"}"}}]}`
	const tool = `{"id":"t1","role":"tool","toolCallId":"c","content":"{\"approval_id\":\"c\",\"approved\":true,\"accepted\":true,\"status\":\"resolved\"}"}`
	const props = `"forwardedProps":{"command":{"resume":true}}`
	const entry = `"resume":[{"interruptId":"c~1","status":"resolved","payload":{"approved":true}}]`
	list := ready(t)
	for _, name := range list.Names() {
		d := made(t, list, name)
		p := agui.Pause{ID: "p", Dialect: name, Interrupts: []agui.Interrupt{{ID: "c~1", Native: "c", Object: []byte(`{"id":"c~1","reason":"tool_call","toolCallId":"c"}`)}}}
		for messages, stray := range map[string]bool{
			fmt.Sprintf(call, "request_approval") + "," + tool: true, fmt.Sprintf(call, "confirm_changes") + "," + tool: true,
			fmt.Sprintf(call, "f") + "," + tool: false, tool: false,
			`{"id":"u1","role":"user","content":"","function_approvals":[{"id":"c","call_id":"c","approved":true}]}`: true,
			`{"id":"u1","role":"user","content":"Yes, please proceed."}`:                                             false,
		} {
			for _, more := range []string{props, entry, props + "," + entry, `"resume":{"interruptId":"c","payload":{"approved":true}}`, `"state":{}`} {
				in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + messages + `],` + more + `}`))
				if err != nil {
					t.Fatal(err)
				}
				answers, _ := d.Answers(in, p)
				for _, a := range answers {
					if a.Message != (agui.SeenMessage{}) {
						t.Errorf("%s: an answer in %s", name, messages)
					}
				}
				reader, ok := d.(translate.HistoryReader)
				if ok == isForeign(d) {
					t.Fatalf("%s reads histories: %v", name, ok)
				}
				found := false
				for one := range reads(reader, in, name) {
					found = found || one.Decides
				}
				if ok && stray && !found {
					t.Errorf("%s: no stray in %s", name, messages)
				}
			}
		}
	}
}

// TestPlainMessagesAreNoReplies: auto does not call the dialects if MayReply returns false for each
// message of the history. So no dialect may find a decision in such a history.
func TestPlainMessagesAreNoReplies(t *testing.T) {
	const plain = `{"id":"a1","role":"assistant","content":"May I?"},{"id":"u1","role":"user","content":"{\"approved\":true,\"accepted\":true}","toolCallId":"c"},{"id":"s1","role":"system","content":"[{\"approval_id\":\"c\"}]"}`
	const tool = `{"id":"t1","role":"TOOL","content":"yes","toolCallId":"c"}`
	for messages, may := range map[string]bool{plain: false, plain + "," + tool: true, `{"id":"u1","role":"user","content":"","function_approvals":[]}`: true} {
		in := dialecttest.Input(t, `{"threadId":"t","runId":"r","messages":[`+messages+`]}`)
		if got := slices.ContainsFunc(in.Messages, translate.MayReply); got != may {
			t.Errorf("%v for %s", got, messages)
		}
		list := ready(t)
		for _, name := range list.Names() {
			reader, _ := made(t, list, name).(translate.HistoryReader)
			for _, spoken := range []string{"", name} {
				for one := range reads(reader, in, spoken) {
					if !translate.MayReply(in.Messages[one.At]) {
						t.Errorf("%s names message %d of %s", name, one.At, messages)
					}
				}
			}
		}
	}
}

func reads(reader translate.HistoryReader, in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	if reader == nil {
		return func(func(translate.Reply) bool) {}
	}
	return reader.Replies(in, spoken)
}

// TestPassingEventsDoNotAllocate checks that no dialect allocates memory for events that do not
// concern it: the calls, texts and other events of an ordinary stream, with new ids in each round.
// The state of a Run grows now and then, which is less than one allocation for a round.
func TestPassingEventsDoNotAllocate(t *testing.T) {
	const rounds = 200
	for _, name := range All().Names() {
		d := fresh(t, name, nil)
		if isForeign(d) {
			continue // its events are made by a decoder
		}
		_, run, err := d.Begin(&translate.Request{Input: dialecttest.Input(t, `{"threadId":"t","runId":"r","tools":[{"name":"x"}]}`), Transcript: noTranscript{}})
		if err != nil {
			t.Fatal(err)
		}
		var stream [][]agui.Event
		for n := range 1 + rounds { // AllocsPerRun has an additional warm-up round
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

// ordinary returns a part of a run that asks the client nothing.
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
	// agentframework reads the whole history in a MESSAGES_SNAPSHOT
	if dialect != agentframework.Name {
		list = append(list, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`)
	}
	var events []agui.Event
	for _, one := range list {
		events = append(events, agui.NewEvent([]byte(one)))
	}
	return events
}

// TestAnew checks that WithPrefix makes a list with options of its own. An error of the new list
// must name the variables of the new list.
func TestAnew(t *testing.T) {
	list := All()
	other := list.WithPrefix("HOLDPOINT_ROUTES_0_")
	if errs := other.Read(map[string]string{"HOLDPOINT_ROUTES_0_CANCEL": "true", "HOLDPOINT_CANCEL": "true"}); errs != nil {
		t.Fatal(errs)
	}
	if errs := list.Check(langgraph.Name); errs != nil {
		t.Errorf("the first list has read it: %v", errs)
	}
	const want = `HOLDPOINT_ROUTES_0_CANCEL "true": it could be taken for an approval`
	if errs := other.Check(langgraph.Name); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
		t.Errorf("%v", errs)
	}
	if _, err := other.New(langgraph.Name, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if _, err := list.New(langgraph.Name, nil); err != nil {
		t.Errorf("%v", err)
	}
}
