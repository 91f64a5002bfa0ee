package awsstrands

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/strandsapi"
)

// TestAnswers checks in which form a hook or a tool gets an answer. SDK 1.19.0 runs the call if its
// hook throws (RAN), so a hook in TypeScript must get only text.
func TestAnswers(t *testing.T) {
	const refused = "refused"
	kinds := []string{tsHook, tsAll, tsTool, pyHook, pyTool, pyGate}
	for payload, want := range map[string][]string{
		//                     hook batch tool Python: hook tool gate
		`"y"`:                                {`"y"`, `"y"`, `"y"`, `"y"`, `"y"`, refused},
		`"t"`:                                {`"t"`, `"t"`, `"t"`, `"t"`, `"t"`, refused},
		`true`:                               {`"y"`, `"y"`, `"y"`, `true`, `true`, refused},
		`false`:                              {`"n"`, `"n"`, `"n"`, `false`, `false`, refused},
		`{"approved":true}`:                  {`"y"`, `"y"`, `"y"`, `{"approved":true}`, `{"approved":true}`, `{"approved":true}`},
		`{"approved":false}`:                 {`"n"`, `"n"`, `"n"`, `{"approved":false}`, `{"approved":false}`, `{"approved":false}`},
		`{"approved":"yes"}`:                 {refused, refused, `{"approved":"yes"}`, refused, `{"approved":"yes"}`, refused},
		`{"env":["p"]}`:                      {refused, refused, `{"env":["p"]}`, `{"env":["p"]}`, `{"env":["p"]}`, refused},
		`7`:                                  {refused, refused, `7`, `7`, `7`, refused},
		`null`:                               {refused, refused, refused, refused, `null`, refused},
		``:                                   {refused, refused, refused, refused, `null`, refused},
		`cancelled`:                          {`"n"`, `"n"`, `cancelled`, `cancelled`, `cancelled`, `cancelled`},
		`{"approved":true,"editedArgs":{}}`:  {refused, refused, refused, refused, refused, refused},
		`{"approved":false,"editedArgs":{}}`: {`"n"`, `"n"`, `"n"`, `{"approved":false,"editedArgs":{}}`, `{"approved":false,"editedArgs":{}}`, `{"approved":false,"editedArgs":{}}`},
		`{"approved":true,"note":"x"}`:       {refused, refused, refused, `{"approved":true,"note":"x"}`, `{"approved":true,"note":"x"}`, `{"approved":true,"note":"x"}`},
		`{"approved":false,"why":"x"}`:       {`"n"`, `"n"`, `"n"`, `{"approved":false,"why":"x"}`, `{"approved":false,"why":"x"}`, `{"approved":false,"why":"x"}`},
		`{"approved":true,"approved":false}`: {`"n"`, `"n"`, `"n"`, `{"approved":true,"approved":false}`, `{"approved":true,"approved":false}`, `{"approved":true,"approved":false}`},
		`{"approved":false,"approved":true}`: {`"n"`, `"n"`, `"n"`, `{"approved":false,"approved":true}`, `{"approved":false,"approved":true}`, `{"approved":false,"approved":true}`},
	} {
		for n, asked := range kinds {
			p := ask(t, asked)
			out, _, err := resume(t, dialect(t, ""), p, parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, payload))))
			if got := sent(t, out, err, p); got != want[n] {
				t.Errorf("%s to %s became %s, want %s", payload, p.Interrupts[0].Native, got, want[n])
			}
		}
	}
}

// sent returns the payload of the only entry of a request, or "cancelled", or "refused".
func sent(t testing.TB, out translate.Out, err error, p agui.Pause) string {
	t.Helper()
	if err != nil {
		if dialecttest.Code(err) != agui.InvalidPayload || out.Body != nil {
			t.Fatalf("%v, %s", err, out.Body)
		}
		return "refused"
	}
	list := gjson.GetBytes(out.Body, "resume").Array()
	if !agui.ValidJSON(out.Body) || !out.Resumes || out.TakesNew || len(list) != 1 || list[0].Get("interruptId").Str != p.Interrupts[0].Native {
		t.Fatalf("%+v %s", out, out.Body)
	}
	if list[0].Get("status").Str == "cancelled" {
		if list[0].Get("payload").Exists() {
			t.Fatalf("a cancelled answer with a payload: %s", out.Body)
		}
		return "cancelled"
	}
	if !list[0].Get("payload").Exists() {
		t.Fatalf("an answer without a payload, which is asked again for ever: %s", out.Body)
	}
	return list[0].Get("payload").Raw
}

func TestAnswersByRule(t *testing.T) {
	for _, c := range []struct{ rules, asked, payload, want string }{
		{`{"name":"myapp-*","answers":"raw"}`, tsHook, `{"decision":"allow"}`, `{"decision":"allow"}`},
		{`{"name":"myapp-*","answers":"raw"}`, tsHook, `{"approved":true}`, `{"approved":true}`},
		{`{"name":"myapp-*","answers":"raw"}`, tsHook, `cancelled`, `cancelled`},
		{`{"name":"myapp-*","answers":"raw","cancel":false}`, tsHook, `cancelled`, `false`},
		{`{"name":"myapp-*","answers":"raw"}`, tsHook, ``, "refused"},
		{`{"name":"myapp-*","answers":"bool"}`, tsHook, `{"approved":true}`, `true`},
		{`{"name":"myapp-*","answers":"bool"}`, tsHook, `cancelled`, `false`},
		{`{"name":"myapp-*","answers":"bool"}`, tsHook, `{"decision":"allow"}`, "refused"},
		{`{"name":"myapp-*","answers":"docs-string","yes":"APPROVE","no":"DENY"}`, tsHook, `{"approved":true}`, `"APPROVE"`},
		{`{"name":"myapp-*","answers":"docs-string","yes":"APPROVE","no":"DENY"}`, tsHook, `cancelled`, `"DENY"`},
		{`{"name":"other","answers":"raw"},{"name":"*","answers":"bool"}`, tsHook, `{"approved":false}`, `false`},
		{`{"name":"ask_*","answers":"raw","path":"answer"}`, tsTool, `{"answer":"prod"}`, `"prod"`},
		{`{"name":"ask_*","answers":"raw","path":"answer"}`, tsTool, `{"other":"prod"}`, "refused"},
		{`{"name":"ask_*","answers":"docs-string"}`, tsTool, `cancelled`, `"n"`},
		{`{"name":"myapp-*","answers":"docs-string"}`, pyHook, `{"approved":true}`, `"y"`},
		{`{"name":"myapp-*","answers":"docs-string"}`, pyHook, `cancelled`, `"n"`},
		{`{"name":"myapp-*","answers":"raw"}`, pyHook, `cancelled`, `cancelled`},
		// a rule must not change the form of the gate's answer
		{`{"name":"*","answers":"docs-string"}`, pyGate, `{"approved":true}`, `{"approved":true}`},
		{`{"name":"*","answers":"docs-string"}`, pyGate, `cancelled`, `cancelled`},
		{`{"name":"*","answers":"raw"}`, pyGate, `{"approved":true,"editedArgs":{}}`, "refused"},
		{`{"name":"myapp-*","answers":"raw"}`, pyHook, `{"approved":true,"editedArgs":{}}`, `{"approved":true,"editedArgs":{}}`},
	} {
		p := ask(t, c.asked)
		out, _, err := resume(t, dialect(t, c.rules), p, parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, c.payload))))
		if got := sent(t, out, err, p); got != c.want {
			t.Errorf("%s: %s to %s became %s, want %s", c.rules, c.payload, p.Interrupts[0].Native, got, c.want)
		}
		if err != nil && c.payload != "" && c.asked != pyGate && !strings.Contains(err.Error(), "HOLDPOINT_AWS_STRANDS_RULES_FILE") {
			t.Errorf("no remedy: %v", err)
		}
	}
}

func TestOptions(t *testing.T) {
	for file, want := range map[string]string{
		`{"interrupts":[{"name":"b","answers":"raw"},{"name":"a","answers":"envelope"}]}`: `line 1: rule "a": ag_ui_strands makes the envelope itself, want raw`,
		`{"interrupts":[{"name":"a","schema":{}}]}`:                                       `line 1: rule "a": an adapter sends schema and reason itself`,
		`{"interrupts":[{"name":"a","answers":"raw","reason":"x"}]}`:                      `line 1: rule "a": an adapter sends schema and reason itself`,
		`{"questions":"x"}`: "an adapter has no frames of its own",
	} {
		list, err := strandsapi.ParseRules([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{Rules: list}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestPauseOfAnotherDialect: another dialect recorded the pause, so the form of an answer follows
// from the question's id. A no must not become an object in this case either.
func TestPauseOfAnotherDialect(t *testing.T) {
	nothing := agui.Pause{ID: "p", Dialect: "agui", Interrupts: []agui.Interrupt{{ID: "x", Native: "x", Object: []byte(`{"id":"x","reason":"r"}`)}}}
	if out, _, err := resume(t, dialect(t, ""), nothing, parse(t, dialecttest.ResumeArray(entryOf("x", "")))); sent(t, out, err, nothing) != "refused" {
		t.Errorf("%s", out.Body)
	}
	for native, want := range map[string]string{tsID: `"n"`, "tool:A:x": "cancelled", pyID: "cancelled", "v1:of_tomorrow:x": "cancelled", "x": "cancelled"} {
		p := agui.Pause{ID: "p", Dialect: "agui", Interrupts: []agui.Interrupt{{ID: native, Native: native, Object: []byte(`{"id":"x","reason":"r"}`)}}}
		out, _, err := resume(t, dialect(t, ""), p, parse(t, dialecttest.ResumeArray(entryOf(native, "cancelled"))))
		if got := sent(t, out, err, p); got != want {
			t.Errorf("%s: %s", native, got)
		}
	}
}

func TestResume(t *testing.T) {
	two := ask(t, tsHook, strings.ReplaceAll(tsHook, ":A:", ":B:"))
	ids := []string{two.Interrupts[0].ID, two.Interrupts[1].ID}
	first, second := `{"interruptId":"`+tsID+`","status":"resolved","payload":"y"}`, `{"interruptId":"hook:beforeToolCall:B:myapp-approval","status":"resolved","payload":"n"}`
	history := `"messages":` + string(two.Messages)
	for name, c := range map[string]struct{ more, want string }{
		"entries in another order": {
			history + "," + dialecttest.ResumeArray(entryOf(ids[1], `false`), entryOf(ids[0], `true`)),
			history + `,"resume":[` + first + "," + second + `]`,
		},
		"what else an entry says goes along": {
			history + `,"resume":[{"interruptId":"` + ids[0] + `","metadata":{"n":1.0},"status":"resolved","payload":true},` + entryOf(ids[1], "cancelled") + `]`,
			history + `,"resume":[{"interruptId":"` + tsID + `","metadata":{"n":1.0},"status":"resolved","payload":"y"},` + second + `]`,
		},
		"command.resume becomes entries": {
			history + `,"forwardedProps":{"k":1,"command":{"resume":{"` + ids[0] + `":"y","` + ids[1] + `":"n"}}}`,
			history + `,"forwardedProps":{"k":1},"resume":[` + first + "," + second + `]`,
		},
		"a message beside the answers stays behind": {
			history[:len(history)-1] + `,{"id":"u2","role":"user","content":"go"}],` + dialecttest.ResumeArray(entryOf(ids[0], `true`), entryOf(ids[1], `false`)),
			history + `,"resume":[` + first + "," + second + `]`,
		},
		"no messages: the record's": {
			`"messages":[],` + dialecttest.ResumeArray(entryOf(ids[0], `true`), entryOf(ids[1], `false`)),
			history + `,"resume":[` + first + "," + second + `]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resume(t, dialect(t, ""), two, parse(t, c.more))
			want := `{"threadId":"t1","runId":"r1",` + c.want + `}`
			if err != nil || string(out.Body) != want {
				t.Errorf("%v\ngot  %s\nwant %s", err, out.Body, want)
			}
		})
	}
	t.Run("what is cancelled brings no payload", func(t *testing.T) {
		p := ask(t, tsTool)
		out, _, err := resume(t, dialect(t, ""), p, parse(t, `"resume":[{"interruptId":"`+p.Interrupts[0].ID+`","status":"cancelled","payload":{"approved":true}}]`))
		if got := sent(t, out, err, p); got != "cancelled" {
			t.Error(got)
		}
	})
	t.Run("a question that is not Strands'", func(t *testing.T) {
		p := ask(t, `{"id":"x","reason":"r"}`)
		for payload, want := range map[string]string{`{"approved":true}`: `{"approved":true}`, `[1]`: `[1]`, "cancelled": "cancelled"} {
			out, _, err := resume(t, dialect(t, `{"name":"*","answers":"bool"}`), p, parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, payload))))
			if got := sent(t, out, err, p); got != want {
				t.Error(got)
			}
		}
	})
	t.Run("an unknown id", func(t *testing.T) {
		if _, _, err := resume(t, dialect(t, ""), two, parse(t, dialecttest.ResumeArray(entryOf("x", `true`)))); dialecttest.Code(err) != agui.UnknownInterruptID {
			t.Error(err)
		}
	})
	same := ask(t, tsHook, tsHook)
	for name, c := range map[string]struct {
		other string
		ok    bool
	}{"two of one id, answered alike": {`"y"`, true}, "two of one id, answered otherwise": {`"n"`, false}} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resume(t, dialect(t, ""), same, parse(t, history+","+dialecttest.ResumeArray(entryOf(same.Interrupts[0].ID, `true`), entryOf(same.Interrupts[1].ID, c.other))))
			if c.ok != (err == nil) || c.ok && len(gjson.GetBytes(out.Body, "resume").Array()) != 1 {
				t.Errorf("%v %s", err, out.Body)
			}
		})
	}
	t.Run("an interrupt without an id", func(t *testing.T) {
		p := ask(t, `{"reason":"r"}`)
		if _, _, err := resume(t, dialect(t, ""), p, parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, `true`)))); dialecttest.Code(err) != agui.InvalidPayload {
			t.Error(err)
		}
	})
}

// TestClientsResultGoesWithTheAnswers: the client sends the result of its own call with its
// answers. Holdpoint must send the result with the answers, after its call, because Python's
// adapter refuses every answer without the result. Holdpoint must send a cancel even without the
// result. Otherwise the backend would continue to wait.
func TestClientsResultGoesWithTheAnswers(t *testing.T) {
	const red, more = `{"id":"t1","role":"tool","toolCallId":"B","content":"red"}`, `{"id":"u2","role":"user","content":"and"}`
	for name, c := range map[string]struct {
		asked, tools, beside string
		answer               string
		want                 string // the messages that follow those of the record
		code                 agui.Code
	}{
		"Python":                         {pyGate, "f", red, `{"approved":true}`, "," + red, ""},
		"Python, a denial":               {pyGate, "f", red, `{"approved":false}`, "," + red, ""},
		"TypeScript":                     {tsHook, "f", red, `true`, "," + red, ""},
		"before the person's words":      {pyGate, "f", red + "," + more, `{"approved":true}`, "," + red, ""},
		"behind the person's words":      {pyGate, "f", more + "," + red, `{"approved":true}`, "," + red, ""},
		"it is missing":                  {pyGate, "f", "", `{"approved":true}`, "", agui.PartialResume},
		"it is missing from a denial":    {pyGate, "f", "", `{"approved":false}`, "", agui.PartialResume},
		"it is missing from a cancel":    {pyGate, "f", "", "cancelled", "", ""},
		"TypeScript does not want it":    {tsHook, "f", "", `true`, "", ""},
		"a tool that is not declared":    {pyGate, "g", red, `{"approved":true}`, "", ""},
		"a result of the call that asks": {pyGate, "f", strings.Replace(red, `"B"`, `"A"`, 1), "cancelled", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := ask(t, c.asked)
			history := strings.TrimSuffix(string(p.Messages), "]")
			beside := c.beside
			if beside != "" {
				beside = "," + beside
			}
			in := parse(t, `"messages":`+history+beside+`],"tools":[{"name":"`+c.tools+`"}],`+dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, c.answer)))
			out, _, err := resume(t, dialect(t, ""), p, in)
			if dialecttest.Code(err) != c.code {
				t.Fatal(err)
			}
			if c.code != "" {
				return
			}
			if got := gjson.GetBytes(out.Body, "messages").Raw; got != history+c.want+"]" {
				t.Errorf("got  %s\nwant %s", got, history+c.want+"]")
			}
			if took := out.TakesNew; took != (c.want != "") {
				t.Errorf("takes the new messages: %v", took)
			}
			for _, m := range out.UnsentMessages {
				if c.want != "" && m.Role == "tool" {
					t.Errorf("left behind: %s", m.JSON)
				}
			}
		})
	}
}

// TestAnswersOfAnEndedPause: Answers must also read an answer to an ended pause, so that proxy can
// compare it.
func TestAnswersOfAnEndedPause(t *testing.T) {
	p := ask(t, tsHook)
	got, err := dialect(t, "").Answers(parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, `"y"`))), p)
	if err != nil || len(got) != 1 || string(got[0].Payload) != `"y"` || !got[0].OwnForm {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := dialect(t, "").Answers(parse(t, dialecttest.ResumeArray(entryOf("x", `"y"`))), agui.Pause{}); err != nil || len(got) != 1 || got[0].OwnForm {
		t.Errorf("%+v %v", got, err)
	}
}

// TestEditsThatARuleHandsOn: an answer with edited arguments counts as the dialect's own form only
// if a rule sends the payload unchanged. In all other cases the contract refuses the edit.
func TestEditsThatARuleHandsOn(t *testing.T) {
	p := ask(t, pyHook)
	for rules, want := range map[string]bool{
		`{"name":"*","answers":"docs-string"}`:             false,
		`{"name":"*","answers":"raw"}`:                     true,
		`{"name":"*","answers":"raw","path":"other"}`:      false,
		`{"name":"*","answers":"raw","path":"editedArgs"}`: true,
	} {
		for payload, edits := range map[string]bool{`{"approved":true,"editedArgs":{"a":1}}`: true, `{"approved":true}`: false} {
			list, err := dialect(t, rules).Answers(parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, payload))), p)
			if err != nil || len(list) != 1 || list[0].OwnForm != (want && edits) {
				t.Errorf("%s, %s: %v %+v", rules, payload, err, list)
			}
		}
	}
}
