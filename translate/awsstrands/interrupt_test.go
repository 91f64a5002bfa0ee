package awsstrands

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

func TestInterrupts(t *testing.T) {
	schema := `"responseSchema":` + kit.ApprovalSchema
	for name, c := range map[string]struct{ given, want string }{
		"TypeScript, a hook whose reason is an object": {
			tsHook,
			`{"reason":"tool_call","message":"Approve call to delete_files?","metadata":{"strandsName":"myapp-approval","strands":{"name":"myapp-approval","reason":{"paths":["a"]}}},"toolCallId":"A",` + schema + `}`,
		},
		"TypeScript, a hook that asks itself": {
			`{"id":"` + tsID + `","reason":"Sure?","message":"Sure?","metadata":{"strandsName":"n"}}`,
			`{"reason":"tool_call","message":"Sure?","metadata":{"strandsName":"n","strands":{"name":"n"}},"toolCallId":"A",` + schema + `}`,
		},
		"TypeScript, a text keeps its bytes": {
			`{"id":"` + tsID + `","reason":"S\u00fcr\/e?","message":"S\u00fcr\/e?","metadata":{"strandsName":"n"}}`,
			`{"reason":"tool_call","message":"S\u00fcr\/e?","metadata":{"strandsName":"n","strands":{"name":"n"}},"toolCallId":"A",` + schema + `}`,
		},
		"TypeScript, a text that is its word for an object": {
			`{"id":"` + tsID + `","reason":"confirmation","message":"confirmation","metadata":{"strandsName":"n"}}`,
			`{"reason":"tool_call","message":"confirmation","metadata":{"strandsName":"n","strands":{"name":"n"}},"toolCallId":"A",` + schema + `}`,
		},
		"TypeScript, a reason with a question in it": {
			`{"id":"` + tsID + `","reason":"confirmation","message":"{\"question\":\"Now?\",\"n\":1.0}","metadata":{"strandsName":"n"}}`,
			`{"reason":"tool_call","message":"Now?","metadata":{"strandsName":"n","strands":{"name":"n","reason":{"question":"Now?","n":1.0}}},"toolCallId":"A",` + schema + `}`,
		},
		"TypeScript, a text that is JSON itself": {
			`{"id":"tool:A:n","reason":"{\"a\":1}","message":"{\"a\":1}","metadata":{"strandsName":"n"}}`,
			`{"reason":"strands:n","message":"{\"a\":1}","metadata":{"strandsName":"n","strands":{"name":"n"}},"toolCallId":"A"}`,
		},
		"TypeScript, a tool asks": {
			tsTool, `{"reason":"strands:ask_user","message":"Which env?","metadata":{"strandsName":"ask_user","strands":{"name":"ask_user"}},"toolCallId":"A"}`,
		},
		"TypeScript, a batch without a reason": {
			tsAll, `{"reason":"strands:myapp-batch","metadata":{"strandsName":"myapp-batch","strands":{"name":"myapp-batch"}},"message":"The agent waits for an answer to \"myapp-batch\"."}`,
		},
		"TypeScript, middleware around a call": {
			`{"id":"middleware:executeTool:A:mw","reason":"confirmation","metadata":{"strandsName":"mw"}}`,
			`{"reason":"strands:mw","metadata":{"strandsName":"mw","strands":{"name":"mw"}},"message":"The agent waits for an answer to \"mw\".","toolCallId":"A"}`,
		},
		"TypeScript, a call that nobody has seen": {
			strings.ReplaceAll(tsHook, ":A:", ":Z:"),
			`{"reason":"strands:myapp-approval","message":"The agent waits for an answer to \"myapp-approval\".","metadata":{"strandsName":"myapp-approval","strands":{"name":"myapp-approval","reason":{"paths":["a"]}}}}`,
		},
		"Python, a hook": {
			pyHook,
			`{"reason":"tool_call","metadata":{"reason":{"paths":["a"]},"strands":{"name":"myapp-approval"}},"message":"Approve call to delete_files?","toolCallId":"A",` + schema + `}`,
		},
		"Python, a tool asks": {
			pyTool, `{"reason":"strands:ask_user","metadata":{"reason":"Which env?","strands":{"name":"ask_user"}},"message":"Which env?","toolCallId":"A"}`,
		},
		"Python, its nulls go": {
			`{"id":"` + pyID + `","reason":"n","message":null,"toolCallId":null,"responseSchema":null,"expiresAt":null,"metadata":null}`,
			`{"reason":"tool_call","message":"Approve call to delete_files?","toolCallId":"A",` + schema + `,"metadata":{"strands":{"name":"n"}}}`,
		},
		"Python, the gate": {
			pyGate,
			`{"reason":"tool_call","message":"Approve call to delete_files?","toolCallId":"A",` + schema + `,"metadata":{"tool_name":"delete_files","tool_input":{"paths":["a"]},"strands":{"name":"ag_ui:tool_call:delete_files"}}}`,
		},
		"Python, the gate of an inner call": {
			strings.Replace(pyGate, `"toolCallId":"A"`, `"toolCallId":"Z"`, 1),
			`{"reason":"strands:ag_ui:tool_call:delete_files","message":"Approve call to delete_files?",` + schema + `,"metadata":{"tool_name":"delete_files","tool_input":{"paths":["a"]},"strands":{"name":"ag_ui:tool_call:delete_files"}}}`,
		},
		"Python, a later release": {
			`{"id":"v1:of_tomorrow:x","reason":"r","message":"{\"a\":1}","metadata":{"strandsName":"n"}}`,
			`{"reason":"strands:n","message":"{\"a\":1}","metadata":{"strandsName":"n","strands":{"name":"n"}}}`,
		},
		"Python, an agent as a tool": {
			`{"id":"v1:agent_as_tool:A:` + pyID + `","reason":"n"}`,
			`{"reason":"strands:n","message":"The agent waits for an answer to \"n\".","toolCallId":"A","metadata":{"strands":{"name":"n"}}}`,
		},
		"a node": {
			`{"id":"v1:before_node_call:` + hash + `:` + hash + `","reason":"gate","metadata":{"reason":{"message":"Go on?"}}}`,
			`{"reason":"strands:gate","metadata":{"reason":{"message":"Go on?"},"strands":{"name":"gate"}},"message":"Go on?"}`,
		},
		"no word of a reason":           {`{"id":"v1:before_tools:` + hash + `"}`, `{"reason":"strands:interrupt","message":"The agent waits for an answer."}`},
		"metadata that is no object":    {`{"id":"v1:before_tools:` + hash + `","reason":"n","metadata":"x"}`, `{"reason":"strands:n","metadata":"x","message":"The agent waits for an answer to \"n\"."}`},
		"an interrupt that is not ours": {`{"id":"x","reason":"r","message":"m","own":[1, 2]}`, `{"reason":"r","message":"m","own":[1, 2]}`},
		"not ours, about an unseen call": {
			`{"id":"x","reason":"tool_call","toolCallId":"Z"}`, `{"reason":"strands:tool_call"}`,
		},
		"not ours, without a reason": {`{"id":7}`, `{"reason":"strands:interrupt"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := ask(t, c.given)
			if len(p.Interrupts) != 1 || p.Dialect != Name {
				t.Fatalf("%+v", p)
			}
			i := p.Interrupts[0]
			if got := string(agui.DeleteKey(i.Object, "id")); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if id := gjson.Get(c.given, "id"); id.Type == gjson.String && i.Native != id.Str {
				t.Errorf("native %q", i.Native)
			}
		})
	}
}

// TestFinishOfAPause: RUN_FINISHED must keep all members except the outcome.
func TestFinishOfAPause(t *testing.T) {
	l := &dialecttest.Log{}
	_, run, err := dialect(t, "").Begin(&translate.Request{Input: parse(t, `"tools":[{"name":"mine"}]`), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	stream := append(append(callOf("A", "delete_files"), callOf("M", "mine")...), append(callOf("B", "free"), resultOf("B"), outcome(tsHook, tsAll))...)
	res := play(t, run, l, stream...)
	if got := string(res.Finish.JSON); got != `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","usage":[1]}` || !res.Finish.Edited {
		t.Errorf("finish %s", got)
	}
	if p := res.Asked.Pause(Name); len(p.Interrupts) != 2 || string(p.NativeFinish) != outcome(tsHook, tsAll) || p.Native != nil || string(p.Private) != `{"held":["A"]}` {
		t.Errorf("%+v", p)
	}
}

func TestSign(t *testing.T) {
	seen := new(dialecttest.Log).AddCalls(agui.Call{ID: "A"})
	for event, want := range map[string]bool{
		outcome(tsHook): true, outcome(tsTool): true, outcome(tsAll): true,
		outcome(pyHook): true, outcome(pyTool): true, outcome(pyGate): true,
		outcome(tsHook, tsTool): true,
		// an id of the SDK's form, in an interrupt without strandsName
		outcome(`{"id":"tool:A:x","reason":"r"}`):                        true,
		outcome(`{"id":"tool:Z:x","reason":"r"}`):                        false,
		outcome(`{"id":"hook:beforeTools:x","reason":"r"}`):              true,
		outcome(`{"id":"multiagent-hook:beforeNodeCall:n:x"}`):           true,
		outcome(`{"id":"middleware:agentStream:x"}`):                     true,
		outcome(`{"id":"v1:before_tools:x"}`):                            false,
		outcome(`{"id":"hook:x"}`):                                       false,
		outcome(`{"id":"x","metadata":{"strandsName":7}}`):               false,
		outcome(`{"id":"x","metadata":{"reason":"r","tool_name":"rm"}}`): false,
		outcome(tsHook, `{"id":"x"}`):                                    false,
		outcome():                                                        false,
		finished:                                                         false,
		success:                                                          false,
		spoken:                                                           false,
		`{"type":"RUN_FINISHED","outcome":"interrupt"}`:                  false,
		`{"type":"RUN_FINISHED","type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[` + tsHook + `]}}`: false,
	} {
		if got := dialect(t, "").Sign(agui.NewEvent([]byte(event)), &translate.Request{Transcript: seen}); got != want {
			t.Errorf("%s: %v", event, got)
		}
	}
	if !dialect(t, "").Sign(agui.NewEvent([]byte(outcome(tsHook))), &translate.Request{}) {
		t.Error("asked without a transcript")
	}
}
