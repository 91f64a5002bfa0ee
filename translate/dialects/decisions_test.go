package dialects_test

import (
	"encoding/json"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialects"
)

// TestDecides checks that each dialect finds the decisions in a tool message, in every form that
// its backend reads, and reads no ordinary result as a decision. The dialect auto must find all of
// them.
func TestDecides(t *testing.T) {
	list := dialects.All()
	if errs := list.Read(map[string]string{"HOLDPOINT_TOOLS": "delete_file=approval", "HOLDPOINT_TOOL_CALL_YES": "granted", "HOLDPOINT_TOOL_CALL_NO": "refused", "HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT": "a", "HOLDPOINT_PHRASES_ASK": "default", "HOLDPOINT_SUPERAGENT_AGENT_ID": "a"}); len(errs) > 0 {
		t.Fatal(errs)
	}
	// Each map has the dialects that find the decision if the tool message is the last message of
	// the request. If a dialect's value is the constant words, it also finds the decision if a
	// user's message follows.
	const words = 1
	type who map[string]int
	for content, want := range map[string]who{
		`{"accepted":true}`:                     {"agent-framework": words, "agno": 0},
		`{"accepted":true,"ticket":7}`:          {"agent-framework": 0, "agno": 0},
		`ok {"accepted":true}`:                  {"agno": 0},
		"```json\n{\"accepted\":true}\n```":     {"agno": 0},
		"<think>x</think>{\"accepted\":true}":   {"agno": 0},
		"{\"acc\tepted\":true}":                 {"agno": 0},
		`{"values":{"to":"bob"}}`:               {"agno": 0},
		`{"selections":{"Which?":["red"]}}`:     {"agno": 0},
		`{"chart":{"values":[1,2]}}`:            {},
		`{"confirmed":true}`:                    {"adk": words},
		`{"confirmed":"yes","payload":{"a":1}}`: {"adk": words},
		` {"\u0063onfirmed":1}`:                 {"adk": words},
		`{"response":"{\"confirmed\":true}"}`:   {"adk": words},
		`{"confirmed":NaN}`:                     {"adk": words},
		`[{"confirmed":true}]`:                  {},
		`confirmed`:                             {},
		`{"approved":true}`:                     {"draft": 0},
		`{"approved":false,"reason":"no"}`:      {"draft": 0},
		`granted`:                               {"tool-call": words},
		` Granted! `:                            {"tool-call": words},
		`refused`:                               {"tool-call": 0},
		`It was granted by the committee.`:      {},
		`deleted a.txt`:                         {},
		`{"ok":true,"rows":[{"id":1}]}`:         {},
		``:                                      {},
	} {
		quoted, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		m := agui.ParseMessage([]byte(`{"id":"m","role":"tool","toolCallId":"c","content":` + string(quoted) + `}`))
		last, before := false, false
		for _, name := range append(list.Names()[1:], "auto") {
			d, err := list.New(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			reader, ok := d.(translate.DecisionReader)
			if !ok {
				if _, wanted := want[name]; wanted {
					t.Errorf("%s reads no decisions", name)
				}
				continue
			}
			at, wanted := want[name]
			if name == "auto" {
				wanted, at = last, 0
				if before {
					at = words
				}
			}
			if got := reader.Decides(m, true, ""); got != wanted {
				t.Errorf("%s: %q decides at the end: %v; if its backend reads it so, add %[1]s to this content's dialects", name, content, got)
			}
			if got := reader.Decides(m, false, ""); got != (wanted && at == words) {
				t.Errorf("%s: %q decides before words: %v", name, content, got)
			}
			last, before = last || wanted, before || wanted && at == words
			if !reader.Decides(m, false, "") {
				continue
			}
			out := reader.Harmless(m)
			if reader.Decides(out, false, "") || out.ID != m.ID || out.ToolCallID != m.ToolCallID || out.Role != m.Role {
				t.Errorf("%s: %q is made %s", name, content, out.JSON)
			}
		}
	}
}
