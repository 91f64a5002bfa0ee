package agentframework

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

func TestRowsAreToldByTheStream(t *testing.T) {
	bare := append([]string{started}, append(toolCall("a", "rm", `{"path":"a"}`), asks("a", "a"))...)
	for name, c := range map[string]struct {
		stream []string
		want   pauseState
	}{
		"a list":                         {asking(withList("a"), "", "a"), pauseState{Row: rowList}},
		"a list of two":                  {asking(withList("a", "b"), "", "a", "b"), pauseState{Row: rowList, Registry: true}},
		"a list without confirm_changes": {append(bare, withList("a")), pauseState{Row: rowList}},
		"an outcome":                     {asking(withOutcome(schemaOld, "a"), "", "a"), pauseState{Row: rowOutcome}},
		"a workflow with a list": {
			append(append([]string{started}, requests("q", "dict", `{"message":"?"}`)...), `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","interrupt":[{"id":"q","value":{"message":"?"}}]}`),
			pauseState{Row: rowList},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := pausedBy(t, c.stream...)
			got, ok := keptOf(p)
			if !ok || got.Row != c.want.Row || got.Registry != c.want.Registry || got.Thread != "" {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestHostIsKnownByItsText: only the .NET host sends the content of its text in rawEvent, so this
// must identify the host.
func TestHostIsKnownByItsText(t *testing.T) {
	const start = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"`
	for name, c := range map[string]struct{ begin, want string }{
		"the host's":         {start + `,"rawEvent":{"authorName":null,"role":"assistant","contents":[{"$type":"text","text":"hi"}],"responseId":"r"}}`, "dotnet"},
		"an event of others": {start + `,"rawEvent":{"contents":[{"text":"hi"}]}}`, ""},
		"none":               {start + `}`, ""},
	} {
		p, _ := playPlain(t, "", started, c.begin, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`, finished)
		if p.Result.Backend != c.want {
			t.Errorf("%s: %q, want %q", name, p.Result.Backend, c.want)
		}
	}
}

func TestDriftOfTheThreadIsKept(t *testing.T) {
	stream := asking(withList("a"), "", "a")
	stream[0] = `{"type":"RUN_STARTED","threadId":"conv_1","runId":"resp_1"}`
	p, _ := pausedBy(t, stream...)
	if k, _ := keptOf(p); k.Thread != "conv_1" {
		t.Errorf("%+v", k)
	}
}

func TestPauseRun(t *testing.T) {
	p, l := playPlain(t, "", asking(withList("a"), "", "a")...)
	want := "RUN_STARTED TEXT_MESSAGE_START TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TEXT_MESSAGE_END"
	if got := p.Types(); got != want {
		t.Errorf("told %s", got)
	}
	if strings.Contains(p.Text(), "confirm") || p.Result.Finish.Get("interrupt").Exists() {
		t.Errorf("residue in %s\n%s", p.Text(), p.Result.Finish.JSON)
	}
	i := p.Result.Asked.Interrupts[0]
	wantObject := `{"reason":"tool_call","message":"Approve running rm?","toolCallId":"a","responseSchema":` + kit.ApprovalSchema +
		`,"metadata":{"agent_framework":{"type":"function_approval_request","function_call":{"call_id":"a","name":"rm","arguments":{"path":"a"}}}}}`
	if i.Native != "a" || string(i.Object) != wantObject {
		t.Errorf("interrupt %s %s", i.Native, i.Object)
	}
	if a, ok := askOf(i); !ok || a.Confirm != "confirm-a" || string(a.Args) != `{"path":"a"}` {
		t.Errorf("kept %+v", a)
	}
	if list, _ := l.Messages(); len(list) != 2 {
		t.Errorf("%d messages", len(list))
	}
}

func TestOutcomePassesButForWhatClientsFailOn(t *testing.T) {
	p, _ := pausedBy(t, asking(withOutcome(schemaNew, "af-a"), "af-", "a")...)
	i := p.Interrupts[0]
	if i.Native != "af-a" || gjson.GetBytes(i.Object, "message").Exists() || string(i.Schema()) != schemaNew || i.ToolCallID() != "a" {
		t.Errorf("%s %s", i.Native, i.Object)
	}
	if a, _ := askOf(i); a.Kind != approval || a.Call != "a" || a.Confirm != "confirm-a" {
		t.Errorf("kept %+v", a)
	}
}

func TestOutcomeOfACallThatTheClientNeverSaw(t *testing.T) {
	p, _ := pausedBy(t, started, withOutcome(schemaNew, "af-a"))
	if i := p.Interrupts[0]; i.ToolCallID() != "" || i.Native != "af-a" {
		t.Errorf("%s", i.Object)
	}
}

func TestPredictedState(t *testing.T) {
	stream := events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"))
	for name, finish := range map[string]string{
		"in a list":  withConfirm("c", "w"),
		"at the end": finished, // 1.0.0b260114 to b260219
		"in an outcome": `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"c","reason":"tool_call","toolCallId":"w","responseSchema":` + schemaOld +
			`,"metadata":{"agent_framework":{"type":"function_approval_request","confirmation_tool_call_id":"c","function_call":{"call_id":"w","name":"rm"}}}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := pausedBy(t, append(stream, finish)...)
			if len(p.Interrupts) != 1 {
				t.Fatalf("%d interrupts", len(p.Interrupts))
			}
			a, _ := askOf(p.Interrupts[0])
			if a.Kind != confirm || a.Confirm != "c" || a.Call != "w" || p.Interrupts[0].ToolCallID() != "w" {
				t.Errorf("%+v %s", a, p.Interrupts[0].Object)
			}
		})
	}
}

func TestWorkflow(t *testing.T) {
	for kind, want := range map[string]string{
		"bool": `{"type":"boolean"}`, "str": `{"type":"string"}`, "int": `{"type":"integer"}`, "float": `{"type":"number"}`,
		"dict": `{"type":"object","additionalProperties":true}`, "list": `{"type":"array"}`, "MyModel": "",
	} {
		p, l := playPlain(t, "", append(append([]string{started}, requests("q", kind, `{"prompt":"Which?","message":""}`)...), withRequests("q"))...)
		if got := p.Types(); got != "RUN_STARTED" {
			t.Errorf("%s: told %s", kind, got)
		}
		i := p.Result.Asked.Interrupts[0]
		if string(i.Schema()) != want || i.Reason() != "input_required" || i.ToolCallID() != "" || gjson.GetBytes(i.Object, "message").Str != "Which?" {
			t.Errorf("%s: %s", kind, i.Object)
		}
		if len(p.Result.Asked.Interrupts) != 1 || len(l.Calls()) != 0 {
			t.Errorf("%s: %d interrupts, %d calls", kind, len(p.Result.Asked.Interrupts), len(l.Calls()))
		}
	}
	p, _ := pausedBy(t, append(append([]string{started}, requests("q", "str", `"Which one?"`)...), withRequests("q"))...)
	if m := gjson.GetBytes(p.Interrupts[0].Object, "message").Str; m != "Which one?" {
		t.Errorf("message %q", m)
	}
}

func TestWhatOnlyLooksLikeIt(t *testing.T) {
	for name, c := range map[string]struct {
		more   string
		stream []string
	}{
		"confirm_changes of somebody else": {"", toolCall("x", "confirm_changes", `{"text":"Sure?"}`)},
		"confirm_changes with text":        {"", toolCall("x", "confirm_changes", `Sure?`)},
		// 1.0.0b251105 and ag-ui-adk send such a call
		"confirm_changes without arguments":    {"", toolCall("x", "confirm_changes", `{}`)},
		"request_info of somebody else":        {"", toolCall("x", "request_info", `{"request_id":"y","response_type":"str","data":1}`)},
		"confirm_changes that was declared":    {`"tools":[{"name":"confirm_changes"}]`, confirms("x", "a")},
		"request_info that was declared":       {`"tools":[{"name":"request_info"}]`, requests("x", "str", "1")[:3]},
		"another CUSTOM event":                 {"", []string{`{"type":"CUSTOM","name":"PredictState","value":[]}`}},
		"an approval without a call":           {"", []string{`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"a"}}`}},
		"an event with two types":              {"", []string{`{"type":"CUSTOM","name":"function_approval_request","type":"CUSTOM","value":{"id":"a","function_call":{"call_id":"a","name":"x"}}}`}},
		"WorkflowInterruptEvent of nothing":    {"", []string{`{"type":"CUSTOM","name":"WorkflowInterruptEvent","value":"x"}`}},
		"a synthetic call that does not end":   {"", confirms("x", "a")[:2]},
		"an END without START":                 {"", []string{callEnds("x"), textOpen, textEnds}},
		"an END without START at the very end": {"", []string{callEnds("x")}},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := playPlain(t, c.more, append(append([]string{started}, c.stream...), finished)...)
			if len(p.Result.Asked.Interrupts) > 0 {
				t.Fatalf("a pause: %s", p.Result.Asked.Interrupts[0].Object)
			}
			got := strings.Split(p.Text(), "\n")
			if len(got) != len(c.stream)+1 {
				t.Fatalf("told\n%s", p.Text())
			}
			for n, ev := range p.All()[1:] {
				if string(ev.JSON) != c.stream[n] || ev.Frame == nil || ev.Edited {
					t.Errorf("touched or moved: %s", ev.JSON)
				}
			}
		})
	}
}

func TestOtherEventsFlowWhileACallIsHeld(t *testing.T) {
	call := toolCall("x", "confirm_changes", `{"text":"Sure?"}`)
	p, _ := playPlain(t, "", started, call[0], textOpen, call[1], textEnds, call[2], finished)
	if got := p.Types(); got != "RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_END TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END" {
		t.Errorf("told %s", got)
	}
}

// TestCallBehindAnApproval: a call that follows an approval must be sent to the client, unless it
// is confirm_changes.
func TestCallBehindAnApproval(t *testing.T) {
	other := toolCall("b", "search", `{"query":"x"}`)
	p, _ := playPlain(t, "", events([]string{started}, toolCall("a", "rm", `{}`), []string{asks("a", "a")}, other, []string{withList("a")})...)
	if len(p.Result.Asked.Interrupts) != 1 || !strings.Contains(p.Text(), "search") {
		t.Errorf("told\n%s", p.Text())
	}
}

// TestCallThatWasNeverStreamedIsTold: if the model's provider runs a tool, the backend streams only
// the END of the call. Then Holdpoint must send the whole call.
func TestCallThatWasNeverStreamedIsTold(t *testing.T) {
	for name, stream := range map[string][]string{
		"an END before the question": {started, callEnds("a"), asks("i", "a"), withList("a")},
		"the question alone":         {started, asks("i", "a"), withList("a")},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := playPlain(t, "", stream...)
			if got := p.Types(); got != "RUN_STARTED TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END" {
				t.Errorf("told %s", got)
			}
			if len(l.Calls()) != 1 || l.Calls()[0].Name != "rm" || l.Calls()[0].Args != `{"path":"a"}` {
				t.Errorf("calls %+v", l.Calls())
			}
			if i := p.Result.Asked.Interrupts; len(i) != 1 || i[0].Native != "i" || i[0].ToolCallID() != "a" {
				t.Errorf("interrupts %+v", i)
			}
		})
	}
}

// TestCallThatIsAskedAboutAgain: a backend repeats a question with an END of the call and the
// CUSTOM event. The client must not get the END again.
func TestCallThatIsAskedAboutAgain(t *testing.T) {
	l := dialecttest.LogOf(user, said("a"))
	_, run, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, run, l, started, callEnds("a"), asks("a", "a"), withOutcome(schemaNew, "a"))
	if p.Types() != "RUN_STARTED" || len(p.Result.Asked.Interrupts) != 1 || p.Result.Asked.Interrupts[0].ToolCallID() != "a" {
		t.Errorf("told %s", p.Text())
	}
}

// TestStreamThatIsClaimedInTheMiddle: the dialect auto gives a stream to this dialect after some
// calls have begun. The run has not seen their events, and must still recognize the questions about
// them.
func TestStreamThatIsClaimedInTheMiddle(t *testing.T) {
	stream := asking(withList("a", "b"), "", "a", "b")
	l := dialecttest.LogOf(user)
	_, run, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	seen := append([]string{started, textOpen}, append(toolCall("a", "rm", `{}`), toolCall("b", "rm", `{}`)[:2]...)...)
	for _, s := range seen {
		l.Add(agui.NewEvent([]byte(s)))
	}
	p := play(t, run, l, asks("a", "a"), callEnds("b"), asks("b", "b"), stream[len(stream)-1])
	if got := p.Types(); got != "TOOL_CALL_END" {
		t.Errorf("told %s", got)
	}
}

func TestOpenTextIsClosedBeforeTheEnd(t *testing.T) {
	status := `{"type":"CUSTOM","name":"status","value":{"state":"IN_PROGRESS"}}`
	p, _ := playPlain(t, "", started, status, textOpen, finished)
	if got := p.Types(); !strings.HasSuffix(got, "TEXT_MESSAGE_START TEXT_MESSAGE_END") {
		t.Errorf("told %s", got)
	}
	p, _ = playPlain(t, "", started, textOpen, textEnds, finished)
	if got := p.Types(); strings.Count(got, "TEXT_MESSAGE_END") != 1 {
		t.Errorf("told %s", got)
	}
	p, _ = playPlain(t, "", started, textOpen, failedWith("X", "x"))
	if got := p.Types(); strings.Contains(got, "TEXT_MESSAGE_END") {
		t.Errorf("told %s", got)
	}
}

func TestSnapshots(t *testing.T) {
	for name, c := range map[string]struct{ more, in, want string }{
		"residue of former turns": {"", snapshotOf(user, said("a", "c=a"), toolMessage("t1", "c", `{"accepted":true}`)), snapshotOf(user, said("a"))},
		"nothing but residue":     {"", snapshotOf(user, said("c=a")), snapshotOf(user)},
		"what the client declared": {
			`"tools":[{"name":"confirm_changes"}]`, snapshotOf(user, said("a", "c=a")), snapshotOf(user, said("a", "c=a")),
		},
		"repeated messages":     {"", snapshotOf(user, said("a"), toolMessage("t1", "a", "x"), toolMessage("t1", "a", "x")), snapshotOf(user, said("a"), toolMessage("t1", "a", "x"))},
		"nothing to mend":       {"", `{"type":"MESSAGES_SNAPSHOT", "messages":[ ` + user + ` ], "odd":1.0}`, `{"type":"MESSAGES_SNAPSHOT", "messages":[ ` + user + ` ], "odd":1.0}`},
		"messages of no object": {"", `{"type":"MESSAGES_SNAPSHOT","messages":[7]}`, `{"type":"MESSAGES_SNAPSHOT","messages":[7]}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := playPlain(t, c.more, started, c.in, finished)
			if got := string(p.Emitted[1].JSON); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestSnapshotHasTheClientsIDs(t *testing.T) {
	again := strings.Replace(said("b"), `"m1"`, `"m2"`, 1)
	l := dialecttest.LogOf(user, said("a"), toolMessage("mine", "a", "done"), said("b"), toolMessage("one", "b", "1"), again, toolMessage("two", "b", "2"))
	_, run, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, run, l, started, snapshotOf(user, said("a"), toolMessage("other", "a", "done"), said("b"), toolMessage("x", "b", "1"), again, toolMessage("y", "b", "2")), finished)
	want := snapshotOf(user, said("a"), toolMessage("mine", "a", "done"), said("b"), toolMessage("x", "b", "1"), again, toolMessage("y", "b", "2"))
	if got := string(p.Emitted[1].JSON); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestNative(t *testing.T) {
	stream := asking(withList("a"), "", "a")
	l := &dialecttest.Log{}
	_, run, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: l, Show: translate.ShowNative})
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, run, l, stream...)
	if len(p.All()) != len(stream)-1 {
		t.Fatalf("told %s", p.Types())
	}
	for n, ev := range p.All() {
		if string(ev.JSON) != stream[n] || ev.Frame == nil || ev.Edited {
			t.Errorf("touched or moved: %s", ev.JSON)
		}
	}
	pause := p.Result.Asked.Pause(Name)
	if !p.Result.Asked.NativeShown || len(pause.Native) != 4 || string(pause.NativeFinish) != stream[len(stream)-1] || len(pause.Interrupts) != 1 {
		t.Errorf("%+v", pause)
	}
	if k, _ := keptOf(pause); len(k.Siblings) > 0 {
		t.Errorf("what only asks was taken for calls that wait: %q", k.Siblings)
	}
	for _, show := range []translate.Show{translate.ShowOutcome, translate.ShowBoth} {
		_, run, _ := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: &dialecttest.Log{}, Show: show})
		if p := play(t, run, &dialecttest.Log{}, stream...); p.Result.Asked.NativeShown || p.Result.Asked.NativeEvents != nil || p.Result.Asked.NativeFinish != nil {
			t.Errorf("shown the framework's own form: %+v", p.Result.Asked)
		}
	}
}

func TestPlainRunGoesAsItCame(t *testing.T) {
	out, _, err := newDialect(t).Begin(&translate.Request{Input: input(t, `"protocolVersion":"1.0"`), Transcript: &dialecttest.Log{}})
	if err != nil || out.Body != nil || out.Resumes {
		t.Errorf("%+v %v", out, err)
	}
}

// verdict returns the verdict of the dialect on an event. held is the call that the dialect auto
// holds, if any.
func verdict(d *Dialect, ev agui.Event, held agui.Call) translate.Verdict {
	switch ev.Type {
	case agui.CallStart:
		held = agui.Call{ID: ev.Get("toolCallId").Str, Name: ev.Get("toolCallName").Str}
	case agui.CallArgs, agui.CallEnd:
	default:
		if held.ID == "" {
			return map[bool]translate.Verdict{true: translate.Mine}[d.Sign(ev, &translate.Request{})]
		}
	}
	return d.SignCall(ev, held, &translate.Request{})
}

func TestSign(t *testing.T) {
	call := func(name, args string, ended bool) agui.Call {
		return agui.Call{ID: "c", Name: name, Args: args, Ended: ended}
	}
	mine := `{"function_name":"rm","function_call_id":"a"}`
	// 1.0.0b251105 and ag-ui-adk send such a call
	bareCall := agui.Call{ID: "c", Name: "confirm_changes", Args: "{}", Ended: true}
	for name, c := range map[string]struct {
		event string
		held  agui.Call
		want  translate.Verdict
	}{
		"an approval":                     {asks("a", "a"), agui.Call{}, translate.Mine},
		"a workflow's question":           {requests("q", "str", "1")[3], agui.Call{}, translate.Mine},
		"a workflow's state":              {`{"type":"CUSTOM","name":"status","value":{"state":"IN_PROGRESS"}}`, agui.Call{}, translate.Mine},
		"another state":                   {`{"type":"CUSTOM","name":"status","value":{"state":"IN_PROGRESS","x":1}}`, agui.Call{}, translate.No},
		"a status that is none":           {`{"type":"CUSTOM","name":"status","value":"IN_PROGRESS"}`, agui.Call{}, translate.No},
		"LangGraph's announcement":        {`{"type":"CUSTOM","name":"on_interrupt","value":"?"}`, agui.Call{}, translate.No},
		"PredictState":                    {`{"type":"CUSTOM","name":"PredictState","value":[]}`, agui.Call{}, translate.No},
		"the START of confirm_changes":    {toolCall("c", "confirm_changes", "")[0], agui.Call{}, translate.Hold},
		"its arguments":                   {toolCall("c", "", mine)[1], call("confirm_changes", mine, false), translate.Hold},
		"its end":                         {callEnds("c"), call("confirm_changes", mine, true), translate.Mine},
		"the end of another one":          {callEnds("c"), call("confirm_changes", `{"text":"x"}`, true), translate.No},
		"one without arguments":           {callEnds("c"), call("confirm_changes", ``, true), translate.No},
		"one with empty arguments":        {callEnds("c"), call("confirm_changes", `{}`, true), translate.No},
		"a snapshot with it and its tool": {snapshotOf(user, said("w", "c=w")), bareCall, translate.No},
		"a snapshot with it alone":        {snapshotOf(user, said("c")), bareCall, translate.No},
		"a snapshot without it":           {snapshotOf(user, said("w", "x=w")), bareCall, translate.No},
		"the state behind it":             {`{"type":"STATE_SNAPSHOT","snapshot":{}}`, bareCall, translate.No},
		"the end behind it":               {finished, bareCall, translate.No},
		"an outcome behind it":            {`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"c","reason":"confirm_changes"}]}}`, bareCall, translate.No},
		"an error behind it":              {`{"type":"RUN_ERROR","message":"m"}`, bareCall, translate.No},
		"request_info":                    {callEnds("c"), call("request_info", `{"request_id":"c","response_type":"str","data":1}`, true), translate.Mine},
		"request_info of another":         {callEnds("c"), call("request_info", `{}`, true), translate.No},
		"request_approval":                {toolCall("c", "request_approval", "")[0], agui.Call{}, translate.No},
		"an END without START":            {callEnds("c"), agui.Call{}, translate.Hold},
		"another call's end":              {callEnds("c"), call("rm", `{}`, true), translate.No},
		"a list":                          {withList("a"), agui.Call{}, translate.Mine},
		"an empty list":                   {withList(), agui.Call{}, translate.No},
		"the v1 draft":                    {`{"type":"RUN_FINISHED","outcome":"interrupt","interrupt":{"id":"a"}}`, agui.Call{}, translate.No},
		"an outcome":                      {withOutcome(schemaNew, "a"), agui.Call{}, translate.Mine},
		"an outcome of somebody else":     {`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"a","reason":"x","metadata":{"langgraph":{}}}]}}`, agui.Call{}, translate.No},
		"an outcome of success":           {`{"type":"RUN_FINISHED","outcome":{"type":"success"}}`, agui.Call{}, translate.No},
		"a run that ends":                 {finished, agui.Call{}, translate.No},
		"metadata that is no object":      {`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"metadata":{"agent_framework":1}}]}}`, agui.Call{}, translate.No},
		"a snapshot with residue":         {snapshotOf(user, said("a", "c=a")), agui.Call{}, translate.Mine},
		"a snapshot of another's tool":    {snapshotOf(user, strings.Replace(said("c"), `"rm"`, `"confirm_changes"`, 1)), agui.Call{}, translate.No},
		"a snapshot that talks of it":     {snapshotOf(`{"id":"u","role":"user","content":"confirm_changes"}`), agui.Call{}, translate.No},
		"a request of somebody else":      {`{"type":"CUSTOM","name":"request_info","value":{"request_id":"q","response_type":"str"}}`, agui.Call{}, translate.No},
		"an approval that cannot be read": {`{"type":"CUSTOM","name":"function_approval_request","value":7}`, agui.Call{}, translate.No},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verdict(newDialect(t), agui.NewEvent([]byte(c.event)), c.held); got != c.want {
				t.Errorf("verdict %v, want %v", got, c.want)
			}
		})
	}
}

func TestNew(t *testing.T) {
	d, err := New(struct{}{}, nil)
	if err != nil || d.Name() != "agent-framework" {
		t.Errorf("%+v %v", d, err)
	}
}

// TestOpenTextsAreEnded: if a run leaves texts open, they must be ended in the order in which they
// began.
func TestOpenTextsAreEnded(t *testing.T) {
	_, one, err := newDialect(t).Begin(&translate.Request{Input: input(t, ""), Transcript: &dialecttest.Log{}})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := range 20 {
		id := strconv.Itoa(n)
		list := []string{`{"type":"TEXT_MESSAGE_START","messageId":"` + id + `","role":"assistant"}`}
		if n%3 == 0 {
			list = append(list, `{"type":"TEXT_MESSAGE_END","messageId":"`+id+`"}`)
		} else {
			want = append(want, id)
		}
		for _, s := range list {
			if err := one.Event(agui.NewEvent([]byte(s)), func(agui.Event) {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	res, err := one.End(translate.End{Event: agui.NewEvent([]byte(finished))})
	var got []string
	for _, ev := range res.HeldEvents {
		got = append(got, ev.Get("messageId").Str)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: ended %v, want %v", err, got, want)
	}
}
