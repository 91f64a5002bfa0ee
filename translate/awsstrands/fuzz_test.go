package awsstrands

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/scenario"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// FuzzEvents: the backend streams any events. The dialect must not panic, and must emit the events
// unchanged. Clients must accept each interrupt: it is JSON, has a reason and no null, and names no
// call that was not streamed.
func FuzzEvents(f *testing.F) {
	list, err := scenario.List("../../testdata", "aws-strands")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range list {
		for turn := 1; turn <= s.Turns; turn++ {
			for _, b := range s.Answers(turn) {
				f.Add(strings.ReplaceAll(strings.ReplaceAll(string(b), "data: ", ""), "\n\n", "\n"))
			}
		}
	}
	for _, i := range []string{tsHook, tsTool, tsAll, pyHook, pyTool, pyGate, `{"id":7,"reason":null}`, `{"id":"tool:A:x","metadata":{"strandsName":7,"reason":{"message":1}},"toolCallId":"A"}`} {
		f.Add(strings.Join(append(callOf("A", "delete_files"), outcome(i)), "\n"))
	}
	f.Fuzz(func(t *testing.T, stream string) {
		l := &dialecttest.Log{}
		d := dialect(t, "")
		_, run, err := d.Begin(&translate.Request{Input: parse(t, `"tools":[{"name":"mine"}]`), Transcript: l})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(stream, "\n")
		for _, line := range lines {
			d.Sign(agui.NewEvent([]byte(line)), &translate.Request{Transcript: l})
		}
		res := play(t, run, l, lines...)
		if len(res.Asked.Interrupts) == 0 {
			return
		}
		if !json.Valid(res.Finish.JSON) || res.Finish.Get("outcome").Exists() || !json.Valid(res.Asked.Private) {
			t.Fatalf("%+v", res)
		}
		for _, i := range res.Asked.Interrupts {
			v := gjson.ParseBytes(i.Object)
			if !json.Valid(i.Object) || v.Get("reason").Type != gjson.String || !json.Valid(i.Private) {
				t.Fatalf("object %s", i.Object)
			}
			if id := i.ToolCallID(); id != "" && calls(l)[id].ID == "" || id == "" && v.Get("reason").Str == reasonToolCall {
				t.Fatalf("object %s", i.Object)
			}
			v.ForEach(func(k, v gjson.Result) bool {
				if v.Type == gjson.Null || k.Str == "id" {
					t.Fatalf("object %s", i.Object)
				}
				return true
			})
		}
	})
}

// FuzzAnswers: a client answers any question under any rule with any payload. The dialect must not
// panic, and the resume array must answer each question once. A cancel or a denial must not be sent
// as an approval.
func FuzzAnswers(f *testing.F) {
	for kind := range 6 {
		for _, payload := range []string{`"y"`, `true`, `false`, `{"approved":true}`, `{"approved":false,"x":1}`, `null`, `{"approved":true,"editedArgs":{}}`, `[]`, `{"approved":false,"approved":true}`} {
			f.Add(kind, "", entryOf("ID", payload))
		}
		f.Add(kind, `{"name":"*","answers":"raw"}`, entryOf("ID", `{"approved":false}`))
		f.Add(kind, `{"name":"*","answers":"bool","path":"a"}`, entryOf("ID", `{"a":false}`))
		f.Add(kind, `{"name":"*","answers":"docs-string","yes":1,"no":0}`, entryOf("ID", "cancelled"))
	}
	f.Fuzz(func(t *testing.T, kind int, rules, entry string) {
		kinds := []string{tsHook, tsAll, tsTool, pyHook, pyTool, pyGate}
		if kind < 0 || kind >= len(kinds) {
			return
		}
		p := ask(t, kinds[kind])
		body := `{"threadId":"t1","runId":"r1","messages":` + string(p.Messages) + `,"resume":[` + strings.ReplaceAll(entry, "ID", p.Interrupts[0].ID) + `]}`
		var o Options
		if rules != "" {
			var err error
			if o.Rules, err = strandsapi.ParseRules([]byte(`{"interrupts":[` + rules + `]}`)); err != nil || o.Check() != nil {
				return
			}
		}
		if !json.Valid([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil || len(in.Resume) != 1 {
			return
		}
		d, err := New(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := resume(t, d, p, in)
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		list := gjson.GetBytes(out.Body, "resume").Array()
		if !json.Valid(out.Body) || len(list) != 1 || list[0].Get("interruptId").Str != p.Interrupts[0].Native {
			t.Fatalf("%s became %s", body, out.Body)
		}
		said := in.Resume[0]
		payload := list[0].Get("payload")
		if list[0].Get("status").Str == "cancelled" {
			if said.Status != agui.Cancelled || payload.Exists() {
				t.Fatalf("%s became %s", body, out.Body)
			}
			return
		}
		rule, ruled := ruleFor(o, p.Interrupts[0])
		switch {
		case said.Status == agui.Cancelled:
			if kit.JSON(payload.Raw).DeniesOnly() != nil && payload.Raw != "0" {
				t.Fatalf("cancelled became %s", payload.Raw)
			}
		case !ruled && isNo(said.Payload) && !isNo(json.RawMessage(payload.Raw)) && payload.Raw != `"n"`:
			t.Fatalf("%s became %s (%+v)", said.Payload, payload.Raw, rule)
		// SDK 1.19.0 runs the call if its hook throws, so the hook must get text
		case !ruled && kind < 2 && payload.Type != gjson.String:
			t.Fatalf("a hook in TypeScript gets %s", payload.Raw)
		}
	})
}

func ruleFor(o Options, i agui.Interrupt) (strandsapi.Rule, bool) {
	return o.Rules.Answer(privateOf(i).Name)
}

func isNo(payload json.RawMessage) bool {
	v := gjson.ParseBytes(payload)
	return v.Type == gjson.False || v.IsObject() && v.Get("approved").Type == gjson.False
}

// TestManyQuestions: a stream with very many questions or calls must be read in linear time.
func TestManyQuestions(t *testing.T) {
	const n = 4000
	l, list := &dialecttest.Log{}, make([]string, n)
	for k := range n {
		l.AddCalls(agui.Call{ID: fmt.Sprint("c", k), Name: "f"})
		list[k] = fmt.Sprintf(`{"id":"tool:c%d:x","reason":"r","metadata":{"strandsName":"x"}}`, k)
	}
	d := dialect(t, "")
	ev := agui.NewEvent([]byte(outcome(list...)))
	if !d.Sign(ev, &translate.Request{Transcript: l}) {
		t.Fatal("not claimed")
	}
	_, run, err := d.Begin(&translate.Request{Input: parse(t, ``), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.End(translate.End{Event: ev})
	if err != nil || len(res.Asked.Interrupts) != n || res.Asked.Interrupts[n-1].ToolCallID() != fmt.Sprint("c", n-1) {
		t.Fatalf("%d interrupts, %v", len(res.Asked.Interrupts), err)
	}
	p := res.Asked.Pause(Name)
	p.ID = "p"
	entries := make([]string, n)
	for k := range p.Interrupts {
		p.Interrupts[k].ID = p.Interrupts[k].Native
		entries[k] = entryOf(p.Interrupts[k].ID, `"x"`)
	}
	in := parse(t, dialecttest.ResumeArray(entries...))
	answers, err := d.Answers(in, p)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := d.Begin(&translate.Request{Input: in, Pause: p, Answers: answers, Transcript: l})
	if err != nil || len(gjson.GetBytes(out.Body, "resume").Array()) != n {
		t.Fatal(err)
	}
}
