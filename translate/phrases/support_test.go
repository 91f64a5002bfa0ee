package phrases

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	success  = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"success"},"result":7}`
)

var (
	asks  = say("u1", "user", "Delete it.")
	asked = say("a1", "assistant", "I would delete 3 files. Shall I proceed?")
	yes   = say("confirm-a1~x", "user", yesDefault)
	no    = say("confirm-a1~x", "user", noDefault)
)

func say(id, role, content string) string {
	return `{"id":"` + id + `","role":"` + role + `","content":` + quoted(content) + `}`
}

// logOf returns a transcript of the messages. They are given as a JSON list without its brackets.
func logOf(messages string, calls ...agui.Call) *dialecttest.Log {
	l := &dialecttest.Log{}
	for _, m := range gjson.Parse("[" + messages + "]").Array() {
		l.Say(agui.ParseMessage([]byte(m.Raw)))
	}
	return l.AddCalls(calls...)
}

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	var list List
	if err := list.UnmarshalText([]byte("default; Soll ich ")); err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Ask: list}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func input(t testing.TB, messages, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[` + messages + `]`
	if more != "" {
		body += "," + more
	}
	return dialecttest.Input(t, body+"}")
}

// pause returns the pause of a run that ends with the message in the constant asked. The id of the
// question is a1~x.
func pause(t testing.TB) agui.Pause {
	t.Helper()
	in, l := input(t, asks, ""), logOf(asks+","+asked)
	_, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	played := dialecttest.Play(run, l, finished)
	if played.Err != nil || len(played.Result.Asked.Interrupts) != 1 {
		t.Fatalf("%+v", played)
	}
	p := dialecttest.WithIDs(played.Result.Asked.Pause(Name))
	i := &p.Interrupts[0]
	i.ID, i.Object = "a1~x", agui.SetString(i.Object, "id", "a1~x")
	list, _ := l.Messages()
	p.Messages, p.SeenMessages = agui.MustMarshal(list), l.SeenMessages()
	return p
}

// resume returns a resume array with one answer. If payload is empty, the answer is cancelled, and
// has a payload that says yes all the same.
func resume(payload string) string {
	if payload == "" {
		return dialecttest.ResumeArray(`{"interruptId":"a1~x","status":"cancelled","payload":{"approved":true}}`)
	}
	return dialecttest.ResumeArray(dialecttest.Entry("a1~x", payload))
}

// told returns the ids of the messages, separated by spaces.
func told(list gjson.Result) string {
	var ids []string
	for _, m := range list.Array() {
		ids = append(ids, m.Get("id").Str)
	}
	return strings.Join(ids, " ")
}

func quoted(s string) string { return string(agui.AppendString(nil, s)) }
