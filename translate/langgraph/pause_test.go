package langgraph

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/langgraphapi"
)

// objects returns the interrupts of a pause without their ids.
func objects(p agui.Pause) []string {
	var list []string
	for _, i := range p.Interrupts {
		list = append(list, string(i.Object))
	}
	return list
}

// TestPauseIsHeldUntilTheEnd: the CUSTOM event of a question must be held until the end of the run.
// All other frames must be forwarded unchanged (LangGraph reference, section 3.1; section 11, row
// 2).
func TestPauseIsHeldUntilTheEnd(t *testing.T) {
	for name, stream := range map[string][]string{
		"custom before the snapshots (up to 0.0.42)": {started, stepAsk, custom(idA, approval), stepEnd, state, messages, finished},
		"custom after the snapshots (0.0.43)":        {started, stepAsk, stepEnd, state, messages, custom(idA, approval), finished},
		"re-emitted, without snapshots (row 9)":      {started, custom(idA, approval), finished},
	} {
		t.Run(name, func(t *testing.T) {
			p := playPlain(t, newDialect(t, Options{}), stream...)
			if strings.Contains(p.Types(), "CUSTOM") || len(p.Emitted) != len(stream)-2 {
				t.Errorf("emitted %s", p.Types())
			}
			for _, ev := range p.Emitted {
				if string(ev.Frame) != "data: "+string(ev.JSON)+"\n\n" || ev.Edited {
					t.Errorf("%s was touched", ev.Type)
				}
			}
			pause := p.Result.Asked.Pause(Name)
			if len(pause.Interrupts) != 1 || pause.Interrupts[0].Native != idA {
				t.Fatalf("pause %+v", pause)
			}
			want := `{"reason":"langgraph:interrupt","message":"Please confirm","metadata":{"langgraph":{"raw":` + approval + `}}}`
			if got := objects(pause)[0]; got != want {
				t.Errorf("object\n%s, want\n%s", got, want)
			}
			if string(p.Result.Finish.JSON) != finished {
				t.Errorf("finish %s", p.Result.Finish.JSON)
			}
			if len(pause.Native) != 1 || string(pause.Native[0]) != custom(idA, approval) || string(pause.NativeFinish) != finished {
				t.Errorf("native form %s, %s", pause.Native, pause.NativeFinish)
			}
		})
	}
}

// TestEndsThatAreNoPause checks runs that end without a question. RUN_STARTED and RUN_FINISHED must
// keep the backend's ids, because the proxy itself replaces them with the client's ids (row 12).
func TestEndsThatAreNoPause(t *testing.T) {
	d := newDialect(t, Options{})
	for name, c := range map[string]struct {
		stream []string
		finish string
	}{
		"an ordinary run": {[]string{started, stepAsk, finished}, finished},
		"RUN_ERROR, what was asked goes (section 2)":        {[]string{started, custom(idA, approval), failed}, failed},
		"no terminal event":                                 {[]string{started, custom(idA, approval)}, ""},
		"Mastra's announcement passes":                      {[]string{started, custom("", `{"type":"mastra_suspend","toolCallId":"c"}`), finished}, finished},
		"an outcome without interrupts":                     {[]string{started, withOutcome()}, withOutcome()},
		"a success outcome":                                 {[]string{started, `{"type":"RUN_FINISHED","outcome":{"type":"success"}}`}, `{"type":"RUN_FINISHED","outcome":{"type":"success"}}`},
		"an event with two types is opaque":                 {[]string{started, `{"type":"CUSTOM","type":"CUSTOM","name":"on_interrupt","value":"x"}`, finished}, finished},
		"static breakpoint: nothing to see (section 3.1)":   {[]string{started, stepAsk, stepEnd, state, messages, finished}, finished},
		"a CUSTOM event of another name":                    {[]string{started, `{"type":"CUSTOM","name":"PredictState","value":[]}`, finished}, finished},
		"Mastra's announcement as an object":                {[]string{started, `{"type":"CUSTOM","name":"on_interrupt","value":{"type":"mastra_suspend"}}`, finished}, finished},
		"CrewAI's announcement passes":                      {[]string{started, `{"type":"CUSTOM","name":"on_interrupt","value":{"id":"x","reason":"crewai:human_feedback"}}`, finished}, finished},
		"subgraph: snapshots in mid-run (row 18, no pause)": {[]string{started, stepAsk, state, messages, stepEnd, state, messages, finished}, finished},
		"concatenated arguments of parallel calls (row 17)": {[]string{started, `{"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"{}{}"}`, finished}, finished},
		"an interrupt outcome of other things than objects": {[]string{started, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[null,1]}}`}, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[null,1]}}`},
		"interrupts missing altogether (row 1)":             {[]string{started, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt"}}`}, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt"}}`},
		"interrupts null (row 1)":                           {[]string{started, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":null}}`}, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := playPlain(t, d, c.stream...)
			if p.Err != nil || len(p.Result.Asked.Interrupts) != 0 || p.Result.Fate == translate.Lost || p.Result.Next != nil {
				t.Fatalf("%+v", p)
			}
			if got := string(p.Result.Finish.JSON); got != c.finish || p.Result.Finish.Edited {
				t.Errorf("finish %s, want %s", got, c.finish)
			}
		})
	}
}

// TestCustomsAndOutcomeAreOneSet: CUSTOM events and the outcome of a run may have the same
// questions. Each question must be asked once, with the content that the outcome has (LangGraph
// reference, section 3.2; section 11, rows 1 and 2).
func TestCustomsAndOutcomeAreOneSet(t *testing.T) {
	a, b := adapters(idA, `{"action":"A"}`, ""), adapters(idB, `{"action":"B"}`, "")
	two := []string{idA + " A", idB + " B"}
	for name, c := range map[string]struct {
		stream []string
		want   []string // each "native-id action"
	}{
		"several customs (row 1)":                      {[]string{custom(idA, `{"action":"A"}`), custom(idB, `{"action":"B"}`), finished}, two},
		"the first only (section 3.4, up to 0.0.42)":   {[]string{custom(idA, `{"action":"A"}`), finished}, two[:1]},
		"outcome alone, customs off (row 2)":           {[]string{withOutcome(a, b)}, two},
		"both":                                         {[]string{custom(idA, `{"action":"A"}`), custom(idB, `{"action":"B"}`), withOutcome(a, b)}, two},
		"both in another order: the outcome's":         {[]string{custom(idB, `{"action":"B"}`), custom(idA, `{"action":"A"}`), withOutcome(a, b)}, two},
		"customs without rawEvent beside the outcome":  {[]string{custom("", `{"action":"A"}`), custom("", `{"action":"B"}`), withOutcome(a, b)}, two},
		"the outcome lacks one":                        {[]string{custom(idA, `{"action":"A"}`), custom(idB, `{"action":"B"}`), withOutcome(a)}, two},
		"one id twice at once, different values":       {[]string{custom(idA, `{"action":"A"}`), custom(idA, `{"action":"B"}`), finished}, []string{idA + " A", idA + " B"}},
		"one id twice at once, equal values (#6626)":   {[]string{custom(idA, `{"action":"A"}`), custom(idA, `{"action":"A"}`), finished}, []string{idA + " A", idA + " A"}},
		"one id twice in both forms, different values": {[]string{custom(idA, `{"action":"A"}`), custom(idA, `{"action":"B"}`), withOutcome(a, adapters(idA, `{"action":"B"}`, ""))}, []string{idA + " A", idA + " B"}},
		"one id twice in both forms, equal values":     {[]string{custom(idA, `{"action":"A"}`), custom(idA, `{"action":"A"}`), withOutcome(a, a)}, []string{idA + " A", idA + " A"}},
		"a number written in two ways is one value":    {[]string{custom(idA, `{"action":"A","x":1.0}`), withOutcome(adapters(idA, `{"action":"A","x":1}`, ""))}, two[:1]},
		"several customs without any id (row 3)":       {[]string{custom("", `{"action":"A"}`), custom("", `{"action":"B"}`), finished}, []string{" A", " B"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := playPlain(t, newDialect(t, Options{}), append([]string{started}, c.stream...)...)
			var got []string
			for _, i := range p.Result.Asked.Interrupts {
				got = append(got, i.Native+" "+gjson.GetBytes(i.Object, "metadata.langgraph.raw.action").Str)
			}
			if strings.Join(got, ", ") != strings.Join(c.want, ", ") {
				t.Errorf("interrupts %q, want %q", got, c.want)
			}
			if p.Result.Finish.Get("outcome").Exists() {
				t.Errorf("finish %s", p.Result.Finish.JSON)
			}
		})
	}
}

// TestNativeID checks where the backend's own id of a question is found, and how a question without
// an id is answered (section 4 of the LangGraph reference). The values of ns and the ids come from
// xxhash 4.1.0 for Python.
func TestNativeID(t *testing.T) {
	const value = `,"value":"What?","name":"on_interrupt","type":"CUSTOM"}`
	ns := `"ns":["ask:6c1e2d3f-0000-4000-8000-000000000000"],"resumable":true,"when":"during"`
	for name, c := range map[string]struct {
		raw  string
		id   string
		way  langgraphapi.AnswerForm
		meta string
	}{
		"rawEvent.id, key order of Python": {`{"value":"What?","id":"` + idA + `"}`, idA, langgraphapi.ByID, ""},
		"JS 0.3: interrupt_id":             {`{"value":"What?","interrupt_id":"` + idA + `",` + ns + `}`, idA, langgraphapi.ByID, ns},
		"namespace only: none":             {`{"value":"What?",` + ns + `}`, "", langgraphapi.ByScalar, ns},
		"a namespace of something else":    {`{"ns":[1]}`, "", langgraphapi.ByScalar, `"ns":[1]`},
		"NodeInterrupt has no id":          {`{"value":"What?","id":"placeholder-id"}`, "placeholder-id", langgraphapi.ByScalar, ""},
		"nulls are left out":               {`{"id":"` + idA + `","ns":null,"when":null}`, idA, langgraphapi.ByID, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			pause := pausedBy(t, d, started, `{"rawEvent":`+c.raw+value, finished)
			n := langgraphapi.Groups(pause, nil)[0].Native
			if pause.Interrupts[0].Native != c.id || n.AnswerForm != c.way {
				t.Errorf("id %q by %q, want %q by %q", pause.Interrupts[0].Native, n.AnswerForm, c.id, c.way)
			}
			want := `{"raw":"What?"`
			if c.meta != "" {
				want += "," + c.meta
			}
			if got := gjson.GetBytes(pause.Interrupts[0].Object, "metadata.langgraph").Raw; got != want+"}" {
				t.Errorf("metadata %s, want %s}", got, want)
			}
		})
	}
	t.Run("no rawEvent at all (row 13)", func(t *testing.T) {
		pause := pausedBy(t, newDialect(t, Options{}), started, custom("", approval), finished)
		if n := langgraphapi.Groups(pause, nil)[0]; n.AnswerForm != langgraphapi.ByBareScalar || n.ID != "" {
			t.Errorf("%+v", n)
		}
		if got := objects(pause)[0]; !strings.Contains(got, `"message":"Please confirm"`) {
			t.Errorf("object %s", got)
		}
	})
}

// TestValue: rawEvent shows the type of a question's value, but only the text in value is complete.
// Both are needed to read the value (section 3.1 of the LangGraph reference).
func TestValue(t *testing.T) {
	event := func(value, typed string) string {
		if typed != "" {
			typed = `,"rawEvent":{"id":"` + idA + `","value":` + typed + `}`
		}
		return `{"type":"CUSTOM","name":"on_interrupt","value":` + value + typed + `}`
	}
	for name, c := range map[string]struct{ event, want string }{
		"a string":                                           {event(`"What?"`, `"What?"`), `"What?"`},
		"a string that looks like a number":                  {event(`"42"`, `"42"`), `"42"`},
		"a number":                                           {event(`"42"`, `42`), `42`},
		"42 without rawEvent stays a string":                 {event(`"42"`, ``), `"42"`},
		"a string that looks like an object":                 {event(`"{}"`, `"{}"`), `"{}"`},
		"{} without rawEvent is read as an object":           {event(`"{}"`, ``), `{}`},
		"a list without rawEvent":                            {event(`" [1]"`, ``), ` [1]`},
		"text that only begins like an object":               {event(`"{not JSON"`, ``), `"{not JSON"`},
		"config stands in the text only (row 14)":            {event(`"{\"a\": 1, \"config\": {\"b\": 2}}"`, `{"a":1}`), `{"a": 1, "config": {"b": 2}}`},
		"NaN is no JSON":                                     {event(`"{\"a\": NaN}"`, `{"a":null}`), `{"a":null}`},
		"keys that were UUIDs (row 14)":                      {event(`"{\"0b5e\": 1}"`, `{"0b5e":1}`), `{"0b5e": 1}`},
		"null":                                               {event(`"null"`, `null`), ``},
		"the bare value of adapters before 2025-06":          {event(`{"a":1}`, ``), `{"a":1}`},
		"text and rawEvent of different kinds: the rawEvent": {event(`"[1]"`, `{"a":1}`), `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			pause := pausedBy(t, newDialect(t, Options{}), started, c.event, finished)
			got := gjson.GetBytes(pause.Interrupts[0].Object, "metadata.langgraph.raw")
			if c.want != "" && got.Raw != strings.TrimSpace(c.want) {
				t.Errorf("raw %s, want %s", got.Raw, c.want)
			}
			if c.want == "" && got.Exists() {
				t.Errorf("raw %s, want none", got.Raw)
			}
		})
	}
}

// TestShapes checks which shape each interrupt value has, and which question it becomes (LangGraph
// reference, sections 7.1 and 7.2; section 11, row 4).
func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		shape langgraphapi.Shape
		want  string // the members before metadata
	}{
		"CopilotKit, a text":       {kitText, langgraphapi.CopilotKit, `{"reason":"langgraph:interrupt","message":"What is your name?"`},
		"CopilotKit, an action":    {kitTool, langgraphapi.CopilotKit, `{"reason":"langgraph:interrupt","message":"book"`},
		"CopilotKit before HITL":   {`{"__copilotkit_interrupt_value__":"x","action_requests":[{"name":"a"}]}`, langgraphapi.CopilotKit, `{"reason":"langgraph:interrupt","message":"x"`},
		"a string":                 {`"What is your name?"`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","message":"What is your name?"`},
		"an empty string":          {`""`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","message":""`},
		"a number":                 {`7`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"a list":                   {`["x"]`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"true":                     {`true`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"question":                 {`{"title":"t","question":"q?"}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","message":"q?"`},
		"prompt":                   {`{"title":"t","description":"d","prompt":"p?"}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","message":"p?"`},
		"description":              {`{"title":"t","description":"d"}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","message":"d"`},
		"title":                    {`{"title":"t","question":1}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","message":"t"`},
		"nothing to say":           {`{"a":1}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"empty reason is kept":     {`{"reason":"","message":""}`, langgraphapi.Plain, `{"reason":"","message":""`},
		"null reason is none":      {`{"reason":null,"message":null}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"a reason that is no text": {`{"reason":1}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"schema and expiry, camel wins": {
			`{"responseSchema":{"a":1},"response_schema":{"b":1},"expiresAt":"2030-01-01T00:00:00Z","expires_at":"x"}`, langgraphapi.Plain,
			`{"reason":"langgraph:interrupt","responseSchema":{"a":1},"expiresAt":"2030-01-01T00:00:00Z"`,
		},
		"schema and expiry, snake":      {`{"responseSchema":null,"response_schema":{},"expires_at":"2030-01-01T00:00:00Z"}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","responseSchema":{},"expiresAt":"2030-01-01T00:00:00Z"`},
		"a schema that is no object":    {`{"responseSchema":true}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"a call that nobody saw":        {`{"toolCallId":"nobody","reason":"tool_call"}`, langgraphapi.Plain, `{"reason":"langgraph:tool_approval"`},
		"an empty toolCallId":           {`{"tool_call_id":""}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"a call that the client saw":    {`{"tool_call_id":"call-1-1","reason":"tool_call"}`, langgraphapi.Plain, `{"reason":"tool_call","message":"The agent asks to call the tool send_email.","toolCallId":"call-1-1"`},
		"the same with its own message": {`{"toolCallId":"call-1-1","message":"m"}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt","message":"m","toolCallId":"call-1-1"`},
		"HITL without actions":          {`{"action_requests":[]}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"HITL with nameless actions":    {`{"action_requests":[{"args":{}}]}`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"an empty list":                 {`[]`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
		"a list of half requests":       {`[{"action_request":{"action":"a"}},{}]`, langgraphapi.Plain, `{"reason":"langgraph:interrupt"`},
	} {
		t.Run(name, func(t *testing.T) {
			pause := pausedBy(t, newDialect(t, Options{}), started, pyCalls, custom(idA, c.value), finished)
			if len(pause.Interrupts) != 1 {
				t.Fatalf("%d interrupts", len(pause.Interrupts))
			}
			object := string(agui.DeleteKey(pause.Interrupts[0].Object, "id"))
			want := c.want + `,"metadata":{"langgraph":{"raw":` + c.value + `}}}`
			if object != want {
				t.Errorf("object\n%s, want\n%s", object, want)
			}
			if g := langgraphapi.Groups(pause, nil); g[0].Shape != c.shape {
				t.Errorf("shape %q, want %q", g[0].Shape, c.shape)
			}
		})
	}
}

// TestOutcomeDecidesContent: an outcome has a complete interrupt. All its members must be published
// unchanged, except that nulls are removed (section 3.2 of the LangGraph reference).
func TestOutcomeDecidesContent(t *testing.T) {
	for name, c := range map[string]struct{ given, value, want string }{
		"the adapter's own mapping": {
			adapters(idA, approval, `,"message":"Please confirm"`), approval,
			`{"reason":"langgraph:interrupt","message":"Please confirm","metadata":{"langgraph":{"raw":` + approval + `}}}`,
		},
		"a subclass that adds to it": {
			`{"id":"` + idA + `","reason":"acme:x","message":"M","toolCallId":"call-1-1","responseSchema":{"type":"string"},"expiresAt":"2030-01-01T00:00:00Z","subagentRunId":"s","metadata":{"acme":{"k":null},"langgraph":{"raw":{"message":"old"},"level":3}}}`, "",
			`{"reason":"acme:x","message":"M","toolCallId":"call-1-1","responseSchema":{"type":"string"},"expiresAt":"2030-01-01T00:00:00Z","subagentRunId":"s","metadata":{"acme":{"k":null},"langgraph":{"raw":{"message":"old"},"level":3}}}`,
		},
		"nulls": {
			`{"id":"` + idA + `","reason":null,"message":null,"toolCallId":null,"responseSchema":null,"expiresAt":null,"metadata":null}`, "",
			`{"reason":"langgraph:interrupt"}`,
		},
		"the question of a value that the adapter does not look for": {
			adapters(idA, `{"question":"q?"}`, ""), "",
			`{"reason":"langgraph:interrupt","message":"q?","metadata":{"langgraph":{"raw":{"question":"q?"}}}}`,
		},
		"the value of the CUSTOM event, which has config": {
			adapters(idA, `{"a":1}`, ""), `{"a":1,"config":{"b":2}}`,
			`{"reason":"langgraph:interrupt","metadata":{"langgraph":{"raw":{"a":1,"config":{"b":2}}}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			stream := []string{started, pyCalls}
			if c.value != "" {
				stream = append(stream, custom(idA, c.value))
			}
			p := playPlain(t, newDialect(t, Options{}), append(stream, withOutcome(c.given))...)
			if got := objects(p.Result.Asked.Pause(Name)); len(got) != 1 || got[0] != c.want {
				t.Errorf("objects\n%s, want\n%s", got, c.want)
			}
			if c.value == "" && p.Result.Asked.NativeEvents != nil {
				t.Errorf("native events %s where only the outcome came", p.Result.Asked.NativeEvents)
			}
		})
	}
}

// TestOutcomeOfASubclass: ids that do not have LangGraph's form come from a subclass of the
// adapter. The interrupts of such an outcome must be used as they are (row 15, "subclass fan-out").
func TestOutcomeOfASubclass(t *testing.T) {
	given := func(n string) string {
		return `{"id":"` + idA + `:` + n + `","reason":"tool_call","message":"m` + n + `","metadata":{"langgraph":{"raw":` + pyHITL + `}}}`
	}
	p := playPlain(t, newDialect(t, Options{}), started, pyCalls, custom(idA, pyHITL), withOutcome(given("0"), given("1")))
	if got := p.Result.Asked.Interrupts; len(got) != 2 || got[0].Native != idA+":0" || got[1].Native != idA+":1" {
		t.Fatalf("%+v", got)
	}
	want := `{"reason":"langgraph:tool_approval","message":"m0","metadata":{"langgraph":{"raw":` + pyHITL + `}}}`
	if got := objects(p.Result.Asked.Pause(Name))[0]; got != want {
		t.Errorf("object %s, want %s", got, want)
	}
}

// TestPauseWithAnOpaqueFinish: a run asks a question and ends with an invalid terminal event. The
// client must get the question and a valid terminal event instead.
func TestPauseWithAnOpaqueFinish(t *testing.T) {
	l := &dialecttest.Log{}
	_, run, err := newDialect(t, Options{}).Begin(&translate.Request{Input: input(t, ""), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	end := agui.NewEvent([]byte(`{"type":"RUN_FINISHED","type":"RUN_FINISHED"}`))
	p := dialecttest.PlayTo(run, l, translate.End{Event: end}, started, custom(idA, `"x"`))
	if len(p.Result.Asked.Interrupts) != 1 || !p.Result.Finish.Valid() || p.Result.Finish.Get("threadId").Str != "t1" {
		t.Errorf("%+v", p.Result)
	}
}

func TestSign(t *testing.T) {
	uuid4 := "0b5e7c1a2d3f4e5f8a9b0c1d2e3f4a5b"
	for name, c := range map[string]struct {
		event string
		want  bool
	}{
		"CUSTOM on_interrupt":              {custom(idA, approval), true},
		"a text":                           {custom("", `"What?"`), true},
		"Mastra's":                         {custom("", `{"type":"mastra_suspend"}`), false},
		"an object":                        {`{"type":"CUSTOM","name":"on_interrupt","value":{"a":1}}`, false},
		"another name":                     {`{"type":"CUSTOM","name":"x","value":"a"}`, false},
		"two types":                        {`{"type":"CUSTOM","type":"CUSTOM","name":"on_interrupt","value":"a"}`, false},
		"metadata.langgraph":               {withOutcome(adapters("x", "1", "")), true},
		"the adapter's reason":             {withOutcome(`{"id":"x","reason":"langgraph:interrupt"}`), true},
		"an id of 32 hex digits":           {withOutcome(`{"id":"` + idA + `","reason":"r"}`), false},
		"a random UUID without its dashes": {withOutcome(`{"id":"` + uuid4 + `","reason":"r"}`), false},
		"another outcome":                  {withOutcome(`{"id":"x","reason":"r"}`), false},
		"metadata of another kind":         {withOutcome(`{"id":"x","reason":"r","metadata":{"langgraph":null}}`), false},
		"a plain end":                      {finished, false},
		"an error":                         {failed, false},
		"a tool call":                      {`{"type":"TOOL_CALL_START","toolCallId":"x","toolCallName":"confirm_changes"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			ev := agui.NewEvent([]byte(c.event))
			if got := newDialect(t, Options{}).Sign(ev, &translate.Request{Transcript: &dialecttest.Log{}}); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
