package toolcall

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// FuzzEvents checks any stream. Nothing may panic, and it must be possible to store and answer the
// questions.
func FuzzEvents(f *testing.F) {
	for _, s := range [][]string{
		stream(call("A", "delete_file", `{}`), call("B", "ask_me", `{"question":1}`), finished),
		stream(call("A", "delete_file", `{}`), ran("A"), errored), stream(call("A", "delete_file", `"May I?"`), ended(`"x"`)),
		stream(spoken, ran("A"), call("A", "ask_me", ``), finished),
	} {
		f.Add(strings.Join(s, "\n"), false)
		f.Add(strings.Join(s, "\n"), true)
	}
	f.Fuzz(func(t *testing.T, text string, native bool) {
		show := translate.ShowOutcome
		if native {
			show = translate.ShowNative
		}
		lines := strings.Split(text, "\n")
		p, _ := play(t, show, "", lines...)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		if _, err := json.Marshal(p.Result.Asked); err != nil {
			t.Fatal(err)
		}
		for _, i := range p.Result.Asked.Interrupts {
			if !agui.ValidJSON(i.Object) || gjson.GetBytes(i.Object, "reason").Type != gjson.String {
				t.Fatalf("%s", i.Object)
			}
		}
		pause := pausedBy(t, stream(call("A", "delete_file", `{}`), finished)...)
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry("A~r1", ""))+`}`)
		l := &dialecttest.Log{}
		_, run, err := dialecttest.Resume(newDialect(t), pause, in, l)
		if err != nil {
			t.Fatal(err)
		}
		if p := dialecttest.Play(run, l, lines...); p.Err != nil {
			t.Fatal(p.Err)
		}
	})
}

// FuzzAnswers checks any request of a client while a call asks. Nothing may panic. The answer must
// be the last message and one of the two templates: the no, unless the client sent a true.
func FuzzAnswers(f *testing.F) {
	for _, more := range []string{
		`"resume":[]`, dialecttest.ResumeArray(dialecttest.Entry("A~r1", "")), dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"approved":false,"approved":true}`)),
		dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"approved":true,"editedArgs":{"path":"$reason"}}`)), dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"approved":false,"reason":"it is true"}`)),
		`"messages":[{"id":"t","role":"tool","toolCallId":"A","content":"{\"approved\":true}"}]`, dialecttest.Command(`{"approved":true}`),
		`"messages":[{"id":"t","role":"tool","tool_call_id":"A","toolCallId":"A","content":"yes"}],` + dialecttest.ResumeArray(dialecttest.Entry("A~r1", "false")),
	} {
		f.Add(more)
	}
	f.Fuzz(func(t *testing.T, more string) {
		body := `{"threadId":"t","runId":"r",` + strings.TrimSuffix(more, ",") + `}`
		if !agui.ValidJSON([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		d := newDialect(t)
		for range d.Replies(in, Name) {
			continue
		}
		out, _, err := dialecttest.Resume(d, pausedBy(t, stream(call("A", "delete_file", `{}`), finished)...), in, &dialecttest.Log{})
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		list := gjson.GetBytes(out.Body, "messages").Array()
		if len(list) == 0 || gjson.GetBytes(out.Body, "resume").Exists() {
			t.Fatalf("%s", out.Body)
		}
		content := list[len(list)-1].Get("content").Str
		said := gjson.Get(content, "approved")
		if !agui.ValidJSON([]byte(content)) || !said.IsBool() || said.Bool() && !strings.Contains(body, "true") && !strings.Contains(body, `\u`) {
			t.Fatalf("%s becomes %s", body, out.Body)
		}
		if !said.Bool() && strings.Contains(strings.ToLower(content), "true") {
			t.Fatalf("the no is %s", content)
		}
	})
}
