package phrases

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// FuzzAnswers checks any request of a client while a question is open. Nothing may panic, and the
// output must be JSON with exactly one answer. The answer must be the no unless the client sent a
// yes.
func FuzzAnswers(f *testing.F) {
	for _, more := range []string{"", resume("true"), resume("false"), resume(""), resume(`{"approved":false,"APPROVED":true}`), dialecttest.Command(`true`), `"resume":[]`, `"resume":{"interruptId":"a1"}`} {
		f.Add(asks+","+asked, more)
		f.Add(yes+","+asked, more)
	}
	f.Fuzz(func(t *testing.T, messages, more string) {
		body := `{"threadId":"t1","runId":"r1","messages":[` + messages + `]`
		if more != "" {
			body += "," + more
		}
		body += "}"
		if !agui.ValidJSON([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		d := newDialect(t)
		var refused *agui.RunError
		out, _, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: logOf("")})
		if err != nil && !errors.As(err, &refused) || out.Body != nil && !json.Valid(out.Body) {
			t.Fatalf("%v %s", err, out.Body)
		}
		answers, err := d.Answers(in, pause(t))
		if err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		if len(answers) != 1 || answers[0].ID != "a1~x" {
			return
		}
		out, _, err = d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: logOf(""), Pause: pause(t), Answers: answers})
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return
		}
		list := gjson.GetBytes(out.Body, "messages").Array()
		answer := list[len(list)-1]
		if !json.Valid(out.Body) || !out.Resumes || answer.Get("id").Str != "confirm-a1~x" || answer.Get("content").Str == yesDefault && !strings.Contains(more, "true") {
			t.Fatalf("%s became %s", more, out.Body)
		}
	})
}

// FuzzEnd checks any end of a run and any text. Nothing may panic, and the question must have a
// form that can be stored.
func FuzzEnd(f *testing.F) {
	f.Add(finished, "Shall I proceed?")
	f.Add(success, strings.Repeat("İ", 5<<10)+"are you sure")
	f.Add(`{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":7}}`, "do you want me to\xff")
	f.Fuzz(func(t *testing.T, end, text string) {
		d, in := newDialect(t), input(t, asks, "")
		_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: logOf(asks + "," + say("a1", "assistant", text))})
		if err != nil {
			t.Fatal(err)
		}
		res, err := run.End(translate.End{Event: dialecttest.Event(end)})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Asked.Interrupts) == 0 {
			return
		}
		if _, err := json.Marshal(res.Asked); err != nil || res.Finish.Get("outcome").Exists() || !res.Finish.Valid() {
			t.Fatalf("%v %s", err, res.Finish.JSON)
		}
		if m := gjson.GetBytes(res.Asked.Interrupts[0].Object, "message"); m.Type != gjson.String || len(m.Str) > maxMessage+8 {
			t.Fatalf("message of %d bytes", len(m.Str))
		}
	})
}
