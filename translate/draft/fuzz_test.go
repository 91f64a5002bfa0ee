package draft

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

// ends are the seeds of the fuzz tests, one for each form in which a run can end.
var ends = []string{
	finished, errored, ended(`"outcome":"success"`), ended(`"outcome":"interrupt"`), ended(`"outcome":"error","error":{"message":7,"code":[]}`), ended(`"outcome":null,"interrupt":null`),
	v1(`{}`), v1(`{"id":"a","reason":null,"payload":` + approval + `}`), v1(`{"id":"ficc_c1","payload":` + approval + `}`), v1(`{"id":7,"payload":"{\"prompt\":\"p\"}"}`),
	v1(`{"reason":"tool_call","payload":{"schema":{"type":"string"},"tool_call_id":"c1"}}`), ended(`"interrupt":{"id":{},"metadata":{"draft":null}}`),
	ended(`"interrupts":[{"id":"a","value":"v"},{"id":"a"},{}]`), ended(`"interrupts":[{"id":"a"},{"id":"b","message":null,"toolCallId":"c1"}],"interrupt":[1]`),
	ended(`"outcome":{"type":"interrupt","interrupts":[{"id":"a","reason":"r"}]},"interrupt":{}`), ended(`"outcome":{"type":"success"},"interrupts":[]`),
}

var openCall = call("c1", "pando_permission_request", `{"title":"t"}`)

// FuzzEvents checks any stream of a backend. Nothing may panic, every client must be able to read
// the output, and each question must either be answerable or be refused with a reason.
func FuzzEvents(f *testing.F) {
	for _, end := range ends {
		f.Add(started+"\n"+end, true)
		f.Add(strings.Join(openCall, "\n")+"\n"+end, false)
	}
	f.Fuzz(func(t *testing.T, stream string, native bool) {
		d := newDialect(t, Options{})
		l := &dialecttest.Log{}
		r := &translate.Request{Input: input(t, ""), Transcript: l}
		if native {
			r.Show = translate.ShowNative
		}
		_, run, err := d.Begin(r)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(stream, "\n")
		res := play(t, run, l, lines...)
		checkFinish(t, res, native)
		if len(res.Asked.Interrupts) == 0 {
			return
		}
		if _, err := json.Marshal(res.Asked); err != nil {
			t.Fatalf("the pause cannot be stored: %v", err)
		}
		for _, i := range res.Asked.Interrupts {
			checkInterrupt(t, i.Object)
		}
		p := dialecttest.WithIDs(res.Asked.Pause(Name))
		for _, payload := range []string{"", `{"approved":true}`} {
			var entries []string
			for _, i := range p.Interrupts {
				entries = append(entries, string(agui.MustMarshal(map[string]any{
					"interruptId": i.ID, "status": map[bool]string{true: "cancelled", false: "resolved"}[payload == ""], "payload": json.RawMessage(`{"approved":true}`),
				})))
			}
			in, ok, err := agui.ParseInput([]byte(head + `],` + dialecttest.ResumeArray(entries...) + `}`))
			if !ok || err != nil {
				return
			}
			out, _, err := resume(t, d, p, in, nil)
			var refused *agui.RunError
			if err != nil && !errors.As(err, &refused) {
				t.Fatal(err)
			}
			if err == nil {
				checkBody(t, out, payload == "")
			}
		}
	})
}

// checkFinish checks that a repaired RUN_FINISHED contains nothing that makes a client fail.
func checkFinish(t *testing.T, res translate.Result, native bool) {
	t.Helper()
	f := res.Finish
	if native || !f.Edited {
		return
	}
	if !json.Valid(f.JSON) || !f.Type.Terminal() {
		t.Fatalf("finish %s", f.JSON)
	}
	if e := readEnd(f, gjson.ParseBytes(f.JSON)); e.outcome.Exists() && !e.outcome.IsObject() && e.outcome.Type != gjson.Number && !e.outcome.IsBool() && !e.outcome.IsArray() ||
		e.interrupts.Exists() || e.interrupt.Exists() && !e.interrupt.IsArray() {
		t.Fatalf("finish %s", f.JSON)
	}
}

// checkInterrupt checks the fields of an interrupt that make a client fail if they are null or have
// the wrong type.
func checkInterrupt(t *testing.T, object json.RawMessage) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(object, &o); err != nil {
		t.Fatalf("%v: %s", err, object)
	}
	if _, ok := o["reason"].(string); !ok {
		t.Fatalf("no reason: %s", object)
	}
	for key, v := range o {
		switch key {
		case "reason", "message", "toolCallId", "expiresAt", "subagentRunId":
			if _, ok := v.(string); !ok {
				t.Fatalf("%s is no string: %s", key, object)
			}
		case "responseSchema", "metadata":
			if _, ok := v.(map[string]any); !ok {
				t.Fatalf("%s is no object: %s", key, object)
			}
		default:
			t.Fatalf("%s has no place in an interrupt: %s", key, object)
		}
	}
	if o["reason"] == "tool_call" && o["toolCallId"] == nil {
		t.Fatalf("no call: %s", object)
	}
}

// checkBody checks that a body is JSON without protocolVersion. If the parameter cancelled is true,
// the answer in the body must be neither an approval nor empty.
func checkBody(t *testing.T, out translate.Out, cancelled bool) {
	t.Helper()
	if !json.Valid(out.Body) || !out.Resumes || gjson.GetBytes(out.Body, "protocolVersion").Exists() || !gjson.GetBytes(out.Body, "messages").IsArray() {
		t.Fatalf("%+v %s", out, out.Body)
	}
	if !cancelled {
		return
	}
	switch answer := gjson.GetBytes(out.Body, "resume"); {
	case answer.IsObject():
		if p := answer.Get("payload"); kit.JSON(p.Raw).DeniesOnly() != nil {
			t.Fatalf("a cancel became %s", answer.Raw)
		}
	case answer.IsArray():
		for _, e := range answer.Array() {
			if e.Get("status").Str != "cancelled" {
				t.Fatalf("a cancel became %s", answer.Raw)
			}
		}
	default:
		list := gjson.GetBytes(out.Body, "messages").Array()
		if len(list) == 0 || list[len(list)-1].Get("content").Str != denied {
			t.Fatalf("a cancel became %s", out.Body)
		}
	}
}

// FuzzAnswers checks any request of a client. Nothing may panic, the output must be JSON, and an
// approval may be sent only if the request contains a true.
func FuzzAnswers(f *testing.F) {
	A := "a~r1"
	for _, end := range ends {
		for _, more := range []string{
			``, `"resume":[]`, dialecttest.ResumeArray(dialecttest.Entry(A, "")), dialecttest.ResumeArray(dialecttest.Entry(A, `true`)), dialecttest.ResumeArray(dialecttest.Entry("~r1", `{"approved":false}`)),
			`"resume":{"interruptId":"a","payload":{"approved":false}}`, `"resume":{}`, `"resume":{"status":"cancelled"}`, dialecttest.Command(`false`), dialecttest.Command(`{"a":1}`),
			dialecttest.ResumeArray(dialecttest.Entry(A, ""), dialecttest.Entry("b~r2", `0`)),
		} {
			f.Add(end, more, `{"approved":false}`)
		}
	}
	f.Add(ended(`"outcome":"interrupt"`), ``, `{"approved":true}`)
	f.Add(ended(`"outcome":"interrupt"`), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", `{"approved":false}`)), `{"status":"cancelled"}`)
	f.Fuzz(func(t *testing.T, end, more, content string) {
		if !json.Valid([]byte(end)) {
			return
		}
		d := newDialect(t, Options{})
		l := &dialecttest.Log{}
		_, run, err := d.Begin(&translate.Request{Input: input(t, ""), Transcript: l})
		if err != nil {
			t.Fatal(err)
		}
		p := play(t, run, l, slices.Concat(openCall, []string{end})...).Asked.Pause(Name)
		if len(p.Interrupts) == 0 {
			return
		}
		p = dialecttest.WithIDs(p)
		body := head + toolMessage("t1", "c1", content) + `]`
		if more != "" {
			body += "," + more
		}
		body += "}"
		if !json.Valid([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		var refused *agui.RunError
		if _, err := d.Answers(in, agui.Pause{}); err != nil && !errors.As(err, &refused) {
			t.Fatal(err)
		}
		out, _, err := resume(t, d, p, in, nil)
		if err != nil {
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			return
		}
		checkBody(t, out, false)
		if couldSayYes(gjson.Parse("{"+more+"}")) || couldSayYes(gjson.Parse(content)) {
			return
		}
		if told := gjson.GetBytes(out.Body, "resume.payload"); couldSayYes(told) && told.Raw != cancelDefault {
			t.Fatalf("%s became %s", body, told.Raw)
		}
		if formOf(p) == byMessage && strings.Contains(string(out.Body), `"{\"approved\":true}"`) {
			t.Fatalf("%s became %s", body, out.Body)
		}
	})
}

// couldSayYes reports whether the value contains a true.
func couldSayYes(v gjson.Result) bool {
	found := v.Type == gjson.True
	if v = kit.ParseText(v); v.Type == gjson.JSON {
		v.ForEach(func(_, m gjson.Result) bool {
			found = found || couldSayYes(m)
			return !found
		})
	}
	return found
}
