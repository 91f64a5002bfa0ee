package langgraph

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestReviewFansOut checks that each action of a review becomes one interrupt (section 7.3 of the
// LangGraph reference, row 15).
func TestReviewFansOut(t *testing.T) {
	const schemaAll = `{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"},"message":{"type":"string"}},"required":["approved"]}`
	const schemaNoEdit = `{"type":"object","properties":{"approved":{"type":"boolean"},"message":{"type":"string"}},"required":["approved"]}`
	meta := func(call, index string) string { return `,"metadata":{"langgraph":{` + call + index + `}}}` }
	email, js := `"name":"send_email","args":{"to":"bob@example.org","body":"hi"}`, `"name":"send_email","args":{"to":"bob@x.org","body":"hi"}`
	deletes, f := `"name":"delete_file","args":{"path":"/tmp/x"}`, `"name":"f","args":{}`
	alpha := `{"action_requests":[{"name":"f","arguments":{"x":1}}],"review_configs":[{"action_name":"f","description":"D","allowed_decisions":["approve"]}]}`
	respond := `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["approve","respond"]}]}`
	refs := `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["edit"],"args_schema":{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"type":"integer"}}}}]}`
	bare := `{"action_requests":[{"name":"f","args":{}}]}`
	swapped := `{"action_requests":[{"name":"f"},{"name":"g"}],"review_configs":[{"action_name":"g","allowed_decisions":["reject"]},{"action_name":"f","allowed_decisions":["approve"]}]}`
	for name, c := range map[string]struct {
		calls, value string
		want         []string
	}{
		"Python, two actions, both calls seen": {pyCalls, pyHITL, []string{
			`{"reason":"tool_call","message":"Send it?","toolCallId":"call-1-1","responseSchema":` + schemaAll + meta(email, `,"index":0`),
			`{"reason":"tool_call","message":"Deleting needs an OK","toolCallId":"call-1-2","responseSchema":` + schemaNoEdit + meta(deletes, `,"index":1`),
		}},
		"JS, call not seen": {messages, jsHITL, []string{
			`{"reason":"langgraph:tool_approval","message":"Tool execution requires approval","responseSchema":` + schemaAll + meta(js, `,"index":0`),
		}},
		"1.0 alpha: arguments, description in the config": {messages, alpha, []string{
			`{"reason":"langgraph:tool_approval","message":"D","responseSchema":` + schemaNoEdit + meta(`"name":"f","args":{"x":1}`, `,"index":0`),
		}},
		"a decision that a boolean cannot say": {messages, respond, []string{
			`{"reason":"langgraph:tool_approval","message":"The agent asks to call the tool f.","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"message":{"type":"string"},"type":{"enum":["approve","respond"]}},"anyOf":[{"required":["approved"]},{"required":["type"]}]}` + meta(f, `,"index":0`),
		}},
		"args_schema with references": {messages, refs, []string{
			`{"reason":"langgraph:tool_approval","message":"The agent asks to call the tool f.","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object","properties":{"x":{"$ref":"#/$defs/X"}},"$defs":{"X":{"type":"integer"}}},"message":{"type":"string"}},"required":["approved"],"$defs":{"X":{"type":"integer"}}}` + meta(f, `,"index":0`),
		}},
		"without review_configs": {messages, bare, []string{
			`{"reason":"langgraph:tool_approval","message":"The agent asks to call the tool f.","responseSchema":` + schemaNoEdit + meta(f, `,"index":0`),
		}},
		"configs in another order go by name": {messages, swapped, []string{
			`{"reason":"langgraph:tool_approval","message":"The agent asks to call the tool f.","responseSchema":` + schemaNoEdit + meta(`"name":"f"`, `,"index":0`),
			`{"reason":"langgraph:tool_approval","message":"The agent asks to call the tool g.","responseSchema":` + schemaNoEdit + meta(`"name":"g"`, `,"index":1`),
		}},
		"Agent Inbox, one request (7.4)": {pyCalls, inboxOne, []string{
			`{"reason":"langgraph:human_interrupt","message":"Send this mail?","responseSchema":` + schemaAll + meta(`"name":"send_email","args":{"to":"bob@example.org"}`, ``),
		}},
		"Agent Inbox, a list; config taken out (row 14)": {
			strings.Replace(pyCalls, `\"body\": \"hi\"`, ``, 1), `[{"action_request":{"action":"delete_file","args":{"path":"/tmp/x"}}}]`, []string{
				`{"reason":"langgraph:human_interrupt","message":"delete_file","toolCallId":"call-1-2","responseSchema":` + schemaAll + meta(deletes, `,"index":0`),
			},
		},
		"Agent Inbox that takes little": {messages, `{"action_request":{"action":"f","args":{}},"config":{"allow_accept":true}}`, []string{
			`{"reason":"langgraph:human_interrupt","message":"f","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}` + meta(f, ``),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := playPlain(t, newDialect(t, Options{}), started, c.calls, custom(idA, c.value), finished)
			got := objects(p.Result.Asked.Pause(Name))
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("objects\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			for _, i := range p.Result.Asked.Interrupts {
				if i.Native != idA || !json.Valid(i.Object) {
					t.Errorf("interrupt %+v", i)
				}
			}
		})
	}
}

// TestReviewThatIsAskedAgain: a run that only repeats its questions does not send their calls
// again, and the client may send only its last message. The repeated questions must still name the
// same calls.
func TestReviewThatIsAskedAgain(t *testing.T) {
	d := newDialect(t, Options{})
	before := pausedBy(t, d, started, pyCalls, custom(idA, pyHITL), finished)
	for n := range before.Interrupts {
		i := &before.Interrupts[n]
		i.Calls = []agui.AskedCall{{ID: i.ToolCallID(), Name: "f", Args: "{}"}}
	}
	unseen := dialecttest.WithIDs(before)
	unseen.Interrupts = slices.Clone(before.Interrupts)
	for n := range unseen.Interrupts {
		unseen.Interrupts[n].CallUnseen = true
	}
	other := strings.Replace(pyHITL, "/tmp/x", "/tmp/y", 1)
	const named, bare = "tool_call call-1-1 call-1-1; tool_call call-1-2 call-1-2", "langgraph:tool_approval  ; langgraph:tool_approval  "
	for name, c := range map[string]struct {
		ended     []translate.EndedPause
		id, value string
		want      string
	}{
		"the same":                 {[]translate.EndedPause{{Pause: before}}, idA, pyHITL, named},
		"behind a later pause":     {[]translate.EndedPause{{}, {Pause: before}}, idA, pyHITL, named},
		"nothing is known":         {nil, idA, pyHITL, bare},
		"of another task":          {[]translate.EndedPause{{Pause: before}}, idB, pyHITL, bare},
		"about other arguments":    {[]translate.EndedPause{{Pause: before}}, idA, other, bare},
		"of calls that nobody saw": {[]translate.EndedPause{{Pause: unseen}}, idA, pyHITL, bare},
	} {
		t.Run(name, func(t *testing.T) {
			l := &dialecttest.Log{}
			_, run, err := d.Begin(&translate.Request{Input: input(t, ""), Transcript: l, EndedPauses: c.ended})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range dialecttest.Play(run, l, started, custom(c.id, c.value), finished).Result.Asked.Interrupts {
				about := ""
				for _, call := range i.Calls {
					about = call.ID
				}
				got = append(got, i.Reason()+" "+i.ToolCallID()+" "+about)
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestReviewedCalls checks which call a review is about (section 7.3 of the LangGraph reference).
func TestReviewedCalls(t *testing.T) {
	call := func(id, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":` + dialecttest.Quoted(args) + `}}`
	}
	assistant := func(id string, calls ...string) string {
		return `{"id":"` + id + `","role":"assistant","toolCalls":[` + strings.Join(calls, ",") + `]}`
	}
	tool := func(call string) string {
		return `{"id":"m-` + call + `","role":"tool","toolCallId":"` + call + `","content":"x"}`
	}
	request := func(args ...string) string {
		var list []string
		for _, a := range args {
			list = append(list, `{"name":"f","args":`+a+`}`)
		}
		return `{"action_requests":[` + strings.Join(list, ",") + `],"review_configs":[]}`
	}
	for name, c := range map[string]struct {
		messages []string
		request  string
		want     string
	}{
		"by arguments, deep":                   {[]string{assistant("a", call("1", `{"x":{"y":[1,2]}}`), call("2", `{"x":{"y":[1,3]}}`))}, request(`{"x":{"y":[1,3]}}`), "2"},
		"key order does not count":             {[]string{assistant("a", call("1", `{"a":1,"b":2}`))}, request(`{"b":2,"a":1}`), "1"},
		"1.0 is 1":                             {[]string{assistant("a", call("1", `{"a":1.0}`))}, request(`{"a":1}`), "1"},
		"long whole numbers differ":            {[]string{assistant("a", call("1", `{"a":9007199254740993}`))}, request(`{"a":9007199254740992}`), ""},
		"no arguments":                         {[]string{assistant("a", call("1", ``))}, request(`{}`), "1"},
		"two equal calls, each once":           {[]string{assistant("a", call("1", `{}`), call("2", `{}`))}, request(`{}`, `{}`), "1 2"},
		"more questions than calls":            {[]string{assistant("a", call("1", `{}`))}, request(`{}`, `{}`), "1 "},
		"the open call before the answered":    {[]string{assistant("a", call("1", `{}`)), tool("1"), assistant("b", call("2", `{}`))}, request(`{}`), "2"},
		"the last message before an older":     {[]string{assistant("a", call("1", `{}`)), assistant("b", call("2", `{}`))}, request(`{}`), "2"},
		"an answered one if there is no other": {[]string{assistant("a", call("1", `{}`)), tool("1")}, request(`{}`), "1"},
		"another tool":                         {[]string{assistant("a", call("1", `{}`))}, `{"action_requests":[{"name":"g","args":{}}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(c.messages, ",") + `]}`
			p := playPlain(t, newDialect(t, Options{}), started, snapshot, custom(idA, c.request), finished)
			var got []string
			for _, i := range p.Result.Asked.Interrupts {
				got = append(got, i.ToolCallID())
				if want := map[bool]string{true: "tool_call", false: "langgraph:tool_approval"}[i.ToolCallID() != ""]; i.Reason() != want {
					t.Errorf("reason %q, want %q", i.Reason(), want)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("calls %q, want %q", got, c.want)
			}
		})
	}
}
