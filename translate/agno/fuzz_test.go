package agno

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// FuzzEvents: the backend streams any events, one on each line. The dialect must not panic, and
// each question must be storable.
func FuzzEvents(f *testing.F) {
	for _, s := range [][]string{
		stream(call("A", "delete_file", `{}`), call("M", "send_mail", `{"to":1}`), finished),
		stream(call("F", getUserInput, `{"user_input_fields":[{"field_name":"a"},{"field_name":"a"}]}`), finished),
		stream(call("A", "delete_file", `{}`), ran("A"), `{"type":"RUN_ERROR","message":"x"}`),
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
		p, _ := play(t, show, lines...)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		for _, i := range p.Result.Asked.Interrupts {
			if !agui.ValidJSON(i.Object) || gjson.GetBytes(i.Object, "reason").Type != gjson.String {
				t.Fatalf("%s", i.Object)
			}
		}
		pause := pausedBy(t, stream(call("A", "delete_file", `{}`), finished)...)
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[],`+dialecttest.ResumeArray(dialecttest.Entry(pause.Interrupts[0].ID, ""))+`}`)
		_, run, err := dialecttest.Resume(newDialect(t), pause, in, &dialecttest.Log{})
		if err != nil {
			t.Fatal(err)
		}
		if p := dialecttest.Play(run, &dialecttest.Log{}, lines...); p.Err != nil {
			t.Fatal(p.Err)
		}
	})
}

// FuzzAnswers: a client sends any request while a confirmation is open. The dialect must not panic.
// It must send one clear answer, which is a no if the request contains no yes.
func FuzzAnswers(f *testing.F) {
	for _, more := range []string{
		`"resume":[]`, dialecttest.ResumeArray(dialecttest.Entry("A~r1", "")), dialecttest.ResumeArray(dialecttest.Entry("A~r1", `{"accepted":false,"accepted":true}`)),
		`"messages":[{"id":"t","role":"tool","toolCallId":"A","content":"{\"accepted\":true}"}]`, dialecttest.Command(`{"approved":true,"note":"x"}`),
		`"messages":[{"id":"t","role":"tool","tool_call_id":"A","toolCallId":"A","error":"x","content":"yes"}],` + dialecttest.ResumeArray(dialecttest.Entry("A~r1", "false")),
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
		said := gjson.Parse(list[0].Get("content").Str).Get("accepted")
		if !said.IsBool() || said.Bool() && !strings.Contains(body, "true") && !strings.Contains(body, `\u`) {
			t.Fatalf("%s becomes %s", body, out.Body)
		}
	})
}
