package agentframework

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// play plays a stream to a run. An error fails the test.
func play(t testing.TB, run translate.Run, l *dialecttest.Log, stream ...string) dialecttest.Played {
	t.Helper()
	p := dialecttest.Play(run, l, stream...)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	return p
}

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	d, err := New(struct{}{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func playPlain(t testing.TB, more string, stream ...string) (dialecttest.Played, *dialecttest.Log) {
	t.Helper()
	l := dialecttest.LogOf(user)
	_, run, err := newDialect(t).Begin(&translate.Request{Input: input(t, more), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, l, stream...), l
}

// pausedBy returns the pause of a plain run with the stream, and the log of what the client got.
// The question ids are <native>~r1, <native>~r2, and so on, similar to those that proxy makes.
func pausedBy(t testing.TB, stream ...string) (agui.Pause, *dialecttest.Log) {
	t.Helper()
	p, l := playPlain(t, "", stream...)
	if len(p.Result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %s", p.Text())
	}
	return dialecttest.WithIDs(p.Result.Asked.Pause(Name)), l
}

const user = `{"id":"u1","role":"user","content":"hi"}`

// input returns a run input. more contains further members of it.
func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","state":{},"messages":[` + user + `],"context":[]`
	if more != "" {
		body += "," + more
	}
	return dialecttest.Input(t, body+"}")
}

// resumeWith runs an input through Answers, admission and Begin. If the input has only the first
// message, it gets the messages of the transcript, which a real client would send.
func resumeWith(t testing.TB, d *Dialect, p agui.Pause, l *dialecttest.Log, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	if list, _ := l.Messages(); len(in.Messages) == 1 && len(list) > 1 {
		in = dialecttest.Input(t, string(agui.SetKey(in.Raw, "messages", agui.MustMarshal(list))))
	}
	return dialecttest.Resume(d, p, in, l, change...)
}

// answering returns the Out and the Run of a resume, and fails the test if there is an error.
func answering(t testing.TB, p agui.Pause, l *dialecttest.Log, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run) {
	t.Helper()
	out, run, err := resumeWith(t, newDialect(t), p, l, in, change...)
	if err != nil {
		t.Fatal(err)
	}
	return out, run
}

// entries returns a resume array with a payload for each interrupt of the pause. The payload ""
// cancels the interrupt.
func entries(p agui.Pause, payloads ...string) string {
	var list []string
	for n, payload := range payloads {
		list = append(list, dialecttest.Entry(p.Interrupts[n].ID, payload))
	}
	return dialecttest.ResumeArray(list...)
}

// Events as the framework writes them.
const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	textOpen = `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`
	textEnds = `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`
	yes      = `{"approved":true}`
	no       = `{"approved":false}`
)

func events(list ...[]string) []string { return slices.Concat(list...) }

func toolCall(id, name, args string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + dialecttest.Quoted(args) + `}`,
		callEnds(id),
	}
}

func callEnds(id string) string { return `{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}` }

func result(call, content string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"r-` + call + `","toolCallId":"` + call + `","content":"` + content + `","role":"tool"}`
}

func asks(id, call string) string {
	return `{"type":"CUSTOM","name":"function_approval_request","value":{"id":"` + id + `","function_call":{"call_id":"` + call + `","name":"rm","arguments":{"path":"` + call + `"}}}}`
}

func confirms(id, call string) []string {
	return toolCall(id, "confirm_changes", `{"function_name":"rm","function_call_id":"`+call+`","function_arguments":{"path":"`+call+`"},"steps":[]}`)
}

func requests(id, kind, data string) []string {
	value := `{"request_id":"` + id + `","source_executor_id":"e","request_type":"dict","response_type":"` + kind + `","data":` + data + `}`
	return append(toolCall(id, "request_info", value), `{"type":"CUSTOM","name":"request_info","value":`+value+`}`,
		`{"type":"CUSTOM","name":"WorkflowInterruptEvent","value":`+dialecttest.Quoted(data)+`}`)
}

func snapshotOf(messages ...string) string {
	return `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(messages, ",") + `]}`
}

func said(calls ...string) string {
	var list []string
	for _, c := range calls {
		name, args := "rm", `{"path":"`+c+`"}`
		if id, of, ok := strings.Cut(c, "="); ok {
			c, name, args = id, "confirm_changes", `{"function_name":"rm","function_call_id":"`+of+`","function_arguments":{},"steps":[]}`
		}
		list = append(list, `{"id":"`+c+`","type":"function","function":{"name":"`+name+`","arguments":`+dialecttest.Quoted(args)+`}}`)
	}
	return `{"id":"m1","role":"assistant","content":"","toolCalls":[` + strings.Join(list, ",") + `]}`
}

func toolMessage(id, call, content string) string {
	return `{"id":"` + id + `","role":"tool","toolCallId":"` + call + `","content":` + dialecttest.Quoted(content) + `}`
}

func withList(ids ...string) string {
	var list []string
	for _, id := range ids {
		list = append(list, `{"id":"`+id+`","value":{"type":"function_approval_request","function_call":{"call_id":"`+id+`","name":"rm","arguments":{"path":"`+id+`"}}}}`)
	}
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","interrupt":[` + strings.Join(list, ",") + `]}`
}

// withRequests and withConfirm return a RUN_FINISHED in the form of 1.0.0rc7. That of withRequests
// is from a workflow that asks, that of withConfirm from a run with a predicted state.
func withRequests(ids ...string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","interrupt":[{"id":"` + strings.Join(ids, `","value":{}},{"id":"`) + `","value":{}}]}`
}

func withConfirm(id, call string) string {
	return strings.Replace(withList(call), `"id":"`+call+`","value"`, `"id":"`+id+`","value"`, 1)
}

// The response schemas of 1.0.0rc8 and of 1.1.0.
const (
	schemaOld = `{"type":"object","properties":{"accepted":{"type":"boolean"},"path":{"type":"string"}},"required":["accepted"],"additionalProperties":false}`
	schemaNew = `{"type":"object","properties":{"approved":{"type":"boolean"},"accepted":{"type":"boolean"},"path":{"type":"string"},"editedArgs":{"type":"object"}},"anyOf":[{"required":["approved"]},{"required":["accepted"]}],"additionalProperties":false}`
)

func withOutcome(schema string, ids ...string) string {
	var list []string
	for _, id := range ids {
		call := strings.TrimPrefix(id, "af-")
		list = append(list, `{"id":"`+id+`","reason":"tool_call","message":null,"toolCallId":"`+call+`","responseSchema":`+schema+`,"metadata":{"agent_framework":{"type":"function_approval_request","function_call":{"call_id":"`+call+`","name":"rm","arguments":{"path":"`+call+`"}}}}}`)
	}
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + strings.Join(list, ",") + `]}}`
}

// asking returns the stream of a run that asks about calls. finish is its last event. The id of a
// question is prefix and the id of the call.
func asking(finish, prefix string, calls ...string) []string {
	list := []string{started, textOpen}
	var shown []string
	for _, c := range calls {
		list = append(list, toolCall(c, "rm", `{"path":"`+c+`"}`)...)
		list = append(list, asks(prefix+c, c))
		list = append(list, confirms("confirm-"+c, c)...)
		shown = append(shown, c, "confirm-"+c+"="+c)
	}
	return append(list, textEnds, snapshotOf(user, said(shown...)), finish)
}

func failedWith(code, message string) string {
	return `{"type":"RUN_ERROR","message":` + dialecttest.Quoted(message) + `,"code":"` + code + `"}`
}

// sent returns the value at path in the body of a request to the backend.
func sent(out translate.Out, path string) gjson.Result { return gjson.GetBytes(out.Body, path) }

// lastMessage returns the last message of a request to the backend.
func lastMessage(out translate.Out) gjson.Result {
	list := sent(out, "messages").Array()
	if len(list) == 0 {
		return gjson.Result{}
	}
	return list[len(list)-1]
}
