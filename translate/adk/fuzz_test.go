package adk

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// FuzzEvents: the backend streams any events, one on each line. The dialect must not panic or lose
// an event of another call, and each question must be answerable.
func FuzzEvents(f *testing.F) {
	for _, s := range [][]string{
		stream(call("A", "delete_file", `{}`), confirms("B", "A"), finished),
		stream(confirms("B", "A")[:2], confirms("C", "A"), confirms("B", "A")[2], `{"type":"TOOL_CALL_RESULT","toolCallId":"B","content":"x"}`, finished),
		stream(state, call("P", confirmChanges, `{}`), state, finished), stream(call("J", "ask_human", `{}`), spoken, finished),
		stream(confirms("B", "A"), confirms("B", "A"), `{"type":"RUN_ERROR","message":"x"}`),
	} {
		f.Add(strings.Join(s, "\n"), false)
		f.Add(strings.Join(s, "\n"), true)
	}
	f.Fuzz(func(t *testing.T, text string, native bool) {
		show := translate.ShowOutcome
		if native {
			show = translate.ShowNative
		}
		d, lines := newDialect(t, "ask_*"), strings.Split(text, "\n")
		p := play(t, d, show, "", lines...)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		shown := map[string]bool{}
		for _, ev := range p.All() {
			shown[string(ev.JSON)] = true
		}
		for _, line := range lines {
			ev := agui.NewEvent([]byte(line))
			if ev.Type.Terminal() {
				break
			}
			if asks := strings.HasPrefix(string(ev.Type), "TOOL_CALL_"); (native || !asks) && !shown[line] {
				t.Fatalf("lost: %s", line)
			}
		}
		pause := p.Result.Asked.Pause(Name)
		if len(pause.Interrupts) == 0 {
			return
		}
		if p.Result.Finish.Type != agui.RunFinished || !agui.ValidJSON(p.Result.Finish.JSON) {
			t.Fatalf("finish %s", p.Result.Finish.JSON)
		}
		pause = dialecttest.WithIDs(pause)
		var entries []string
		for _, i := range pause.Interrupts {
			if !agui.ValidJSON(i.Object) || gjson.GetBytes(i.Object, "reason").Type != gjson.String {
				t.Fatalf("%s", i.Object)
			}
			entries = append(entries, dialecttest.Entry(i.ID, ""))
		}
		in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],` + dialecttest.ResumeArray(entries...) + `}`))
		if !ok || err != nil {
			return // two ids are equal, or not valid UTF-8
		}
		out, run, err := dialecttest.Resume(d, pause, in, &dialecttest.Log{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range gjson.GetBytes(out.Body, "messages").Array()[1:] {
			if content := m.Get("content").Str; strings.Contains(content, "true") && !strings.Contains(content, `"cancelled":true`) {
				t.Fatalf("a yes out of a cancel: %s", out.Body)
			}
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
		`"resume":[]`, dialecttest.ResumeArray(dialecttest.Entry("B~r1", "")), dialecttest.ResumeArray(dialecttest.Entry("B~r1", `{"confirmed":false,"confirmed":true}`)),
		`"messages":[{"id":"t","role":"tool","toolCallId":"B","content":"{\"confirmed\":true}"}]`, dialecttest.Command(`{"approved":true,"payload":1}`),
		`"messages":[{"id":"t","role":"tool","tool_call_id":"B","toolCallId":"B","content":"yes"}],` + dialecttest.ResumeArray(dialecttest.Entry("B~r1", "false")),
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
		p := pausedBy(t, d, stream(call("A", "delete_file", `{}`), confirms("B", "A"), finished)...)
		out, _, err := dialecttest.Resume(d, p, in, &dialecttest.Log{})
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		list := gjson.GetBytes(out.Body, "messages").Array()
		if len(list) < 2 || gjson.GetBytes(out.Body, "resume").Exists() {
			t.Fatalf("%s", out.Body)
		}
		said := gjson.Parse(list[1].Get("content").Str).Get("confirmed")
		if !said.IsBool() || said.Bool() && !strings.Contains(body, "true") && !strings.Contains(body, `\u`) {
			t.Fatalf("%s becomes %s", body, out.Body)
		}
	})
}
