package strandsapi

import (
	"strings"
	"testing"
)

func TestParseID(t *testing.T) {
	const hash = "75a96266-45d2-581c-8a6f-043e472e1763"
	for id, want := range map[string]ID{
		"v1:before_tool_call:tooluse_A_1:" + hash:                  {Python: true, Kind: BeforeCall, ToolUseID: "tooluse_A_1"},
		"v1:before_tool_call:a:b:" + hash:                          {Python: true, Kind: BeforeCall, ToolUseID: "a:b"},
		"v1:tool_call:tooluse_Q:" + hash:                           {Python: true, Kind: FromTool, ToolUseID: "tooluse_Q"},
		"v1:before_node_call:" + hash + ":" + hash:                 {Python: true, Kind: BeforeNode},
		"v1:before_tools:" + hash:                                  {Python: true, Kind: BeforeCalls},
		"v1:middleware_agent_stream:" + hash:                       {Python: true},
		"v1:middleware_execute_tool:tooluse_A:" + hash:             {Python: true, ToolUseID: "tooluse_A"},
		"v1:agent_as_tool:outer:v1:before_tool_call:inner:" + hash: {Python: true, Nested: true, Kind: BeforeCall, ToolUseID: "outer"},
		"v1:agent_as_tool:outer:v1:x:" + hash:                      {},
		"v1:agent_as_tool::v1:tool_call:a:" + hash:                 {},
		"v1:x:outer:v1:tool_call:a:" + hash:                        {},
		"v1:before_model_call:" + hash:                             {Python: true},
		"hook:beforeToolCall:tooluse_A_6:myapp-approval":           {Kind: BeforeCall, ToolUseID: "tooluse_A_6", Name: "myapp-approval"},
		"hook:beforeToolCall:t:ag_ui:tool_call:x":                  {Kind: BeforeCall, ToolUseID: "t", Name: "ag_ui:tool_call:x"},
		"hook:beforeToolCall:t:strands:human-in-the-loop":          {Kind: BeforeCall, ToolUseID: "t", Name: "strands:human-in-the-loop"},
		"tool:tooluse_Q:ask_user":                                  {Kind: FromTool, ToolUseID: "tooluse_Q", Name: "ask_user"},
		"hook:beforeTools:myapp-batch":                             {Kind: BeforeCalls, Name: "myapp-batch"},
		"multiagent-hook:beforeNodeCall:node_1:gate":               {Kind: BeforeNode, Name: "gate"},
		"middleware:agentStream:mw":                                {Name: "mw"},
		"middleware:executeTool:tooluse_A:mw":                      {ToolUseID: "tooluse_A", Name: "mw"},
		"":                                                         {}, "v1:": {}, "x": {}, "tool:": {}, "tool:a": {}, "tool::a": {}, "tool:a:": {}, "hook:": {}, "hook:other:a:b": {}, "hook:beforeTools": {}, "hook:beforeTools:": {},
		"v1:before_tools:x:" + hash: {}, "v1:before_tool_call:" + hash: {}, "v1:before_tool_call::" + hash: {}, "v1:before_node_call:x:" + hash: {},
		"v1:other:x:" + hash: {},
		// the suffix was added by another Holdpoint
		"v1:before_tool_call:tooluse_A_1:" + hash + "~id1":           {},
		"v1:before_tool_call:a:" + strings.ToUpper(hash):             {},
		"v1:before_tool_call:a:75a96266-45d2-481c-8a6f-043e472e1763": {}, // a random UUID
		"v2:before_tool_call:a:" + hash:                              {},
		hash:                                                         {},
		"multiagent-hook:beforeNodeCall:a":                           {},
	} {
		got, ok := ParseID(id)
		if ok != (want != ID{}) || ok && got != want {
			t.Errorf("%s: %+v %v", id, got, ok)
		}
	}
}

// FuzzParseID checks any text as an id. ParseID must not panic, and the id of a call that it
// returns must be a part of the text.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"v1:before_tool_call:a:75a96266-45d2-581c-8a6f-043e472e1763", "hook:beforeToolCall:a:b:c", "tool:a:b", "middleware:executeTool::", "v1::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		one, ok := ParseID(id)
		if ok && (one.ToolUseID == "" && (one.Kind == BeforeCall || one.Kind == FromTool) || !one.Python && one.Name == "") {
			t.Fatalf("%+v", one)
		}
		if ok && !strings.Contains(id, ":"+one.ToolUseID) {
			t.Fatalf("%q is not in %q", one.ToolUseID, id)
		}
	})
}
