package requestapproval

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestRenamedInPlace(t *testing.T) {
	text := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`
	p := playPlain(t, translate.ShowOutcome, "", stream(start("a"), text, args("a", argsA[:20]), text, args("a", argsA[20:]), end("a"), text, succeeded)...)
	if got := types(p); got != "STARTED CONTENT:m CONTENT:m START:a ARGS:a END:a CONTENT:m" {
		t.Fatal(got)
	}
	for kind, want := range map[agui.Type]string{
		agui.CallStart: `{"type":"TOOL_CALL_START","parentMessageId":"","toolCallId":"a","toolCallName":"Approve"}`,
		agui.CallArgs:  `{"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"{\"n\":1.0,\"s\":\"\\u0027\"}"}`,
		agui.CallEnd:   `{"type":"TOOL_CALL_END","toolCallId":"a"}`,
	} {
		if ev := find(t, p, kind, "a"); string(ev.JSON) != want || !ev.Edited {
			t.Errorf("%s\nwant %s", ev.JSON, want)
		}
	}
	pause := p.Result.Asked.Pause(Name)
	if len(pause.Interrupts) != 1 || pause.Dialect != Name || pause.Native != nil || pause.KeepsFirstAnswer || p.Result.Asked.NativeShown {
		t.Fatalf("%+v", p.Result)
	}
	const want = `{"reason":"tool_call","message":"Approve it?","toolCallId":"a","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]},` +
		`"metadata":{"request-approval":{"functionName":"Approve","functionArguments":{"n":1.0,"s":"\u0027"}}}}`
	if i := pause.Interrupts[0]; i.Native != "ficc_a" || string(i.Object) != want {
		t.Errorf("%s %s", i.Native, i.Object)
	}
	if string(p.Result.Finish.JSON) != `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}` {
		t.Errorf("finish %s", p.Result.Finish.JSON)
	}
}

func TestWhichEndsPause(t *testing.T) {
	for finish, pauses := range map[string]bool{
		finished: true, succeeded: true, `{"type":"RUN_FINISHED","outcome":null,"usage":[1]}`: true,
		failed: false, "": false, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[]}}`: false,
		`{"type":"RUN_FINISHED","outcome":"interrupt"}`: false,
	} {
		p := playPlain(t, translate.ShowOutcome, "", stream(trio("a", argsA), finish)...)
		if got := len(p.Result.Asked.Interrupts) == 1; got != pauses {
			t.Errorf("%s: pauses %v", finish, got)
		}
		// NativeFinish must be empty. If the client later uses ShowNative, it would be sent again,
		// without the question.
		if p.Result.Asked.NativeFinish != nil {
			t.Errorf("native finish %s", p.Result.Asked.NativeFinish)
		}
		if pauses && p.Result.Finish.Get("outcome").Exists() {
			t.Errorf("finish %s", p.Result.Finish.JSON)
		}
		if !pauses && finish != "" && string(p.Result.Finish.JSON) != finish {
			t.Errorf("finish %s", p.Result.Finish.JSON)
		}
	}
}

// TestReleasedUntouched checks calls that are not approval requests, although some have the name
// request_approval. They must be forwarded unchanged and in order.
func TestReleasedUntouched(t *testing.T) {
	own := `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"request_approval","delta":"{\"x\":1}"}`
	more := `{"type":"TOOL_CALL_CHUNK","delta":" "}`
	for name, c := range map[string]struct {
		more   string
		stream []string
	}{
		"other arguments":           {"", trio("a", `{"what":"lunch"}`)},
		"no object":                 {"", []string{start("a"), args("a", ` "x`), args("a", `"`), end("a")}},
		"no arguments":              {"", []string{start("a"), end("a")}},
		"request is text":           {"", trio("a", `{"request":"{}"}`)},
		"an id that is no text":     {"", trio("a", `{"request":{"approval_id":1,"function_name":"f"}}`)},
		"no function":               {"", trio("a", `{"request":{"approval_id":"a"}}`)},
		"an id twice":               {"", trio("a", `{"request":{"approval_id":"a","approval_id":"b","function_name":"f"}}`)},
		"a function in two ways":    {"", trio("a", `{"request":{"approval_id":"a","function_name":"f","functionName":"g"}}`)},
		"not JSON":                  {"", trio("a", argsA+"}")},
		"nested too deep":           {"", trio("a", `{"request":{"approval_id":"a","function_name":"f","x":`+strings.Repeat("[", 1500)+strings.Repeat("]", 1500)+`}}`)},
		"too long":                  {"", trio("a", `{"x":"`+strings.Repeat("x", maxHeld)+`","request":{"approval_id":"a","function_name":"f"}}`)},
		"an id that cannot be kept": {"", trio("a", `{"request":{"approval_id":"\ud800","function_name":"f"}}`)},
		"no id":                     {"", trio("", argsA)},
		"another name":              {"", []string{strings.Replace(start("a"), "request_approval", "request_approvals", 1), args("a", argsA), end("a")}},
		"an opaque start":           {"", []string{strings.Replace(start("a"), `{`, `{"type":"TOOL_CALL_END",`, 1), args("a", argsA), end("a")}},
		"a result before its end":   {"", []string{start("a"), args("a", argsA), `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"a","content":"x"}`, end("a")}},
		"chunks":                    {"", []string{own, more}},
		"chunks that are not whole": {"", []string{strings.Replace(own, `1}`, ``, 1), more}},
	} {
		t.Run(name, func(t *testing.T) {
			want := append(stream(c.stream), finished)
			p := playPlain(t, translate.ShowOutcome, c.more, slices.Clone(want)...)
			var got []string
			for _, ev := range append(p.Emitted, p.Result.HeldEvents...) {
				if ev.Edited {
					t.Errorf("edited: %s", ev.JSON)
				}
				got = append(got, string(ev.Frame))
			}
			for n, s := range want[:len(want)-1] {
				if n >= len(got) || got[n] != "data: "+s+"\n\n" {
					t.Fatalf("event %d of %d: want %.200s", n, len(got), s)
				}
			}
			if len(got) != len(want)-1 || len(p.Result.Asked.Interrupts) != 0 || string(p.Result.Finish.JSON) != finished {
				t.Errorf("%d events, %+v", len(got), p.Result)
			}
		})
	}
}

// TestDeclaredRequestApproval: the client declares a tool request_approval, but this dialect has
// claimed the run. So the call must count as the backend's, and ask.
func TestDeclaredRequestApproval(t *testing.T) {
	p := playPlain(t, translate.ShowOutcome, `"tools":[{"name":"request_approval"}]`, append(stream(trio("a", argsA)), finished)...)
	if len(p.Result.Asked.Interrupts) != 1 {
		t.Errorf("%+v", p.Result)
	}
}

func TestSeveralCalls(t *testing.T) {
	chunk := func(fields, delta string) string {
		return `{"type":"TOOL_CALL_CHUNK"` + fields + `,"delta":` + dialecttest.Quoted(delta) + `}`
	}
	first := `,"toolCallId":"a","toolCallName":"request_approval","parentMessageId":"m1"`
	other := trio("o", `{"x":1}`)
	other[0] = strings.Replace(other[0], "request_approval", "look", 1)
	for name, c := range map[string]struct {
		stream []string
		want   string
		asked  string
	}{
		"two":                      {stream(trio("a", argsA), trio("b", argsB)), "STARTED START:a ARGS:a END:a START:b ARGS:b END:b", "ficc_a ficc_b"},
		"interleaved":              {stream(start("a"), start("b"), args("b", argsB), args("a", argsA), end("b"), end("a")), "STARTED START:b ARGS:b END:b START:a ARGS:a END:a", "ficc_b ficc_a"},
		"one is something else":    {stream(start("a"), start("b"), args("b", `{"x":1}`), args("a", argsA), end("b"), end("a")), "STARTED START:b ARGS:b END:b START:a ARGS:a END:a", "ficc_a"},
		"another call between":     {stream(start("a"), other, args("a", argsA), end("a")), "STARTED START:o ARGS:o END:o START:a ARGS:a END:a", "ficc_a"},
		"chunks":                   {stream(chunk(first, argsA[:30]), chunk("", argsA[30:]), chunk("", "\n")), "STARTED CHUNK:a", "ficc_a"},
		"a chunk in one":           {stream(chunk(first, argsA), chunk(strings.ReplaceAll(first, `"a"`, `"b"`), argsB)), "STARTED CHUNK:a CHUNK:b", "ficc_a ficc_b"},
		"no end":                   {stream(start("a"), args("a", argsA)), "STARTED START:a ARGS:a", "ficc_a"},
		"the same call once more":  {stream(trio("a", argsA), trio("a", argsB)), "STARTED START:a ARGS:a END:a", "ficc_a"},
		"one approval for two":     {stream(trio("a", argsA), trio("b", argsA)), "STARTED START:a ARGS:a END:a START:b ARGS:b END:b", "ficc_a ficc_b"},
		"a result that is cut off": {stream(start("a"), args("a", argsA), `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"a","content":"`, end("a")), "STARTED RESULT:a START:a ARGS:a END:a", "ficc_a"},
		"answered in the same run": {stream(trio("a", argsA), trio("b", argsB), `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"a","content":""}`), "STARTED START:a ARGS:a END:a START:b ARGS:b END:b RESULT:a", "ficc_b"},
	} {
		t.Run(name, func(t *testing.T) {
			p := playPlain(t, translate.ShowOutcome, "", append(c.stream, finished)...)
			if got := types(p); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			var asked []string
			for _, i := range p.Result.Asked.Interrupts {
				asked = append(asked, i.Native)
				checkInterrupt(t, i.Object)
			}
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("asked %q, want %q", got, c.asked)
			}
		})
	}
}

// TestHeldNoLonger: the events of a call are held. They must be released as soon as they show that
// the call is not an approval request.
func TestHeldNoLonger(t *testing.T) {
	chunk := `{"type":"TOOL_CALL_CHUNK","toolCallId":"a","toolCallName":"request_approval","delta":` + dialecttest.Quoted(argsA) + `}`
	for name, c := range map[string]struct {
		stream []string
		want   string
	}{
		"arguments that cannot be": {[]string{start("a"), args("a", ` [`)}, "STARTED START:a ARGS:a"},
		"a whole chunk":            {[]string{chunk}, "STARTED CHUNK:a"},
		"an end":                   {trio("a", argsA), "STARTED START:a ARGS:a END:a"},
		"arguments that are whole": {[]string{start("a"), args("a", argsA)}, "STARTED"},
	} {
		p := playPlain(t, translate.ShowOutcome, "", stream(c.stream, finished)...)
		p.Result.HeldEvents = nil
		if got := types(p); got != c.want {
			t.Errorf("%s: %s before the run's end, want %s", name, got, c.want)
		}
	}
}

func TestNoArguments(t *testing.T) {
	for given, want := range map[string]string{
		`,"function_arguments":null`: "{}", "": "{}", `,"function_arguments":{ }`: "{}", `,"function_arguments":[1, 2]`: "[1,2]",
		`,"function_arguments":{"b":1e400,"a":12345678901234567890}`: `{"b":1e400,"a":12345678901234567890}`,
	} {
		p := playPlain(t, translate.ShowOutcome, "", stream(trio("a", `{"request":{"approval_id":"i","function_name":"f"`+given+`}}`), finished)...)
		if got := find(t, p, agui.CallArgs, "a").Get("delta").Str; got != want {
			t.Errorf("%s: %s", given, got)
		}
		object := p.Result.Asked.Interrupts[0].Object
		if !strings.Contains(string(object), `"functionArguments":`+want+`}`) || !strings.Contains(string(object), "The agent asks to call the tool f.") {
			t.Errorf("%s", object)
		}
	}
}

// TestDeclaredFunctionIsNotShown: the question is about a tool that the client declares. The client
// would run a call of this tool, so the question must not contain the call.
func TestDeclaredFunctionIsNotShown(t *testing.T) {
	p := playPlain(t, translate.ShowOutcome, `"tools":[{"name":"Delete"}]`, stream(trio("a", argsA), trio("b", argsB), finished)...)
	if got := types(p); got != "STARTED START:a ARGS:a END:a" {
		t.Error(got)
	}
	list := p.Result.Asked.Interrupts
	if len(list) != 2 || list[1].ToolCallID() != "" || list[1].Reason() != "confirmation" || list[0].ToolCallID() != "a" {
		t.Errorf("%+v", list)
	}
	out, _, err := resumeWith(t, dialecttest.WithIDs(p.Result.Asked.Pause(Name)), input(t, `"tools":[{"name":"Delete"}],`+dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `true`), dialecttest.Entry("ficc_b~r2", ``))))
	if err != nil || !strings.Contains(sent(out.Body), "(b request_approval "+argsB+")\ntool {\"approval_id\":\"ficc_b\",\"approved\":false} @b") {
		t.Errorf("%v\n%s", err, sent(out.Body))
	}
}

func TestNativeStreamIsUntouched(t *testing.T) {
	want := stream(start("a"), start("b"), args("b", `{"x":1}`), args("a", argsA), end("b"), end("a"),
		`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"request_approval","delta":`+dialecttest.Quoted(argsB)+`}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[`+assistant("m", "a", "request_approval", argsA)+`]}`, succeeded)
	p := playPlain(t, translate.ShowNative, "", slices.Clone(want)...)
	for n, ev := range p.Emitted {
		if ev.Edited || string(ev.Frame) != "data: "+want[n]+"\n\n" {
			t.Errorf("%s", ev.JSON)
		}
	}
	pause := p.Result.Asked.Pause(Name)
	if len(p.Emitted) != len(want)-1 || !p.Result.Asked.NativeShown || string(pause.NativeFinish) != succeeded || len(pause.Interrupts) != 2 {
		t.Fatalf("%d events, %+v", len(p.Emitted), p.Result)
	}
	var got []string
	for _, ev := range pause.Native {
		got = append(got, string(ev))
	}
	if !slices.Equal(got, []string{want[1], want[4], want[6], want[7]}) {
		t.Errorf("announced %q", got)
	}
}

func TestSnapshotOfTheApplication(t *testing.T) {
	const answer = `{"approval_id":"ficc_a","approved":true}`
	ev := `{"type":"MESSAGES_SNAPSHOT","messages":[` + hello + "," + assistant("m", "a", "request_approval", argsA) + "," + tool("x", "a", answer) + "," + tool("y", "a", "done") +
		"," + assistant("n", "b", "request_approval", argsB) + `]}`
	p := playPlain(t, translate.ShowOutcome, "", stream(ev, finished)...)
	if got := sent(p.Emitted[1].JSON); got != "user hi\nassistant (a Approve {\"n\":1.0,\"s\":\"\\u0027\"})\ntool done @a\nassistant (b Delete {})" {
		t.Errorf("%s", got)
	}
}

func TestSnapshotWithADeclaredFunction(t *testing.T) {
	for name, c := range map[string]struct{ more, want string }{
		"asked":    {"", "user hi"},
		"answered": {"," + tool("y", "b", "done"), "user hi\nassistant (b Delete {})\ntool done @b"},
	} {
		ev := `{"type":"MESSAGES_SNAPSHOT","messages":[` + hello + "," + assistant("n", "b", "request_approval", argsB) + c.more + `]}`
		p := playPlain(t, translate.ShowOutcome, `"tools":[{"name":"Delete"}]`, stream(ev, finished)...)
		if got := sent(p.Emitted[1].JSON); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// checkInterrupt checks the fields of an interrupt that make a client fail if they are null or have
// the wrong type.
func checkInterrupt(t *testing.T, object json.RawMessage) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	for key, v := range o {
		switch key {
		case "reason", "message", "toolCallId":
			if s, ok := v.(string); !ok || s == "" && key != "message" {
				t.Fatalf("%s is no string: %s", key, object)
			}
		case "responseSchema", "metadata":
			if _, ok := v.(map[string]any); !ok {
				t.Fatalf("%s is no object: %s", key, object)
			}
		default:
			t.Fatalf("%s has no place in an interrupt: %s", key, object)
		}
	}
	if o["reason"] == nil {
		t.Fatalf("no reason: %s", object)
	}
}
