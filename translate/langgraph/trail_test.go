package langgraph

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/langgraphapi"
)

// rawOfTask returns a RAW event as Python's adapter sends it. For a node the parameter run is
// empty.
func rawOfTask(kind, task, run, name string, parents ...string) string {
	return fmt.Sprintf(`{"type":"RAW","event":{"event":%q,"data":{"input":{"x":1}},"run_id":%q,"name":%q,"metadata":{"thread_id":"t1","langgraph_checkpoint_ns":%q},"parent_ids":["root"%s]}}`,
		kind, run, name, task, strings.Join(append([]string{""}, quotedAll(parents)...), ","))
}

func quotedAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, dialecttest.Quoted(s))
	}
	return out
}

const (
	taskT = "tools:3e5b2d62-8f83-55b5-7b83-d85bb3dafdc3"
	taskN = "ask:1492de92-a9fc-3c0c-d17c-8d6ec29aa3f0"
)

// TestCallsBesideTheOneThatAsks checks which other calls of a task could get the answer to the
// task's question.
func TestCallsBesideTheOneThatAsks(t *testing.T) {
	start := func(run string, parents ...string) string {
		return rawOfTask("on_tool_start", taskT, run, "tool_"+run, parents...)
	}
	end := func(run string) string { return rawOfTask("on_tool_end", taskT, run, "tool_"+run) }
	fails := func(run string) string { return rawOfTask("on_tool_error", taskT, run, "tool_"+run) }
	node := rawOfTask("on_chain_start", taskN, "n", "ask")
	idT, idT1, idN := langgraphapi.IDOf(taskT), langgraphapi.IDOf(taskT+"|1"), langgraphapi.IDOf(taskN)
	for name, c := range map[string]struct {
		stream []string
		id     string
		want   string // the names of the calls
	}{
		"one call":                               {[]string{start("a"), fails("a")}, idT, ""},
		"two calls, one asked":                   {[]string{start("a"), start("b"), fails("a")}, idT, "tool_a tool_b"},
		"two calls, both asked":                  {[]string{start("a"), start("b"), fails("a"), fails("b")}, idT, "tool_a tool_b"},
		"langgraph 1.2 counts the questions":     {[]string{start("a"), start("b"), fails("a")}, idT1, "tool_a tool_b"},
		"one of three has ended":                 {[]string{start("a"), start("b"), start("c"), end("b"), fails("a")}, idT, "tool_a tool_c"},
		"the other one has ended":                {[]string{start("a"), start("b"), end("b"), fails("a")}, idT, ""},
		"an end that does not say of what":       {[]string{start(""), start(""), fails(""), end("")}, idT, "tool_ tool_"},
		"one after the other":                    {[]string{start("a"), end("a"), start("b"), fails("b")}, idT, ""},
		"a tool that calls a tool":               {[]string{start("a"), start("b", "a"), fails("b"), fails("a")}, idT, ""},
		"a node asks beside tools that run":      {[]string{node, start("a"), start("b")}, idN, ""},
		"a graph within a tool asks":             {[]string{start("a"), start("b")}, idA, "tool_a tool_b"},
		"the graph within a lone tool asks":      {[]string{start("a")}, idA, ""},
		"an answer by an id that nobody can map": {[]string{start("a"), start("b")}, "", "tool_a tool_b"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			stream := append([]string{started}, c.stream...)
			p := pausedBy(t, d, append(stream, custom(c.id, `{"message":"Run it?"}`), finished)...)
			beside := keptOf(p).Natives[0].RivalCalls
			for _, want := range strings.Fields(c.want) {
				if !strings.Contains(string(beside), `{"name":"`+want+`","args":{"x":1}}`) {
					t.Errorf("beside %s, want %s in it", beside, want)
				}
			}
			if (beside == nil) != (c.want == "") || strings.Count(string(beside), "name") != len(strings.Fields(c.want)) {
				t.Errorf("beside %s, want %q", beside, c.want)
			}
			if told := p.Interrupts[0].Object; strings.Contains(string(told), `"parallel":`) != (c.want != "") {
				t.Errorf("told %s", told)
			}
			for payload, denies := range map[string]bool{
				``: true, `false`: true, `{"approved":false}`: true, `"no"`: true, `{"decision":"reject"}`: true,
				`true`: false, `{"approved":true}`: false, `"yes"`: false, `"notes.txt"`: false, `{"approved":false,"accept":{"a":1}}`: false,
			} {
				_, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payload))))
				if refused := dialecttest.Code(err) == agui.ApprovalAmbiguous; refused != (c.want != "" && !denies) && c.id != "" {
					t.Errorf("payload %s: %v", payload, err)
				}
			}
		})
	}
	// Run against @langchain/langgraph 1.4.18: the call "b" asked, but the answer went to the call
	// "a", which then ran.
	t.Run("the TypeScript adapter", func(t *testing.T) {
		raw := func(kind, run string) string {
			return `{"type":"RAW","event":{"event":"` + kind + `","data":{"input":{"x":1}},"run_id":"` + run + `","name":"tool_` + run + `","tags":["seq:step:1"],"metadata":{"langgraph_checkpoint_ns":"` + taskT + `","__pregel_task_id":"x"}}}`
		}
		tuple := `{"type":"RAW","event":[{"id":"m","content":"x"},{"langgraph_checkpoint_ns":"` + taskT + `"}]}`
		p := pausedBy(t, newDialect(t, Options{}), started, tuple, raw("on_tool_start", "a"), raw("on_tool_start", "b"), raw("on_tool_error", "b"), custom(idT, `"B?"`), finished)
		if kept := keptOf(p); string(kept.Natives[0].RivalCalls) != `[{"name":"tool_a","args":{"x":1}},{"name":"tool_b","args":{"x":1}}]` {
			t.Errorf("%s", kept.Natives[0].RivalCalls)
		}
	})
	t.Run("after an answer a call that has ended may have asked", func(t *testing.T) {
		d := newDialect(t, Options{})
		p := pausedBy(t, d, started, start("a"), start("b"), fails("a"), custom(idT, `"A?"`), finished)
		run, l := resumed(t, d, p, "false")
		got := dialecttest.Play(run, l, started, start("a"), start("b"), end("a"), fails("b"), custom(idT1, `"B?"`), finished)
		again := dialecttest.WithIDs(got.Result.Asked.Pause(Name))
		if _, _, err := resumeWith(t, d, again, input(t, dialecttest.ResumeArray(dialecttest.Entry(again.Interrupts[0].ID, "true")))); dialecttest.Code(err) != agui.ApprovalAmbiguous {
			t.Errorf("%v", err)
		}
	})
	t.Run("a review within a tool", func(t *testing.T) {
		d := newDialect(t, Options{})
		p := pausedBy(t, d, started, start("a"), start("b"), fails("a"), custom(idT, inboxOne), finished)
		for payload, want := range map[string]agui.Code{`{"approved":true}`: agui.ApprovalAmbiguous, `{"type":"edit","args":{"action":"x","args":{}}}`: agui.ApprovalAmbiguous,
			`{"approved":false}`: "", `{"type":"ignore","args":null}`: ""} {
			if _, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, payload)))); dialecttest.Code(err) != want {
				t.Errorf("%s: %v", payload, err)
			}
		}
	})
	t.Run("more than can be kept", func(t *testing.T) {
		d := newDialect(t, Options{})
		stream := []string{started}
		for n := range langgraphapi.MaxTasks + 1 {
			stream = append(stream, rawOfTask("on_chain_start", fmt.Sprintf("n:%d", n), "n", "n"))
		}
		p := pausedBy(t, d, append(stream, custom(idA, `"A?"`), finished)...)
		if kept := keptOf(p); string(kept.Natives[0].RivalCalls) != "[]" || kept.Tasks != nil {
			t.Errorf("%s %v", kept.Natives[0].RivalCalls, kept.Tasks)
		}
	})
}

// TestAskedAgainBesideCalls: a run that only repeats its questions shows no tasks. So the open
// calls in the history must be used to find the calls that could get the answer.
func TestAskedAgainBesideCalls(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		calls string
		want  agui.Code
	}{
		"two calls wait":        {`{"message":"A?"}`, `{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}`, agui.ApprovalAmbiguous},
		"one call waits":        {`{"message":"A?"}`, `{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}`, ""},
		"its own call is named": {`{"message":"A?","tool_call_id":"a"}`, `{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}`, ""},
	} {
		d := newDialect(t, Options{})
		l := &dialecttest.Log{}
		l.Add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","toolCalls":[` + c.calls + `]}]}`)))
		_, run, err := d.Begin(&translate.Request{Input: input(t, ""), Transcript: l})
		if err != nil {
			t.Fatal(err)
		}
		p := dialecttest.WithIDs(dialecttest.Play(run, l, started, custom(idA, c.value), finished).Result.Asked.Pause(Name))
		if _, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `{"approved":true}`)))); dialecttest.Code(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBlindIsWarnedOf: without RAW events, two calls of one ToolNode cannot be distinguished from a
// node that asks about one of two calls. The operator must be warned then.
func TestBlindIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		stream []string
		want   int
	}{
		"no RAW events, two calls wait": {[]string{started, stepAsk, pyCalls, custom("", `"A?"`), finished}, 1},
		"with RAW events":               {[]string{started, stepAsk, rawOfTask("on_chain_start", taskN, "n", "ask"), pyCalls, custom(langgraphapi.IDOf(taskN), `"A?"`), finished}, 0},
		"a review of one of two calls":  {[]string{started, stepAsk, pyCalls, custom("", jsHITL), finished}, 0},
	} {
		warned := 0
		d, err := New(Options{}, func(string, ...any) { warned++ })
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			p := pausedBy(t, d, c.stream...)
			if keptOf(p).Natives[0].RivalCalls != nil {
				t.Errorf("%s: %s", name, keptOf(p).Natives[0].RivalCalls)
			}
		}
		if warned != c.want {
			t.Errorf("%s: warned %d times", name, warned)
		}
	}
}

// TestWhatBecameOfTheAnswer checks what a resumed run shows about its answer. Either the task that
// asked continues, or the graph began again and the answer is lost, or this stays unknown.
func TestWhatBecameOfTheAnswer(t *testing.T) {
	task := func(ns string) string { return rawOfTask("on_chain_start", ns, "n", "ask") }
	mine, fresh := task(taskN), task("ask:31a299d7-e36e-66b6-b95b-2dc1e87e9783")
	inner := task(taskN + "|inner:31a299d7-e36e-66b6-b95b-2dc1e87e9783")
	none := `{"type":"MESSAGES_SNAPSHOT","messages":[]}`
	again := custom(idB, approval)
	pauses := map[string][]string{
		"shown":        {started, stepAsk, mine, state, messages, custom(langgraphapi.IDOf(taskN), approval), finished},
		"quiet":        {started, stepAsk, state, messages, custom(idA, approval), finished},
		"quiet silent": {started, stepAsk, state, none, custom(idA, approval), finished},
	}
	for name, c := range map[string]struct {
		pause  string
		stream []string
		want   string // "lost", "doubt", "asks" or "ends"
		shown  string
	}{
		"the task goes on, and the conversation is gone": {"shown", []string{started, stepAsk, mine, state, none, finished}, "ends", "RUN_STARTED STEP_STARTED RAW STATE_SNAPSHOT MESSAGES_SNAPSHOT"},
		"a task within it goes on":                       {"shown", []string{started, stepAsk, inner, state, none, finished}, "ends", ""},
		"the task goes on and asks the same again":       {"shown", []string{started, stepAsk, mine, fresh, state, none, again, finished}, "asks", ""},
		"another task begins":                            {"shown", []string{started, stepAsk, fresh, textStart("x"), again, finished}, "lost", "RUN_STARTED STEP_STARTED"},
		"no RAW event comes this time":                   {"shown", []string{started, stepAsk, state, messages, finished}, "ends", ""},
		"quiet: the conversation is gone":                {"quiet", []string{started, stepAsk, state, none, finished}, "doubt", "RUN_STARTED STEP_STARTED STATE_SNAPSHOT"},
		"quiet: gone, and the same is asked again":       {"quiet", []string{started, stepAsk, state, none, again, finished}, "asks", "RUN_STARTED STEP_STARTED STATE_SNAPSHOT"},
		"quiet: the conversation is there":               {"quiet", []string{started, stepAsk, state, messages, finished}, "ends", ""},
		"quiet: gone in the midst, and there at the end": {"quiet", []string{started, stepAsk, none, messages, finished}, "ends", ""},
		"quiet: it never was in the state":               {"quiet silent", []string{started, stepAsk, state, none, finished}, "ends", "RUN_STARTED STEP_STARTED STATE_SNAPSHOT MESSAGES_SNAPSHOT"},
		"quiet: it never was, and the same asked again":  {"quiet silent", []string{started, stepAsk, state, none, again, finished}, "asks", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, pauses[c.pause]...)
			p.SeenMessages = []agui.SeenMessage{{ID: "u1", Digest: "said"}}
			run, l := resumed(t, d, p, `{"approved":true}`)
			got := dialecttest.Play(run, l, c.stream...)
			is := map[bool]string{true: "asks", false: "ends"}[len(got.Result.Asked.Interrupts) > 0]
			switch {
			case got.Result.Fate == translate.Lost:
				is = "lost"
			case got.Result.Fate == translate.InDoubt:
				is = "doubt"
			}
			if is != c.want || (dialecttest.Code(got.Err) == agui.BackendLostInterrupt) != (c.want == "lost") {
				t.Errorf("it %s, want %s: %+v", is, c.want, got)
			}
			if c.shown != "" && got.Types() != c.shown {
				t.Errorf("shown %s, want %s", got.Types(), c.shown)
			}
		})
	}
}

func textStart(id string) string { return `{"type":"TEXT_MESSAGE_START","messageId":"` + id + `"}` }

// TestWordsThatWereNotTaken: a client sends messages while a question is open. The backend does not
// read them, and only repeats its question. If a later request answers the question and has these
// messages again, they must count as new, unless the snapshot of the backend has them.
func TestWordsThatWereNotTaken(t *testing.T) {
	d := newDialect(t, Options{})
	plain := func(messages string, stream ...string) translate.Result {
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+messages+`]}`)
		_, run, err := d.Begin(&translate.Request{Input: in, Transcript: &dialecttest.Log{}})
		if err != nil {
			t.Fatal(err)
		}
		return dialecttest.Play(run, &dialecttest.Log{}, stream...).Result
	}
	said := func(id string) string { return `{"id":"` + id + `","role":"user","content":"x"}` }
	answer := `{"id":"a1","role":"assistant","content":"y"}`
	for name, c := range map[string]struct {
		messages string
		stream   []string
		want     string
	}{
		"the last words":            {said("u1") + "," + answer + "," + said("u2"), []string{started, custom(idA, `1`), finished}, "u2"},
		"what began the thread":     {said("u1"), []string{started, custom(idA, `1`), finished}, ""},
		"what came after it":        {said("u1") + "," + said("u2"), []string{started, custom(idA, `1`), finished}, "u2"},
		"nothing at the end":        {said("u1") + "," + answer, []string{started, custom(idA, `1`), finished}, ""},
		"a run that did something":  {said("u1") + "," + answer + "," + said("u2"), []string{started, stepAsk, custom(idA, `1`), finished}, ""},
		"snapshots, as no such run": {said("u1") + "," + answer + "," + said("u2"), []string{started, state, messages, custom(idA, `1`), finished}, ""},
	} {
		var got []string
		for _, m := range plain(c.messages, c.stream...).UnacceptedMessages {
			got = append(got, m.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	u2 := agui.ParseMessage([]byte(said("u2")))
	for has, want := range map[string]bool{"u1": true, "u2": false} {
		p := pausedBy(t, d, started, custom(idA, approval), finished)
		run, l := resumed(t, d, p, "true", func(r *translate.Request) { r.NewMessages = []agui.Message{u2} })
		got := dialecttest.Play(run, l, started, stepAsk, stepEnd, state, `{"type":"MESSAGES_SNAPSHOT","messages":[`+said(has)+`]}`, finished)
		if (got.Result.Next != nil) != want {
			t.Errorf("the snapshot has %s: %+v", has, got.Result.Next)
		}
	}
}
