package draft

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

const schemaOfApproval = `"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`

// TestOneInterrupt checks ends with a single interrupt (section 6.1 of the project's reference of
// the drafts). The client has seen two calls: call-1 is still open, and call-2 has a result.
func TestOneInterrupt(t *testing.T) {
	stream := append(slices.Concat(call("call-1", "send", "{}"), call("call-2", "look", "{}")), result("call-2"))
	for name, c := range map[string]struct{ given, native, want, private string }{
		"the page's example": {
			`{"id":"int-1","reason":"human_approval","payload":{"proposal":{"tool":"sendEmail","args":{"n":1.0,"x":null}}}}`, "int-1",
			`{"reason":"human_approval","metadata":{"draft":{"reason":"human_approval","payload":{"proposal":{"tool":"sendEmail","args":{"n":1.0,"x":null}}}}}}`, ``,
		},
		"no id":              {`{"reason":"quality_gate"}`, "", `{"reason":"quality_gate","metadata":{"draft":{"reason":"quality_gate","idOmitted":true}}}`, ``},
		"a null id":          {`{"id":null,"reason":"x"}`, "", `{"reason":"x","metadata":{"draft":{"reason":"x","idOmitted":true}}}`, ``},
		"an empty id":        {`{"id":"","reason":"x"}`, "", `{"reason":"x","metadata":{"draft":{"reason":"x"}}}`, ``},
		"a number for an id": {`{"id":7}`, "7", `{"reason":"input_required"}`, `{"id":7}`},
		"nothing":            {`{}`, "", `{"reason":"input_required","metadata":{"draft":{"idOmitted":true}}}`, ``},
		"a null payload":     {`{"id":"a","reason":null,"payload":null}`, "a", `{"reason":"input_required"}`, ``},
		"no reason":          {`{"id":"a","payload":{"x":1}}`, "a", `{"reason":"input_required","metadata":{"draft":{"payload":{"x":1}}}}`, ``},
		"a text": {
			`{"id":"a","payload":{"description":"d","title":"t","prompt":"p","message":""}}`, "a",
			`{"reason":"input_required","message":"p","metadata":{"draft":{"payload":{"description":"d","title":"t","prompt":"p","message":""}}}}`, ``,
		},
		"a payload that is a text": {`{"id":"a","payload":"What?"}`, "a", `{"reason":"input_required","message":"What?","metadata":{"draft":{"payload":"What?"}}}`, ``},
		"a payload that is JSON text": {
			`{"id":"a","payload":"{\"question\":\"What?\"}"}`, "a",
			`{"reason":"input_required","message":"What?","metadata":{"draft":{"payload":"{\"question\":\"What?\"}"}}}`, ``,
		},
		"a free question of the .NET plan: the shape of its answer is not known": {
			`{"id":"a","payload":{"prompt":"Your email?","inputType":"email"}}`, "a",
			`{"reason":"input_required","message":"Your email?","metadata":{"draft":{"payload":{"prompt":"Your email?","inputType":"email"}}}}`, ``,
		},
		"a schema": {`{"id":"a","payload":{"schema":{"type":"string"}}}`, "a", `{"reason":"input_required","responseSchema":{"type":"string"},"metadata":{"draft":{"payload":{"schema":{"type":"string"}}}}}`, ``},
		"a schema by its other name": {
			`{"id":"a","payload":{"schema":{},"responseSchema":{"type":"string"}}}`, "a",
			`{"reason":"input_required","responseSchema":{"type":"string"},"metadata":{"draft":{"payload":{"schema":{},"responseSchema":{"type":"string"}}}}}`, ``,
		},
		"a schema that is none": {`{"id":"a","payload":{"schema":true}}`, "a", `{"reason":"input_required","metadata":{"draft":{"payload":{"schema":true}}}}`, ``},
		"a function whose call is known": {
			`{"id":"ficc_call-1","payload":` + approval + `}`, "ficc_call-1",
			`{"reason":"tool_call","toolCallId":"call-1",` + schemaOfApproval + `,"metadata":{"draft":{"payload":` + approval + `}}}`, `{"approval":true}`,
		},
		"a function whose call was never seen": {
			`{"id":"ficc_call-9","payload":` + approval + `}`, "ficc_call-9",
			`{"reason":"confirmation",` + schemaOfApproval + `,"metadata":{"draft":{"payload":` + approval + `}}}`, `{"approval":true}`,
		},
		"a function that has run": {
			`{"id":"call-2","payload":` + approval + `}`, "call-2",
			`{"reason":"confirmation",` + schemaOfApproval + `,"metadata":{"draft":{"payload":` + approval + `}}}`, `{"approval":true}`,
		},
		"a function with a reason and a schema": {
			`{"id":"call-1","reason":"policy","payload":{"functionName":"f","schema":{"type":"object"}}}`, "call-1",
			`{"reason":"policy","toolCallId":"call-1","responseSchema":{"type":"object"},"metadata":{"draft":{"reason":"policy","payload":{"functionName":"f","schema":{"type":"object"}}}}}`, `{"approval":true}`,
		},
		"the prefix means nothing elsewhere": {`{"id":"ficc_call-1"}`, "ficc_call-1", `{"reason":"input_required"}`, ``},
		"a call by its id":                   {`{"id":"call-1","reason":"human_input"}`, "call-1", `{"reason":"human_input","toolCallId":"call-1","metadata":{"draft":{"reason":"human_input"}}}`, ``},
		"a call in the payload": {
			`{"id":"a","payload":{"tool_call_id":"call-1"}}`, "a",
			`{"reason":"input_required","toolCallId":"call-1","metadata":{"draft":{"payload":{"tool_call_id":"call-1"}}}}`, ``,
		},
		"tool_call without a call that is known": {`{"id":"a","reason":"tool_call","payload":{"toolCallId":"call-9"}}`, "a", `{"reason":"confirmation","metadata":{"draft":{"reason":"tool_call","payload":{"toolCallId":"call-9"}}}}`, ``},
		"several calls stay one question": {
			`{"id":"a","payload":{"pendingToolCalls":[{"id":"call-1"},{"id":"call-3"}]}}`, "a",
			`{"reason":"input_required","metadata":{"draft":{"payload":{"pendingToolCalls":[{"id":"call-1"},{"id":"call-3"}]}}}}`, ``,
		},
		"fields of later drafts; v1 has no expiry": {
			`{"id":"a","reason":"r","message":"m","toolCallId":"call-2","expiresAt":"2030-01-01T00:00:00Z","metadata":{"k":null},"own":1}`, "a",
			`{"reason":"r","message":"m","toolCallId":"call-2","metadata":{"k":null,"draft":{"reason":"r","expiresAt":"2030-01-01T00:00:00Z","own":1}}}`, ``,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, end := range []string{v1(c.given), ended(`"interrupt":` + c.given), ended(`"outcome":null,"interrupts":null,"interrupt":` + c.given), ended(`"outcome":"whatever","interrupts":[],"interrupt":` + c.given)} {
				res := plain(t, slices.Concat([]string{started}, stream, []string{end})...)
				if len(res.Asked.Interrupts) != 1 {
					t.Fatalf("%s: %+v", end, res)
				}
				i := res.Asked.Interrupts[0]
				if string(i.Object) != c.want || i.Native != c.native || string(i.Private) != c.private {
					t.Errorf("%s\nnative %q private %s\n%s, want\n%s", end, i.Native, i.Private, i.Object, c.want)
				}
				if string(res.Finish.JSON) != finished || string(res.Asked.Private) != `{"form":"object"}` || res.Asked.NativeFinish != nil {
					t.Errorf("finish %s, pause %+v", res.Finish.JSON, res.Asked)
				}
			}
		})
	}
}

func TestResultWithAnInterrupt(t *testing.T) {
	for given, c := range map[string]struct{ want, finish string }{
		`{"n":1.0}`: {`{"reason":"input_required","metadata":{"draft":{"result":{"n":1.0}}}}`, ended(`"own":2`)},
		`null`:      {`{"reason":"input_required"}`, ended(`"result":null,"own":2`)},
	} {
		res := plain(t, ended(`"outcome":"interrupt","result":`+given+`,"interrupt":{"id":"a"},"own":2`))
		if got := string(res.Asked.Interrupts[0].Object); got != c.want || string(res.Finish.JSON) != c.finish {
			t.Errorf("%s\n%s", got, res.Finish.JSON)
		}
	}
}

// TestListOfInterrupts checks ends with a list of interrupts (draft v1.5). It also checks ends that
// have both an outcome object and members of the drafts. Then the dialect must use the outcome
// object.
func TestListOfInterrupts(t *testing.T) {
	for name, c := range map[string]struct{ given, form, finish, want string }{
		"as it is but for the id": {
			`"outcome":"interrupt","interrupts":[{"id":"int-1","reason":"confirmation","message":"Proceed?"}],"result":1`, "array", ended(`"result":1`),
			`int-1 {"reason":"confirmation","message":"Proceed?"}`,
		},
		"all that an Interrupt has": {
			`"interrupts":[{"id":"a","reason":"r","expiresAt":"2030-01-01T00:00:00Z","subagentRunId":"s","metadata":{"k":null},"responseSchema":{"n":1.0}}]`, "array", finished,
			`a {"reason":"r","responseSchema":{"n":1.0},"expiresAt":"2030-01-01T00:00:00Z","subagentRunId":"s","metadata":{"k":null}}`,
		},
		"the id alone": {`"outcome":"interrupt","interrupts":[{"id":"a"}]`, "array", finished, `a {"reason":"input_required"}`},
		"type and value": {
			`"interrupts":[{"id":"a","type":"confirm","value":"Proceed?"},{"id":"b","type":"form","value":{"prompt":"p","x":null}}]`, "array", finished,
			`a {"reason":"input_required","message":"Proceed?","metadata":{"draft":{"type":"confirm","value":"Proceed?"}}}; ` +
				`b {"reason":"input_required","message":"p","metadata":{"draft":{"type":"form","value":{"prompt":"p","x":null}}}}`,
		},
		"nulls, other kinds, a call that nobody has seen": {
			`"interrupts":[{"id":"a","reason":7,"message":null,"expiresAt":null,"responseSchema":true,"metadata":"m","toolCallId":"c"}]`, "array", finished,
			`a {"reason":"input_required","metadata":{"draft":{"reason":7,"responseSchema":true,"metadata":"m","toolCallId":"c"}}}`,
		},
		"tool_call needs the call": {`"interrupts":[{"id":"a","reason":"tool_call","toolCallId":"c"}]`, "array", finished, `a {"reason":"confirmation","metadata":{"draft":{"toolCallId":"c","reason":"tool_call"}}}`},
		"no id":                    {`"interrupts":[{"reason":"r"},{"id":"b","reason":"r"}]`, "array", finished, ` {"reason":"r","metadata":{"draft":{"idOmitted":true}}}; b {"reason":"r"}`},
		"a list and a single one":  {`"outcome":"interrupt","interrupt":{"id":"x"},"interrupts":[{"id":"a","reason":"r"}]`, "array", finished, `a {"reason":"r"}`},
		"an outcome object wins": {
			`"outcome":{"type":"interrupt","interrupts":[{"id":"a","reason":"r"}]},"interrupt":{"id":"x"},"interrupts":[{"id":"y"}]`, "outcome", finished,
			`a {"reason":"r"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			res := plain(t, started, ended(c.given))
			var got []string
			for _, i := range res.Asked.Interrupts {
				got = append(got, i.Native+" "+string(i.Object))
			}
			if strings.Join(got, "; ") != c.want || string(res.Finish.JSON) != c.finish || string(res.Asked.Private) != `{"form":"`+c.form+`"}` {
				t.Errorf("%s, want\n%s\nfinish %s private %s", strings.Join(got, "; "), c.want, res.Finish.JSON, res.Asked.Private)
			}
		})
	}
}

// TestQuestionsInToolCalls: the end of a run only says outcome:"interrupt". Then the open calls of
// a configured tool must become the questions.
func TestQuestionsInToolCalls(t *testing.T) {
	asks := func(id, args string) []string { return call(id, "pando_permission_request", args) }
	history := assistant("m0", "old") + "," + user("u1")
	for name, c := range map[string]struct {
		messages, tools string
		stream          []string
		want            string
	}{
		"one":               {"", "", asks("c1", `{"x":1}`), `c1 The agent asks to call the tool pando_permission_request.`},
		"its text":          {"", "", asks("c1", `{"description":"Run rm"}`), `c1 Run rm`},
		"two":               {"", "", slices.Concat(asks("c1", `{}`), asks("c2", `{"title":"T"}`)), `c1 The agent asks to call the tool pando_permission_request.; c2 T`},
		"one has a result":  {"", "", append(slices.Concat(asks("c1", ``), asks("c2", `{"title":"T"}`)), result("c1")), `c2 T`},
		"another tool":      {"", "", call("c1", "search", `{}`), ``},
		"the client's tool": {"", `"tools":[{"name":"pando_permission_request"}]`, asks("c1", `{}`), ``},
		"answered before, which leaves no result": {history, "", asks("c1", `{"title":"T"}`), `c1 T`},
		"none in this run: it still waits":        {history, "", nil, `old The agent asks to call the tool pando_permission_request.`},
		"and not for all there ever were":         {assistant("m-1", "older") + "," + history, "", nil, `old The agent asks to call the tool pando_permission_request.`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, end := range []string{ended(`"outcome":"interrupt"`), ended(`"interrupts":[]`)} {
				stream := slices.Concat([]string{started}, c.stream, []string{end})
				res := plainFor(t, &translate.Request{Input: inputWith(t, c.messages, c.tools)}, stream...)
				var got []string
				for _, i := range res.Asked.Interrupts {
					var o struct{ Reason, Message, ToolCallID string }
					if err := json.Unmarshal(i.Object, &o); err != nil || i.Native != o.ToolCallID || o.Reason != "tool_call" || string(i.Schema()) != kit.ApprovalSchema {
						t.Errorf("%s %v", i.Object, err)
					}
					got = append(got, o.ToolCallID+" "+o.Message)
				}
				if strings.Join(got, "; ") != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				if c.want == "" && len(c.stream) > 0 && strings.Contains(string(res.Finish.JSON), "interrupt") {
					t.Errorf("finish %s", res.Finish.JSON)
				}
			}
		})
	}
	t.Run("an interrupt in the end counts before calls", func(t *testing.T) {
		res := plain(t, slices.Concat(asks("c1", `{}`), []string{v1(`{"id":"a"}`)})...)
		if got := res.Asked.Interrupts; len(got) != 1 || got[0].Native != "a" {
			t.Errorf("%+v", got)
		}
	})
}

// TestPauseInNativeForm: a client in the native form must get the end of the run unchanged. If the
// backend asks again, the client must get the calls again.
func TestPauseInNativeForm(t *testing.T) {
	native := func(stream ...string) translate.Result {
		return plainFor(t, &translate.Request{Input: input(t, ""), Show: translate.ShowNative}, stream...)
	}
	end := v1(`{"id":"a"}`)
	if res := native(started, end); string(res.Asked.NativeFinish) != end || res.Asked.NativeEvents != nil || res.Asked.NativeShown || len(res.Asked.Interrupts) != 1 {
		t.Errorf("%+v", res)
	}
	asks := call("c1", "pando_permission_request", `{"x":1}`)
	res := native(append(slices.Clone(asks), ended(`"outcome":"interrupt"`))...)
	if !res.Asked.NativeShown || fmt.Sprintf("%s", res.Asked.NativeEvents) != fmt.Sprintf("%s", asks) || string(res.Asked.NativeFinish) != ended(`"outcome":"interrupt"`) {
		t.Errorf("%s, %s", res.Asked.NativeEvents, res.Asked.NativeFinish)
	}
}

// TestAPauseOwnsItsBytes checks that a pause does not share bytes with an event.
func TestAPauseOwnsItsBytes(t *testing.T) {
	end := []byte(v1(`{"id":"a","payload":{"prompt":"p"}}`))
	_, run, err := newDialect(t, Options{}).Begin(&translate.Request{Input: input(t, ""), Show: translate.ShowNative})
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.End(translate.End{Event: agui.NewEvent(end)})
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%s %s %s", res.Asked.Interrupts[0].Object, res.Asked.NativeFinish, res.Finish.JSON)
	clear(end)
	if after := fmt.Sprintf("%s %s %s", res.Asked.Interrupts[0].Object, res.Asked.NativeFinish, res.Finish.JSON); after != before {
		t.Errorf("%s became %s", before, after)
	}
}
