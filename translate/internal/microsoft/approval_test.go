package microsoft

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/hostile"
	"holdpoint/translate/kit"
)

const (
	person  = `{"id":"u1","role":"user","content":"Go."}`
	request = `{\"request\":{\"approval_id\":\"ficc_c\",\"function_name\":\"pay\",\"function_arguments\":{}}}`
	confirm = `{\"function_name\":\"rm\",\"function_call_id\":\"real\",\"function_arguments\":{},\"steps\":[]}`
)

func call(name, args string) string {
	return `{"id":"a1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}}]}`
}

func tool(content string) string {
	return `{"id":"t1","role":"tool","toolCallId":"c","content":"` + content + `"}`
}

func body(more string, messages ...string) string {
	return `{"threadId":"t","runId":"r","messages":[` + strings.Join(messages, ",") + `]` + more + `}`
}

// TestDeclaredWhereItIsKnown: the client declares a tool with a name that Microsoft's backends use.
// Once it is known that request_approval is the backend's own tool, the declaration must not
// matter. confirm_changes may always be the client's tool.
func TestDeclaredWhereItIsKnown(t *testing.T) {
	for name, args := range map[string]string{
		RequestApproval: `{"request":{"approval_id":"ficc_c","function_name":"pay"}}`,
		ConfirmChanges:  `{"function_call_id":"c"}`,
	} {
		body := kit.ReadObject([]byte(`{"messages":[{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"` + name + `","arguments":` + string(agui.MustMarshal(args)) + `}}]},` +
			`{"role":"tool","toolCallId":"c","content":"{\"approved\":true,\"accepted\":true}"}],"tools":[{"name":"` + name + `"}]}`))
		if n := len(Approvals(body, false)); n != 0 {
			t.Errorf("%s, unknown: %d", name, n)
		}
		if n, want := len(Approvals(body, true)), map[string]int{RequestApproval: 1}[name]; n != want {
			t.Errorf("%s, known: %d, want %d", name, n, want)
		}
	}
}

// places returns the indexes of the messages in the body that have native approvals. If the
// parameter form is set, it returns only the approvals of this form.
func places(body, form string) (list []int) {
	for _, one := range Approvals(kit.ReadObject([]byte(body)), false) {
		if form == "" || one.Key == form {
			list = append(list, one.At)
		}
	}
	return list
}

func TestApprovals(t *testing.T) {
	answer := tool(`{\"approval_id\":\"ficc_c\",\"approved\":true}`)
	for name, c := range map[string]struct {
		body string
		want string // the indexes of the messages
	}{
		"a pair of request_approval":             {body("", person, call("request_approval", request), answer), "2"},
		"its result, which is no answer":         {body("", call("request_approval", request), answer, tool("Done.")), "1"},
		"a result that is an object":             {body("", call("request_approval", request), tool(`{\"paid\":7}`)), ""},
		"a result of no text":                    {body("", call("request_approval", request), tool("")), ""},
		"an answer in Python's JSON":             {body("", call("confirm_changes", confirm), tool(` {\"accepted\":true,\"x\":NaN}`)), "1"},
		"an answer that is no text":              {body("", call("request_approval", request), `{"role":"tool","toolCallId":"c","content":{"approved":true}}`), "1"},
		"an answer of two contents":              {body("", call("request_approval", request), `{"role":"tool","toolCallId":"c","content":"Done.","Content":"{\"Approved\":true}"}`), "1"},
		"an answer too deep to be read":          {body("", call("request_approval", request), tool(`{\"approved\":true,\"x\":`+strings.Repeat("[", 1001)+strings.Repeat("]", 1001)+`}`)), "1"},
		"the answer before the call":             {body("", answer, call("request_approval", request)), "0"},
		"no answer":                              {body("", person, call("request_approval", request)), ""},
		"a tool of that name":                    {body("", call("request_approval", `{\"question\":\"ok?\"}`), answer), ""},
		"arguments that are no JSON":             {body("", call("request_approval", `{\"request\":`), answer), ""},
		"another tool":                           {body("", call("pay", request), answer), ""},
		"a tool that the request declares":       {body(`,"tools":[{"name":"request_approval"}]`, call("request_approval", request), answer), ""},
		"written with escapes":                   {body("", call(`request\u005fapproval`, request), answer), "1"},
		"a letter of the name as an escape":      {body("", call(`reque\u0073t_\u0061pprov\u0061l`, request), tool(`{\"x\":1,\"\u0061pproved\":true}`)), "1"},
		"every letter of the key as an escape":   {body("", `{"id":"u2","role":"user","function_\u0061\u0050\u0070\u0072\u006F\u0076\u0061\u006c\u0073":[{"id":"x"}]}`), "0"},
		"keys in another spelling":               {body("", strings.NewReplacer("toolCalls", "tool_calls", "function", "Function", "name", "NAME").Replace(call("request_approval", `{\"Request\":{\"approvalId\":\"ficc_c\",\"functionNAME\":\"pay\"}}`)), strings.Replace(answer, "toolCallId", "tool_call_id", 1)), "1"},
		"messages in another spelling":           {strings.Replace(body("", call("request_approval", request), answer), "messages", "Messages", 1), "1"},
		"a pair of confirm_changes":              {body("", call("confirm_changes", confirm), tool(`{\"accepted\":true}`)), "1"},
		"confirm_changes of a predicted state":   {body("", call("confirm_changes", `{}`), tool(`{\"accepted\":true}`)), "1"},
		"confirm_changes, by actionExecutionId":  {body("", call("confirm_changes", confirm), strings.Replace(tool(`{\"accepted\":true}`), "toolCallId", "actionExecutionId", 1)), "1"},
		"another confirm_changes":                {body("", call("confirm_changes", `{\"text\":\"ok?\"}`), tool(`{\"accepted\":true}`)), ""},
		"function_approvals":                     {body("", `{"id":"u2","role":"user","content":"","function_approvals":[{"id":"x","call_id":"y","approved":true},{"id":"z"}]}`), "0"},
		"functionApprovals":                      {body("", `{"id":"u2","role":"user","functionApprovals":[{"id":"x","callId":"y"}]}`), "0"},
		"a person who writes of it":              {body("", `{"id":"u2","role":"user","content":"request_approval confirm_changes function_approvals"}`), ""},
		"a body that is no run":                  {`{"messages":[` + call("request_approval", request) + `,` + answer + `]}`, "1"},
		"nothing":                                {body(""), ""},
		"function_approvals that are no list":    {body("", `{"id":"u2","role":"user","function_approvals":null}`), ""},
		"calls that are no list":                 {body("", `{"id":"a","role":"assistant","toolCalls":{"id":"c"}}`, answer), ""},
		"a request whose ids are not texts":      {body("", call("request_approval", `{\"request\":{\"approval_id\":7,\"function_name\":\"pay\"}}`), answer), ""},
		"the words in the upper case of a value": {body("", `{"id":"u2","role":"user","content":"APPROVAL"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := strings.Trim(fmt.Sprint(places(c.body, "")), "[]"); s != c.want {
				t.Errorf("%q, want %q", s, c.want)
			}
		})
	}
}

func TestRequestApprovals(t *testing.T) {
	pair := []string{call("request_approval", request), tool(`{\"approval_id\":\"ficc_c\",\"approved\":true}`)}
	both := strings.Replace(call("request_approval", request), `"name":"request_approval"`, `"name":"request_approval","name":"confirm_changes"`, 1)
	for name, c := range map[string]struct {
		body string
		want string
	}{
		"a pair":                     {body("", pair...), "1"},
		"function_approvals":         {body("", `{"id":"u2","role":"user","function_approvals":[{"id":"x"}]}`), ""},
		"confirm_changes":            {body("", call("confirm_changes", confirm), tool(`{\"accepted\":true}`)), ""},
		"what may be read as either": {body("", strings.Replace(both, request, confirm, 1), pair[1]), ""},
		"a pair with function_approvals in its answer": {
			body("", pair[0], strings.Replace(pair[1], `"role"`, `"function_approvals":[{"id":"x"}],"role"`, 1)), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Trim(fmt.Sprint(places(c.body, RequestApproval)), "[]"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// FuzzApprovals checks that each approval that is found belongs to a message of the body.
func FuzzApprovals(f *testing.F) {
	f.Add(body("", person, call("request_approval", request), tool(`{\"approval_id\":\"x\",\"approved\":true}`)))
	f.Add(body("", `{"id":"u2","role":"user","content":"x","function_approvals":[{"id":"x","call_id":"y"}]}`, call("confirm_changes", confirm), tool("no")))
	f.Fuzz(func(t *testing.T, s string) {
		if !agui.ValidJSON([]byte(s)) {
			return
		}
		in := kit.ReadObject([]byte(s))
		for _, one := range Approvals(in, false) {
			if one.At < 0 || one.At >= len(in.Messages) || !one.Decides {
				t.Fatalf("%+v of %d messages", one, len(in.Messages))
			}
		}
	})
}

// TestApprovalsOfRepeatedKeys checks that both values of a repeated key are read, because gjson
// uses the first value and .NET the last.
func TestApprovalsOfRepeatedKeys(t *testing.T) {
	const (
		args   = `"arguments":"{\"request\":{\"approval_id\":\"a\",\"function_name\":\"f\"}}"`
		answer = `{"role":"tool","toolCallId":"c","content":"{\"approval_id\":\"a\",\"approved\":true}"}`
	)
	for name, c := range map[string]struct {
		call, answer string
		want         int
	}{
		"once":                  {`"id":"c","function":{"name":"request_approval",` + args + `}`, answer, 1},
		"the name":              {`"id":"c","function":{"name":"x","name":"request_approval",` + args + `}`, answer, 1},
		"the function":          {`"id":"c","function":{"name":"x"},"Function":{"name":"request_approval",` + args + `}`, answer, 1},
		"the arguments":         {`"id":"c","function":{"name":"request_approval","arguments":"{}",` + args + `}`, answer, 1},
		"the id":                {`"id":"x","id":"c","function":{"name":"request_approval",` + args + `}`, answer, 1},
		"the approval's id":     {`"id":"c","function":{"name":"request_approval","arguments":"{\"request\":{\"approval_id\":1,\"approval_id\":\"a\",\"function_name\":null,\"function_name\":\"f\"}}"}`, answer, 1},
		"the request":           {`"id":"c","function":{"name":"request_approval","arguments":"{\"request\":{},\"request\":{\"approval_id\":\"a\",\"function_name\":\"f\"}}"}`, answer, 1},
		"the confirmed call":    {`"id":"c","function":{"name":"confirm_changes","arguments":"{\"function_call_id\":1,\"function_call_id\":\"x\"}"}`, answer, 1},
		"the answer's call":     {`"id":"c","function":{"name":"request_approval",` + args + `}`, `{"role":"tool","toolCallId":"x",` + answer[15:], 1},
		"the answer's role":     {`"id":"c","function":{"name":"request_approval",` + args + `}`, `{"role":"user",` + answer[1:], 1},
		"another name":          {`"id":"c","function":{"name":"x",` + args + `}`, answer, 0},
		"other arguments":       {`"id":"c","function":{"name":"request_approval","arguments":"{}"}`, answer, 0},
		"confirm_changes alone": {`"id":"c","function":{"name":"confirm_changes"}`, answer, 1},
		"another's own confirm": {`"id":"c","function":{"name":"confirm_changes","arguments":"{\"x\":1}"}`, answer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"messages":[{"role":"assistant","toolCalls":[{` + c.call + `}]},` + c.answer + `]}`
			if got := Approvals(kit.ReadObject([]byte(body)), false); len(got) != c.want {
				t.Errorf("%s\nhas %+v, want %d", body, got, c.want)
			}
		})
	}
}

// TestApprovalsInLinearTime: a request repeats its parts thousands of times. The time must grow in
// proportion to the size of the request.
func TestApprovalsInLinearTime(t *testing.T) {
	many := func(s string) string { return strings.TrimSuffix(strings.Repeat(s+",", 20_000), ",") }
	for name, messages := range map[string]string{
		"names and arguments": `{"toolCalls":[{"id":"c","function":{` + many(`"name":"request_approval"`) + `,` + many(`"arguments":"{}"`) + `}}]}`,
		"ids and arguments":   `{"toolCalls":[{` + many(`"id":"c"`) + `,"function":{"name":"confirm_changes",` + many(`"arguments":"{}"`) + `}}]}`,
		"calls and answers":   `{"toolCalls":[` + many(`{"id":"c","function":{"name":"confirm_changes"}}`) + `]},` + many(`{"role":"tool","toolCallId":"c"}`),
		"approvals":           `{"function_approvals":[` + many(`{"id":"a"}`) + `]}`,
	} {
		before := hostile.ProcessorTime(t)
		list := Approvals(kit.ReadObject([]byte(`{"messages":[`+messages+`]}`)), false)
		// linear time: about 50 ms; quadratic: minutes
		if took := hostile.ProcessorTime(t) - before; took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if approves := name == "calls and answers" || name == "approvals"; approves != (len(list) > 0) {
			t.Errorf("%s: %d approvals", name, len(list))
		}
	}
}
