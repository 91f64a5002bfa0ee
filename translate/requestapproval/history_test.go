package requestapproval

import (
	"encoding/json"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

func TestPlainRun(t *testing.T) {
	const (
		next     = `{"id":"u2","role":"user","content":"next"}`
		thought  = `{"id":"r1","role":"reasoning","content":"Hm."}`
		activity = `{"id":"v1","role":"activity","activityType":"x","content":{}}`
	)
	ask, yes := assistant("x", "x", "request_approval", argsB), tool("y", "x", `{"approval_id":"ficc_b","approved":true}`)
	for name, c := range map[string]struct{ more, want string }{
		"a finished exchange":             {messages(hello, assistant("x", "x", "Delete", "{}"), tool("x", "x", "gone"), next), ""},
		"a call left over":                {messages(hello, assistant("x", "x", "Delete", "{}"), next), "user hi\nuser next"},
		"a call left over, with words":    {messages(hello, `{"role":"assistant","content":"I delete.","name":"x","toolCalls":[`+string(agui.CallJSON("x", "Delete", "{}"))+`]}`, next), "user hi\nassistant I delete.\nuser next"},
		"one of two is left over":         {messages(hello, `{"role":"assistant","content":[],"toolCalls":[`+string(agui.CallJSON("x", "Delete", "{}"))+`,`+string(agui.CallJSON("z", "Look", "{}"))+`]}`, tool("t", "z", ""), next), "user hi\nassistant (z Look {})\ntool @z\nuser next"},
		"a call of the client's tool":     {messages(hello, assistant("x", "x", "Delete", "{}"), next) + `,"tools":[{"name":"Delete"}]`, ""},
		"a call that nobody came behind":  {messages(hello, assistant("x", "x", "Delete", "{}")), ""},
		"a call of an ended pause":        {messages(hello, assistant("e", "ended", "Delete", "{}")), "user hi"},
		"an old pair":                     {messages(hello, ask, yes, next), "user hi\nuser next"},
		"an old pair with its result":     {messages(hello, ask, yes, tool("z", "x", "gone"), next), "user hi\nassistant (x Delete {})\ntool gone @x\nuser next"},
		"a result before the answer":      {messages(hello, ask, tool("z", "x", "gone"), yes, next), "user hi\nassistant (x Delete {})\ntool gone @x\nuser next"},
		"a pair beside the real exchange": {messages(hello, ask, yes, assistant("w", "x", "Delete", `{"a":1}`), tool("z", "x", "gone"), next), "user hi\nassistant (x Delete {\"a\":1})\ntool gone @x\nuser next"},
		"the same, and nothing behind":    {messages(hello, ask, yes, assistant("w", "x", "Delete", `{"a":1}`), tool("z", "x", "gone")), "user hi\nassistant (x Delete {\"a\":1})\ntool gone @x"},
		"twice the same request":          {messages(hello, ask, ask, yes, tool("z", "x", "gone"), next), "user hi\nassistant (x Delete {})\ntool gone @x\nuser next"},
		"an answer in a short form":       {messages(hello, ask, tool("y", "x", `{"approved":true}`), next), "user hi\nuser next"},
		"a request without an answer":     {messages(hello, ask), "user hi"},
		"keys in another spelling":        {messages(hello, `{"Role":"assistant","tool_calls":[{"ID":"x","Function":{"NAME":"request_approval","Arguments":`+dialecttest.Quoted(argsB)+`}}]}`, `{"role":"tool","ToolCallId":"x","content":"{\"approval_id\":\"ficc_b\",\"approved\":true}"}`), "user hi"},
		"keys that stand twice":           {messages(hello, `{"role":"assistant","toolCalls":[{"id":"x","function":{"name":"y","name":"request_approval","arguments":`+dialecttest.Quoted(argsB)+`}}]}`, yes), "user hi"},
		"a request that stands twice":     {messages(hello, assistant("x", "x", "request_approval", `{"request":{},"request":{"approval_id":"a","function_name":"f"}}`), yes), "user hi"},
		"arguments that are no text":      {messages(hello, `{"role":"assistant","toolCalls":[{"id":"x","function":{"name":"request_approval","arguments":`+argsB+`}}]}`, yes), "user hi"},
		"a pair of a declared tool":       {messages(hello, ask, yes, next) + `,"tools":[{"name":"request_approval"}]`, "user hi\nuser next"},
		"somebody's own tool":             {messages(hello, assistant("x", "x", "request_approval", `{"what":"lunch"}`), tool("y", "x", `{"approved":true}`), next), ""},
		"reasoning":                       {messages(hello, thought, next), "user hi\nuser next"},
		"an activity":                     {messages(hello, activity, next), "user hi\nuser next"},
		"words in front of a result":      {messages(hello, assistant("x", "x", "Delete", "{}"), next, tool("y", "x", "gone")), "user hi\nassistant (x Delete {})\ntool gone @x\nuser next"},
		"all of these, and an old pair":   {messages(hello, ask, thought, next, activity, yes, tool("z", "x", "gone")), "user hi\nassistant (x Delete {})\ntool gone @x\nuser next"},
		"keys that it predates":           {messages(hello) + `,"protocolVersion":"1.0","resume":[]`, "user hi"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.more)
			ended := []translate.EndedPause{{Pause: agui.Pause{Interrupts: []agui.Interrupt{{Object: []byte(`{"toolCallId":"ended"}`)}}}}}
			out, _, err := new(Dialect).Begin(&translate.Request{Input: in, Transcript: unknown(), EndedPauses: ended})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if out.Body != nil {
					t.Errorf("touched: %s", out.Body)
				}
				return
			}
			if !json.Valid(out.Body) || sent(out.Body) != c.want {
				t.Errorf("%s\nwant %s", sent(out.Body), c.want)
			}
			if parsed := dialecttest.Input(t, string(out.Body)); parsed.ProtocolVersion != "" || parsed.HasResume || out.Resumes {
				t.Errorf("%s", out.Body)
			}
		})
	}
}

// TestMessageKeepsItsBytes: a call is removed from a message. The rest of the message must keep its
// bytes.
func TestMessageKeepsItsBytes(t *testing.T) {
	m := `{ "id":"m", "toolCalls" : [` + string(agui.CallJSON("a", "A", "{}")) + `, ` + string(agui.CallJSON("b", "B", "{}")) + `],"content":"x\u00e9","n":1.0,"tool_calls":[]}`
	list, changed := cleanHistory([]agui.Message{agui.ParseMessage([]byte(m)), agui.ParseMessage([]byte(tool("t", "b", ""))), agui.ParseMessage([]byte(hello))},
		func(c kit.DanglingCall) bool { return c.Abandoned })
	want := `{"id":"m","toolCalls":[` + string(agui.CallJSON("b", "B", "{}")) + `],"content":"x\u00e9","n":1.0}`
	if !changed || string(list[0].JSON) != want {
		t.Errorf("%s", list[0].JSON)
	}
}
