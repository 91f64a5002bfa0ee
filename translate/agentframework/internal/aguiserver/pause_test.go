package aguiserver

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// asking returns an approval request, as it is in the contents of the host's rawEvent. more
// contains further members.
func asking(id, name, args, more string) string {
	return `{"$type":"toolApprovalRequest","toolCall":{"$type":"functionCall","name":"` + name + `","arguments":` + args + `,"informationalOnly":false,"callId":"` + id + `","annotations":null},"requestId":"ficc_` + id + `"` + more + `,"annotations":null}`
}

func plainCall(id, name, args string) string {
	return `{"$type":"functionCall","name":"` + name + `","arguments":` + args + `,"informationalOnly":false,"callId":"` + id + `"}`
}

// shows returns START, ARGS and END of a call. The rawEvent of each has these contents.
func shows(id, name, args string, contents ...string) []string {
	raw := `,"rawEvent":{"authorName":null,"role":"assistant","contents":[` + strings.Join(contents, ",") + `],"messageId":""}}`
	return []string{
		`{"type":"TOOL_CALL_START","parentMessageId":"","toolCallId":"` + id + `","toolCallName":"` + name + `"` + raw,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + string(agui.MustMarshal(args)) + raw,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"` + raw,
	}
}

func asksFor(id, name, args string) []string {
	return shows(id, name, args, asking(id, name, args, ""))
}

func interruptFor(id, name string) string {
	return `{"id":"ficc_` + id + `","reason":"tool_call","message":"Approval required for tool call: ` + name + `","toolCallId":"` + id + `","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}}`
}

func endWith(outcome string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":` + outcome + `,"usage":[{"inputTokens":1}]}`
}

func interrupting(list ...string) string {
	return endWith(`{"type":"interrupt","interrupts":[` + strings.Join(list, ",") + `]}`)
}

const (
	success     = `{"type":"success"}`
	questionFor = `{"id":"call_9","reason":"input_required","message":"Where?","responseSchema":{"type":"object"}}`
	filesArgs   = `{"path":"a.txt"}`
)

// inputOf returns a run input. more contains further members, or replaces the messages.
func inputOf(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","messages":[{"id":"u1","role":"user","content":"Go."}]`
	if more != "" {
		body = `{"threadId":"t1","runId":"r1",` + more
	}
	return dialecttest.Input(t, body+"}")
}

// ends plays a stream to a run and ends the run with the last event of the stream.
func ends(t testing.TB, r *translate.Request, stream ...string) translate.Result {
	t.Helper()
	l := &dialecttest.Log{}
	r.Transcript = l
	if r.Input.Raw == nil {
		r.Input = inputOf(t, "")
	}
	last := len(stream) - 1
	p := dialecttest.PlayTo(&run{r: r}, l, translate.End{Event: agui.NewEvent([]byte(stream[last]))}, stream[:last]...)
	if err := errors.Join(p.Err, p.ChangedEvent()); err != nil {
		t.Fatal(err)
	}
	return p.Result
}

func TestSigns(t *testing.T) {
	weird := func(old, with string) string {
		return strings.Replace(asksFor("call_1", "rm", filesArgs)[0], old, with, 1)
	}
	for name, c := range map[string]struct {
		event string
		want  bool
	}{
		"START of a call to approve":             {asksFor("call_1", "rm", filesArgs)[0], true},
		"ARGS":                                   {asksFor("call_1", "rm", filesArgs)[1], true},
		"END":                                    {asksFor("call_1", "rm", filesArgs)[2], true},
		"one of two in an update":                {shows("call_2", "rm", filesArgs, plainCall("call_1", "ls", "{}"), asking("call_2", "rm", filesArgs, ""))[0], true},
		"no arguments":                           {asksFor("call_1", "rm", "null")[0], true},
		"an ordinary call":                       {shows("call_1", "rm", filesArgs, plainCall("call_1", "rm", filesArgs))[0], false},
		"a call beside one to approve":           {shows("call_1", "ls", "{}", plainCall("call_1", "ls", "{}"), asking("call_2", "rm", filesArgs, ""))[0], false},
		"an argument that says the word":         {`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"toolApprovalRequest"}`, false},
		"a request without an id":                {weird(`"requestId":"ficc_call_1"`, `"requestId":""`), false},
		"a request with an id that is no text":   {weird(`"requestId":"ficc_call_1"`, `"requestId":7`), false},
		"no name":                                {weird(`"name":"rm"`, `"name":null`), false},
		"arguments that are no object":           {weird(`"arguments":{"path":"a.txt"}`, `"arguments":["a"]`), false},
		"a request for what is no function call": {weird(`"$type":"functionCall"`, `"$type":"mcpServerToolCall"`), false},
		"contents that are no list":              {`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"rm","rawEvent":{"contents":"toolApprovalRequest"}}`, false},
		"no JSON":                                {weird(`"role"`, `role`), false},
		"a type twice":                           {weird(`{"type"`, `{"type":"TOOL_CALL_START","type"`), false},
		"an interrupt of the host's looks":       {interrupting(interruptFor("call_1", "rm")), true},
		"such beside another":                    {interrupting(questionFor, interruptFor("call_1", "rm")), true},
		"nulls beside it":                        {interrupting(strings.Replace(interruptFor("call_1", "rm"), `"id"`, `"expiresAt":null,"id"`, 1)), true},
		"the generic question":                   {interrupting(questionFor), false},
		"another id":                             {interrupting(strings.Replace(interruptFor("call_1", "rm"), "ficc_", "int_", 1)), false},
		"another call's id":                      {interrupting(strings.Replace(interruptFor("call_1", "rm"), `"toolCallId":"call_1"`, `"toolCallId":"call_2"`, 1)), false},
		"another sentence":                       {interrupting(strings.Replace(interruptFor("call_1", "rm"), "Approval", "approval", 1)), false},
		"another reason":                         {interrupting(strings.Replace(interruptFor("call_1", "rm"), "tool_call", "confirmation", 1)), false},
		"another schema":                         {interrupting(strings.Replace(interruptFor("call_1", "rm"), "boolean", "string", 1)), false},
		"success":                                {endWith(success), false},
		"a string for an outcome":                {endWith(`"interrupt"`), false},
		"an error":                               {`{"type":"RUN_ERROR","message":"toolApprovalRequest"}`, false},
		"a CUSTOM event":                         {`{"type":"CUSTOM","name":"toolApprovalRequest","value":1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Signs(agui.NewEvent([]byte(c.event))); got != c.want {
				t.Errorf("%v for %s", got, c.event)
			}
		})
	}
}

// TestSignsCostsNothing: Signs must not allocate, because it is called for every call of every
// backend.
func TestSignsCostsNothing(t *testing.T) {
	ev := agui.NewEvent([]byte(shows("call_1", "rm", filesArgs, plainCall("call_1", "rm", `{"text":"`+strings.Repeat("x", 1<<16)+`"}`))[0]))
	if n := testing.AllocsPerRun(100, func() { Signs(ev) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPauses(t *testing.T) {
	two := []string{asking("call_1", "rm", filesArgs, `,"requiresConfirmation":true`), asking("call_2", "ls", "{}", `,"requiresConfirmation":false`)}
	batch := append(shows("call_1", "rm", filesArgs, two...), shows("call_2", "ls", "{}", two...)...)
	const result = `{"type":"TOOL_CALL_RESULT","messageId":"call_1","toolCallId":"call_1","content":"ok"}`
	const bound = `{"reason":"tool_call","message":"Approval required for tool call: rm","toolCallId":"call_1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}},"required":["approved"]}}`
	for name, c := range map[string]struct {
		tools  string
		stream []string
		end    string
		want   string // for each interrupt: native id, ! for an approval, reason, call
		free   string // ids of the sibling calls
	}{
		"an approval":                            {"", asksFor("call_1", "rm", filesArgs), interrupting(interruptFor("call_1", "rm")), "ficc_call_1! tool_call call_1", ""},
		"an approval and a question":             {"", asksFor("call_1", "rm", filesArgs), interrupting(questionFor, interruptFor("call_1", "rm")), "call_9 input_required; ficc_call_1! tool_call call_1", ""},
		"a question alone":                       {"", nil, interrupting(questionFor), "call_9 input_required", ""},
		"rawEvent stripped":                      {"", shows("call_1", "rm", filesArgs), interrupting(interruptFor("call_1", "rm")), "ficc_call_1! tool_call call_1", ""},
		"a sibling that the host asks about":     {"", batch, interrupting(interruptFor("call_1", "rm"), interruptFor("call_2", "ls")), "ficc_call_1! tool_call call_1; ficc_call_2! tool_call call_2", ""},
		"tools declared":                         {`"x"`, asksFor("call_1", "rm", filesArgs), endWith(success), "ficc_call_1! tool_call call_1", ""},
		"tools declared, no outcome":             {`"x"`, asksFor("call_1", "rm", filesArgs), `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, "ficc_call_1! tool_call call_1", ""},
		"tools declared, an outcome of null":     {`"x"`, asksFor("call_1", "rm", filesArgs), endWith("null"), "ficc_call_1! tool_call call_1", ""},
		"tools declared, a sibling":              {`"x"`, batch, endWith(success), "ficc_call_1! tool_call call_1", "ficc_call_2"},
		"tools declared, and a question told":    {`"x"`, batch, interrupting(questionFor), "call_9 input_required; ficc_call_1! tool_call call_1", "ficc_call_2"},
		"the client's own tool":                  {`"rm"`, asksFor("call_1", "rm", filesArgs), endWith(success), "", ""},
		"the client's own beside it":             {`"ls"`, batch, endWith(success), "ficc_call_1! tool_call call_1", ""},
		"siblings alone":                         {`"x"`, shows("call_2", "ls", "{}", two[1]), endWith(success), "", ""},
		"the application has approved it itself": {"", append(asksFor("call_1", "rm", filesArgs), result), endWith(success), "", ""},
		"an ordinary end":                        {"", shows("call_1", "rm", filesArgs, plainCall("call_1", "rm", filesArgs)), endWith(success), "", ""},
		"an outcome that nobody knows":           {"", asksFor("call_1", "rm", filesArgs), endWith(`{"type":"other"}`), "", ""},
		"an error":                               {"", asksFor("call_1", "rm", filesArgs), `{"type":"RUN_ERROR","message":"x"}`, "", ""},
		"the id of another call before it":       {"", append(shows("call_1", "rm", `{"path":"b"}`), asksFor("call_1", "rm", filesArgs)...), interrupting(interruptFor("call_1", "rm")), "ficc_call_1! confirmation", ""},
		"the id of another tool before it":       {"", append(shows("call_1", "ls", ""), asksFor("call_1", "rm", filesArgs)...), interrupting(interruptFor("call_1", "rm")), "ficc_call_1! confirmation", ""},
		"a question about an unknown call":       {"", nil, interrupting(strings.Replace(questionFor, `"input_required"`, `"tool_call","toolCallId":"nowhere"`, 1)), "call_9 input_required", ""},
		"a question about a known call":          {"", shows("call_1", "ls", "{}"), interrupting(strings.Replace(questionFor, `"input_required"`, `"tool_call","toolCallId":"call_1"`, 1)), "call_9 tool_call call_1", ""},
		"a question without a reason":            {"", nil, interrupting(`{"id":"q"}`), "q input_required", ""},
		"its looks, but an unknown call":         {"", nil, interrupting(interruptFor("call_1", "rm")), "ficc_call_1 input_required", ""},
		"its looks, but another tool":            {"", shows("call_1", "ls", filesArgs), interrupting(interruptFor("call_1", "rm")), "ficc_call_1 tool_call call_1", ""},
		"its looks, but arguments cut off":       {"", shows("call_1", "rm", `{"path"`), interrupting(interruptFor("call_1", "rm")), "ficc_call_1 tool_call call_1", ""},
		"its looks, but arguments twice":         {"", shows("call_1", "rm", filesArgs+filesArgs), interrupting(interruptFor("call_1", "rm")), "ficc_call_1 tool_call call_1", ""},
		"its looks, but arguments in a list":     {"", shows("call_1", "rm", `["a"]`), interrupting(interruptFor("call_1", "rm")), "ficc_call_1 tool_call call_1", ""},
		"its looks, and no arguments":            {"", shows("call_1", "rm", "null"), interrupting(interruptFor("call_1", "rm")), "ficc_call_1! tool_call call_1", ""},
		"an approval that names no call":         {"", asksFor("call_1", "rm", filesArgs), interrupting(strings.Replace(interruptFor("call_1", "rm"), `"toolCallId":"call_1",`, "", 1)), "ficc_call_1! tool_call call_1", ""},
		"an approval that names another call":    {"", append(asksFor("call_1", "rm", filesArgs), shows("call_2", "ls", "{}")...), interrupting(strings.Replace(interruptFor("call_1", "rm"), `"toolCallId":"call_1",`, `"toolCallId":"call_2",`, 1)), "ficc_call_1 tool_call call_2; ficc_call_1! tool_call call_1", ""},
		"told by a Holdpoint before the host":    {"", asksFor("call_1", "rm", filesArgs), interrupting(strings.Replace(interruptFor("call_1", "rm"), "ficc_call_1", "ficc_call_1~AAAAAAAAAAAA", 1)), "ficc_call_1~AAAAAAAAAAAA! tool_call call_1", ""},
		"the same, and tools declared":           {`"x"`, batch, interrupting(strings.Replace(interruptFor("call_1", "rm"), "ficc_call_1", "ficc_call_1~AAAAAAAAAAAA", 1)), "ficc_call_1~AAAAAAAAAAAA! tool_call call_1", "ficc_call_2"},
		"another id that begins so":              {"", asksFor("call_1", "rm", filesArgs), interrupting(strings.Replace(interruptFor("call_1", "rm"), "ficc_call_1", "ficc_call_10~AAAAAAAAAAAA", 1)), "ficc_call_10~AAAAAAAAAAAA tool_call call_1; ficc_call_1! tool_call call_1", ""},
		"an approval without a schema":           {"", asksFor("call_1", "rm", filesArgs), interrupting(`{"id":"ficc_call_1","reason":"tool_call","message":"Approval required for tool call: rm","toolCallId":"call_1"}`), "ficc_call_1! tool_call call_1", ""},
		"the same call twice":                    {"", append(shows("call_1", "rm", filesArgs), asksFor("call_1", "rm", filesArgs)...), interrupting(interruptFor("call_1", "rm")), "ficc_call_1! confirmation", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(t, "")
			if c.tools != "" {
				in = inputOf(t, `"messages":[],"tools":[{"name":`+c.tools+`}]`)
			}
			res := ends(t, &translate.Request{Input: in}, append(c.stream, c.end)...)
			var got []string
			for _, i := range res.Asked.Interrupts {
				_, approval := callOf(i)
				got = append(got, strings.TrimSpace(i.Native+map[bool]string{true: "!"}[approval]+" "+i.Reason()+" "+i.ToolCallID()))
				if i.Native == "ficc_call_1" && i.Reason() == "tool_call" && approval && string(agui.Canonical(i.Object)) != string(agui.Canonical([]byte(bound))) {
					t.Errorf("interrupt %s", i.Object)
				}
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("asks %q, want %q", strings.Join(got, "; "), c.want)
			}
			if c.want == "" {
				if string(res.Finish.JSON) != c.end {
					t.Errorf("the end became %s", res.Finish.JSON)
				}
				return
			}
			if !MadePause(res.Asked.Pause("agent-framework")) || res.Finish.Get("outcome").Exists() || !strings.Contains(string(res.Asked.NativeFinish), `"RUN_FINISHED"`) {
				t.Errorf("pause %s, end %s", res.Asked.Private, res.Finish.JSON)
			}
			var free []string
			for _, s := range keptOf(res.Asked.Pause("agent-framework")).Siblings {
				free = append(free, s.ID)
			}
			if strings.Join(free, " ") != c.free {
				t.Errorf("siblings %q, want %q", free, c.free)
			}
		})
	}
}

// TestCallThatWasNotSeen: if the client knows another call by the same id, the metadata of the
// interrupt must contain the call in question.
func TestCallThatWasNotSeen(t *testing.T) {
	const exact = `{"n":1.0,"a":12345678901234567890}`
	told := strings.Replace(interruptFor("call_1", "rm"), `"id"`, `"metadata":"x","id"`, 1)
	res := ends(t, &translate.Request{}, append(append(shows("call_1", "rm", `{}`), asksFor("call_1", "rm", exact)...), interrupting(told))...)
	const want = `{"callId":"call_1","name":"rm","arguments":{"n":1.0,"a":12345678901234567890}}`
	if got := gjson.GetBytes(res.Asked.Interrupts[0].Object, "metadata.agent_framework.toolCall").Raw; got != want {
		t.Errorf("metadata %s, want %s", got, want)
	}
}

func TestMade(t *testing.T) {
	for private, want := range map[string]bool{``: false, `{}`: false, `{"natives":[]}`: false, `[]`: false, `{"dotnet":{}}`: true, `{"dotnet":null}`: false} {
		if got := MadePause(agui.Pause{Private: json.RawMessage(private)}); got != want {
			t.Errorf("%s: %v", private, got)
		}
	}
}

// TestOpaqueResultLeavesTheQuestion: if no client can read a TOOL_CALL_RESULT, it must not remove
// the question.
func TestOpaqueResultLeavesTheQuestion(t *testing.T) {
	for result, open := range map[string]int{
		`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"call_1","content":"done"}`:              0,
		`{"type":"TOOL_CALL_RESULT","type":"RAW","messageId":"m","toolCallId":"call_1","content":"done"}`: 1,
	} {
		res := ends(t, &translate.Request{}, append(asksFor("call_1", "delete_file", filesArgs), result, endWith(success))...)
		if len(res.Asked.Interrupts) != open {
			t.Errorf("%s: %d questions, want %d", result, len(res.Asked.Interrupts), open)
		}
	}
}
