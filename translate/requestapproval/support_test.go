package requestapproval

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// types describes each event that the client gets: the last word of its type, and the id of its
// call or message.
func types(p dialecttest.Played) string {
	var list []string
	for _, ev := range p.All() {
		kind := string(ev.Type)
		kind = kind[strings.LastIndex(kind, "_")+1:]
		for _, key := range []string{"toolCallId", "messageId"} {
			if id := ev.Get(key).Str; id != "" {
				kind += ":" + id
				break
			}
		}
		list = append(list, kind)
	}
	return strings.Join(list, " ")
}

func find(t *testing.T, p dialecttest.Played, kind agui.Type, call string) agui.Event {
	t.Helper()
	for _, ev := range p.All() {
		if ev.Type == kind && ev.Get("toolCallId").Str == call {
			return ev
		}
	}
	t.Fatalf("no %s of %s in %s", kind, call, types(p))
	return agui.Event{}
}

// playPlain plays a run without answers. The parameter more contains additional members of its
// input.
func playPlain(t testing.TB, show translate.Show, more string, stream ...string) dialecttest.Played {
	t.Helper()
	l := unknown()
	in := input(t, more)
	_, run, err := new(Dialect).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Show: show, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return dialecttest.Play(run, l, stream...)
}

// pausedBy returns the pause of an ordinary run with the stream. Its ids have the proxy's form:
// <native>~r1, <native>~r2, and so on.
func pausedBy(t testing.TB, stream ...string) agui.Pause {
	t.Helper()
	p := playPlain(t, translate.ShowOutcome, "", stream...)
	if len(p.Result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p)
	}
	return dialecttest.WithIDs(p.Result.Asked.Pause(Name))
}

const hello = `{"id":"u1","role":"user","content":"hi"}`

// input returns the input of a run. The parameter more contains additional members of its object.
func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1"`
	if more != "" {
		body += "," + more
	}
	if !strings.Contains(more, `"messages":`) {
		body += `,"messages":[` + hello + `]`
	}
	return dialecttest.Input(t, body+"}")
}

// resumeWith passes an input to Answers, checks the answers partly as the proxy does, and calls
// Begin.
func resumeWith(t testing.TB, p agui.Pause, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	answers, err := new(Dialect).Answers(in, p)
	if err == nil && len(answers) == 0 { // the proxy checks other answers
		answers, err = dialecttest.Answers(new(Dialect), in, p)
	}
	if err != nil {
		return translate.Out{}, nil, err
	}
	return dialecttest.ResumeWith(new(Dialect), p, in, answers, unknown(), change...)
}

// unknown returns a transcript that does not know the messages.
func unknown() *dialecttest.Log { return &dialecttest.Log{Unknown: true} }

// sent describes each message in a request: its role, its text, and its calls with their ids, names
// and arguments.
func sent(body []byte) string {
	var list []string
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		one := m.Get("role").Str
		if s := m.Get("content").Str; s != "" {
			one += " " + s
		}
		for _, c := range m.Get("toolCalls").Array() {
			one += " (" + c.Get("id").Str + " " + c.Get("function.name").Str + " " + c.Get("function.arguments").Str + ")"
		}
		if id := m.Get("toolCallId").Str; id != "" {
			one += " @" + id
		}
		list = append(list, one)
	}
	return strings.Join(list, "\n")
}

// These are the streams of the .NET samples. Their ids have the form of layout B
// (docs/microsoft.md).
const (
	started   = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	succeeded = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"success"}}`
	finished  = `{"threadId":"t1","runId":"r1","result":null,"type":"RUN_FINISHED"}`
	failed    = `{"message":"kaput","code":"StreamingError","type":"RUN_ERROR"}`

	argsA = `{"request":{"approval_id":"ficc_a","function_name":"Approve","function_arguments":{"n": 1.0, "s":"\u0027"},"message":"Approve it?"}}`
	argsB = `{"request":{"approval_id":"ficc_b","function_name":"Delete","function_arguments":null}}`
)

func start(id string) string {
	return `{"type":"TOOL_CALL_START","parentMessageId":"","toolCallId":` + dialecttest.Quoted(id) + `,"toolCallName":"request_approval","rawEvent":{"x":null}}`
}

func args(id, delta string) string {
	return `{"type":"TOOL_CALL_ARGS","toolCallId":` + dialecttest.Quoted(id) + `,"delta":` + dialecttest.Quoted(delta) + `,"rawEvent":{"x":null}}`
}

func end(id string) string {
	return `{"type":"TOOL_CALL_END","toolCallId":` + dialecttest.Quoted(id) + `,"rawEvent":{"x":null}}`
}

func trio(id, delta string) []string { return []string{start(id), args(id, delta), end(id)} }

// stream returns RUN_STARTED and the events of the parts. Each part is one event or a list of
// events.
func stream(parts ...any) []string {
	list := []string{started}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			list = append(list, p)
		case []string:
			list = append(list, p...)
		}
	}
	return list
}

// assistant returns an assistant's message with one call. The function tool returns a tool message.
func assistant(id, call, name, arguments string) string {
	return `{"id":` + dialecttest.Quoted(id) + `,"role":"assistant","toolCalls":[` + string(agui.CallJSON(call, name, arguments)) + `]}`
}

func tool(id, call, content string) string {
	return `{"id":` + dialecttest.Quoted(id) + `,"role":"tool","toolCallId":` + dialecttest.Quoted(call) + `,"content":` + dialecttest.Quoted(content) + `}`
}

func messages(list ...string) string { return `"messages":[` + strings.Join(list, ",") + `]` }
