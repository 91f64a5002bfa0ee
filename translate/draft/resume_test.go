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

func TestPlainRun(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"as it came":                    {`{"threadId":"t","runId":"r","messages":[]}`, ``},
		"without what v1 does not know": {`{"threadId":"t","protocolVersion":"1.0","runId":"r","resume":[],"messages":[ ]}`, `{"threadId":"t","runId":"r","messages":[ ]}`},
	} {
		t.Run(name, func(t *testing.T) {
			in, _, err := agui.ParseInput([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			out, run, err := newDialect(t, Options{}).Begin(&translate.Request{Input: in})
			if err != nil || run == nil || string(out.Body) != c.want || out.Resumes || out.TakesNew || out.None {
				t.Errorf("%s %+v %v", out.Body, out, err)
			}
		})
	}
}

// TestResume checks what draft sends for answers (section 7 of the project's reference of the
// drafts).
func TestResume(t *testing.T) {
	one := pausedBy(t, v1(`{"id":"a","reason":"r"}`))
	bare := pausedBy(t, v1(`{"reason":"r"}`))
	number := pausedBy(t, v1(`{"id":7}`))
	function := pausedBy(t, v1(`{"id":"ficc_c","payload":`+approval+`}`))
	two := pausedBy(t, ended(`"interrupts":[{"id":"a"},{"id":"b"}]`))
	same := pausedBy(t, ended(`"interrupts":[{"reason":"x"},{"reason":"y"}]`))
	newer := pausedBy(t, ended(`"outcome":{"type":"interrupt","interrupts":[{"id":"a","reason":"r"}]},"interrupt":{}`))
	foreign := pausedBy(t, v1(`{"id":"a"}`))
	foreign.Dialect = "agui" // draft must not read the private state of agui
	for name, c := range map[string]struct {
		pause      agui.Pause
		more, want string
		code       agui.Code
	}{
		"v1: the payload as it came":   {one, dialecttest.ResumeArray(dialecttest.Entry("a~r1", `{"approved":true, "modifications":{"n":1.0}}`)), `"resume":{"interruptId":"a","payload":{"approved":true, "modifications":{"n":1.0}}}`, ""},
		"v1: other keys stay":          {one, `"own":1.0,` + dialecttest.ResumeArray(dialecttest.Entry("a~r1", `1`)) + `,"x":null`, `"own":1.0,"resume":{"interruptId":"a","payload":1},"x":null`, ""},
		"v1: a denial":                 {function, dialecttest.ResumeArray(dialecttest.Entry("ficc_c~r1", `{"approved":false}`)), `"resume":{"interruptId":"ficc_c","payload":{"approved":false}}`, ""},
		"v1: no id":                    {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `"x"`)), `"resume":{"payload":"x"}`, ""},
		"v1: an id that is a number":   {number, dialecttest.ResumeArray(dialecttest.Entry("7~r1", `"x"`)), `"resume":{"interruptId":7,"payload":"x"}`, ""},
		"v1: no payload":               {bare, `"resume":[{"interruptId":"~r1","status":"resolved","payload":null}]`, `"resume":{}`, ""},
		"v1: cancelled":                {one, dialecttest.ResumeArray(dialecttest.Entry("a~r1", ``)), `"resume":{"interruptId":"a","payload":{"cancelled":true}}`, ""},
		"v1: cancelled with a payload": {one, `"resume":[{"interruptId":"a~r1","status":"cancelled","payload":{"approved":true}}]`, `"resume":{"interruptId":"a","payload":{"cancelled":true}}`, ""},
		"v1: a function cancelled":     {function, dialecttest.ResumeArray(dialecttest.Entry("ficc_c~r1", ``)), `"resume":{"interruptId":"ficc_c","payload":{"approved":false}}`, ""},
		"v1: a client of v1":           {one, `"resume":{"interruptId":"a~r1","payload":{"x":1}}`, `"resume":{"interruptId":"a","payload":{"x":1}}`, ""},
		"v1: command.resume":           {one, `"forwardedProps":{"k":1,"command":{"resume":{"x":1}}}`, `"forwardedProps":{"k":1},"resume":{"interruptId":"a","payload":{"x":1}}`, ""},
		"v1.5: in the pause's order, without metadata": {
			two, `"resume":[{"interruptId":"b~r2","status":"cancelled","payload":{"approved":true}},{"interruptId":"a~r1","status":"resolved","payload":{"n":1.0},"metadata":{"s":1}}]`,
			`"resume":[{"interruptId":"a","status":"resolved","payload":{"n":1.0}},{"interruptId":"b","status":"cancelled"}]`, "",
		},
		"v1.5: a null payload":          {two, `"resume":[{"interruptId":"a~r1","status":"resolved","payload":null},` + dialecttest.Entry("b~r2", `1`) + `]`, `"resume":[{"interruptId":"a","status":"resolved"},{"interruptId":"b","status":"resolved","payload":1}]`, ""},
		"v1.5: a map in command.resume": {two, dialecttest.Command(`{"a":1,"b":2}`), `"forwardedProps":{},"resume":[{"interruptId":"a","status":"resolved","payload":1},{"interruptId":"b","status":"resolved","payload":2}]`, ""},
		"v1.5: no ids, one answer":      {same, dialecttest.ResumeArray(dialecttest.Entry("~r1", `{"x":1}`), dialecttest.Entry("~r2", `{ "x": 1 }`)), `"resume":[{"status":"resolved","payload":{"x":1}},{"status":"resolved","payload":{ "x": 1 }}]`, ""},
		"v1.5: no ids, two answers":     {same, dialecttest.ResumeArray(dialecttest.Entry("~r1", `1`), dialecttest.Entry("~r2", `2`)), ``, agui.InvalidPayload},
		"v1.5: no ids, a yes and a no":  {same, dialecttest.ResumeArray(dialecttest.Entry("~r1", `true`), dialecttest.Entry("~r2", ``)), ``, agui.InvalidPayload},
		"1.0: metadata goes along":      {newer, `"resume":[{"interruptId":"a~r1","status":"resolved","payload":1,"metadata":{"s":1}}]`, `"resume":[{"interruptId":"a","status":"resolved","payload":1,"metadata":{"s":1}}]`, ""},
		"another dialect's pause":       {foreign, dialecttest.ResumeArray(dialecttest.Entry("a~r1", `1`)), `"resume":[{"interruptId":"a","status":"resolved","payload":1}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, run, err := resume(t, newDialect(t, Options{}), c.pause, input(t, c.more), nil)
			if dialecttest.Code(err) != c.code {
				t.Fatalf("%v, want %q", err, c.code)
			}
			if c.code != "" {
				return
			}
			want := `{"threadId":"t1","runId":"r1","messages":[],` + c.want + `}`
			if string(out.Body) != want || !out.Resumes || !out.TakesNew {
				t.Errorf("%s, want\n%s (%+v)", out.Body, want, out)
			}
			// The resumed run repairs ends and recognizes pauses like any other run.
			if res := play(t, run, &dialecttest.Log{}, started, ended(`"outcome":"success"`)); string(res.Finish.JSON) != ended(`"outcome":{"type":"success"}`) || res.Next != nil {
				t.Errorf("%+v", res)
			}
			if res := play(t, run, &dialecttest.Log{}, v1(`{}`)); len(res.Asked.Interrupts) != 1 {
				t.Errorf("%+v", res)
			}
		})
	}
	t.Run("what was kept is not what is answered", func(t *testing.T) {
		broken := one
		broken.Interrupts = append(slices.Clone(one.Interrupts), two.Interrupts[1])
		_, _, err := newDialect(t, Options{}).Begin(&translate.Request{Input: input(t, ""), Pause: broken, Answers: make([]agui.Answer, 2)})
		if dialecttest.Code(err) != agui.StoreUnavailable {
			t.Error(err)
		}
		if _, _, err := newDialect(t, Options{}).Begin(&translate.Request{Input: input(t, ""), Pause: one}); dialecttest.Code(err) != agui.StoreUnavailable {
			t.Error(err)
		}
	})
}

// TestCancelUnderASchema checks that a cancel is sent as a denial that fits the question's schema,
// or is refused if no denial fits. It is never sent as an empty payload.
func TestCancelUnderASchema(t *testing.T) {
	only := func(takes ...string) func(_, p json.RawMessage) error {
		return func(_, p json.RawMessage) error {
			if slices.Contains(takes, string(p)) {
				return nil
			}
			return errors.New("does not fit")
		}
	}
	free := `{"id":"a","payload":{"schema":{"type":"object"}}}`
	withApproved := `{"id":"a","payload":{"schema":{"properties":{"approved":{}}}}}`
	function := `{"id":"a","payload":{"functionName":"f"}}`
	for name, c := range map[string]struct {
		interrupt, cancel string
		valid             func(schema, payload json.RawMessage) error
		want              string
	}{
		"nobody judges":                     {free, ``, nil, `{"cancelled":true}`},
		"the default fits":                  {free, ``, only(`{"cancelled":true}`), `{"cancelled":true}`},
		"the operator's fits":               {free, `"stop"`, only(`"stop"`), `"stop"`},
		"a no that the schema has":          {withApproved, ``, only(`{"approved":false}`), `{"approved":false}`},
		"no no that is not in the schema":   {free, ``, only(`{"approved":false}`), ``},
		"null is none":                      {free, ``, only(`null`, ``), ``},
		"a function":                        {function, `"stop"`, only(`{"approved":false}`), `{"approved":false}`},
		"a function with a schema":          {`{"id":"a","payload":{"functionName":"f","schema":{}}}`, `"stop"`, only(`"stop"`), `"stop"`},
		"a function that nothing fits":      {function, ``, only(), ``},
		"no schema: nothing is to be asked": {`{"id":"a"}`, ``, only(), `{"cancelled":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, v1(c.interrupt))
			out, _, err := resume(t, newDialect(t, Options{Cancel: kit.JSON(c.cancel)}), p, input(t, dialecttest.ResumeArray(dialecttest.Entry("a~r1", ""))), func(r *translate.Request) { r.Valid = c.valid })
			if got := gjson.GetBytes(out.Body, "resume.payload").Raw; got != c.want || (c.want == "") != (dialecttest.Code(err) == agui.InvalidPayload) {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
		})
	}
}

func TestResumeByToolMessages(t *testing.T) {
	asks := slices.Concat(call("c1", "pando_permission_request", "{}"), call("c2", "pando_permission_request", "{}"))
	two := pausedBy(t, append(slices.Clone(asks), ended(`"outcome":"interrupt"`))...)
	one := pausedBy(t, append(slices.Clone(asks[:3]), ended(`"outcome":"interrupt"`))...)
	answer := func(id, callID, approved string) string {
		return `{"id":"` + id + `","role":"tool","toolCallId":"` + callID + `","content":"{\"approved\":` + approved + `}"}`
	}
	for name, c := range map[string]struct {
		pause          agui.Pause
		messages, more string
		want           string
	}{
		"approved and denied": {
			two, user("u") + "," + assistant("m1", "c1", "c2"), dialecttest.ResumeArray(dialecttest.Entry("c2~r2", `{"approved":false,"why":"x"}`), dialecttest.Entry("c1~r1", `{"approved":true}`)),
			user("u") + "," + assistant("m1", "c1", "c2") + "," + answer("c1~r1", "c1", "true") + "," + answer("c2~r2", "c2", "false"),
		},
		"cancelled":                {one, assistant("m1", "c1"), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", ``)), assistant("m1", "c1") + "," + answer("c1~r1", "c1", "false")},
		"two words for one key":    {one, assistant("m1", "c1"), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", `{"approved":true,"approved":false}`)), assistant("m1", "c1") + "," + answer("c1~r1", "c1", "false")},
		"the other way round":      {one, assistant("m1", "c1"), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", `{"approved":false,"approved":true}`)), assistant("m1", "c1") + "," + answer("c1~r1", "c1", "false")},
		"the client's own message": {one, assistant("m1", "c1") + "," + toolMessage("t1", "c1", `{"approved":true}`), ``, assistant("m1", "c1") + "," + answer("c1~r1", "c1", "true")},
		"another spelling goes": {
			one, assistant("m1", "c1") + `,{"id":"t1","role":"Tool","tool_call_id":"c1","content":"{\"approved\":true}"},` + user("u"), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", ``)),
			assistant("m1", "c1") + "," + user("u") + "," + answer("c1~r1", "c1", "false"),
		},
		"CopilotKit's message goes": {
			one, assistant("m1", "c1") + "," + toolMessage("t1", "c1", `{"status":"cancelled"}`), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", ``)),
			assistant("m1", "c1") + "," + answer("c1~r1", "c1", "false"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resume(t, newDialect(t, Options{}), c.pause, inputWith(t, c.messages, c.more), nil)
			want := `{"threadId":"t1","runId":"r1","messages":[` + c.want + `]}`
			if err != nil || string(out.Body) != want || !out.Resumes || out.TakesNew {
				t.Errorf("%v %+v\n%s, want\n%s", err, out, out.Body, want)
			}
		})
	}
	t.Run("the call comes from the record", func(t *testing.T) {
		known := dialecttest.LogOf(user("u"), assistant("m1", "c1"))
		out, _, err := resume(t, newDialect(t, Options{}), one, input(t, dialecttest.ResumeArray(dialecttest.Entry("c1~r1", `{"approved":true}`))), func(r *translate.Request) { r.Transcript = known })
		if want := `[` + user("u") + "," + assistant("m1", "c1") + "," + answer("c1~r1", "c1", "true") + `]`; err != nil || gjson.GetBytes(out.Body, "messages").Raw != want {
			t.Errorf("%v %s", err, out.Body)
		}
	})
	t.Run("the answer is told as a result, but to a client of the backend's own form", func(t *testing.T) {
		for show, want := range map[translate.Show]string{
			translate.ShowOutcome: `{"type":"TOOL_CALL_RESULT","messageId":"c1~r1","toolCallId":"c1","content":"{\"approved\":false}","role":"tool"}`, translate.ShowNative: ``,
		} {
			_, run, err := resume(t, newDialect(t, Options{}), one, inputWith(t, assistant("m1", "c1"), dialecttest.ResumeArray(dialecttest.Entry("c1~r1", ""))), func(r *translate.Request) { r.Show = show })
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, ev := range []string{started, `{"type":"TEXT_MESSAGE_START","messageId":"m2"}`} {
				_ = run.Event(agui.NewEvent([]byte(ev)), func(got agui.Event) {
					if string(got.JSON) != ev {
						told = append(told, string(got.JSON))
					}
				})
			}
			if strings.Join(told, "\n") != want {
				t.Errorf("%v: %s, want %s", show, told, want)
			}
		}
	})
	// Answers sent as tool messages must be the last messages, so new messages are sent in a second
	// run.
	beside := assistant("m1", "c1") + "," + user("u2")
	begin := func(t *testing.T, show translate.Show) (translate.Out, translate.Run, *dialecttest.Log) {
		in := inputWith(t, beside, dialecttest.ResumeArray(dialecttest.Entry("c1~r1", `{"approved":true}`)))
		l := dialecttest.NewLog(in.Messages)
		out, run, err := resume(t, newDialect(t, Options{}), one, in, func(r *translate.Request) {
			r.NewMessages, r.Transcript, r.Show = in.Messages[1:], l, show
		})
		if err != nil {
			t.Fatal(err)
		}
		return out, run, l
	}
	answered := assistant("m1", "c1") + "," + answer("c1~r1", "c1", "true")
	for name, c := range map[string]struct {
		stream []string
		want   string
	}{
		"a new message beside the answer": {[]string{started, ended(`"outcome":"success"`)}, answered + "," + user("u2")},
		"and the backend told a result":   {[]string{started, result("c1"), finished}, assistant("m1", "c1") + "," + toolMessage("r-c1", "c1", "done") + "," + user("u2")},
		"but not after an error":          {[]string{started, errored}, ""},
		"nor after outcome error":         {[]string{started, ended(`"outcome":"error"`)}, ""},
		"nor after a pause":               {[]string{started, v1(`{}`)}, ""},
		"nor after a cut":                 {[]string{started}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, run, l := begin(t, translate.ShowOutcome)
			if got, want := gjson.GetBytes(out.Body, "messages").Raw, `[`+assistant("m1", "c1")+","+answer("c1~r1", "c1", "true")+`]`; got != want {
				t.Errorf("%s, want\n%s", got, want)
			}
			res := play(t, run, l, c.stream...)
			if c.want == "" {
				if res.Next != nil {
					t.Errorf("%+v", res)
				}
				return
			}
			if res.Next == nil || !res.Next.Out.TakesNew || res.Next.Out.Resumes {
				t.Fatalf("%+v", res)
			}
			if got, want := string(res.Next.Out.Body), `{"threadId":"t1","runId":"r1","messages":[`+c.want+`]}`; got != want {
				t.Errorf("%s, want\n%s", got, want)
			}
		})
	}
	t.Run("in the backend's own form", func(t *testing.T) {
		_, run, l := begin(t, translate.ShowNative)
		res := play(t, run, l, started, finished)
		if got := gjson.GetBytes(res.Next.Out.Body, "messages").Raw; got != "["+answered+","+user("u2")+"]" {
			t.Error(got)
		}
	})
}

// TestAbandonedCalls: a client's history contains a call that asked and that nobody answered. The
// dialect must remove the call from the history before it sends it to the backend. The call must
// stay if it has a result, if the client uses the native form, if no ended question belongs to it,
// or if the request answers it.
func TestAbandonedCalls(t *testing.T) {
	asked := pausedBy(t, append(call("c1", "pando_permission_request", "{}"), ended(`"outcome":"interrupt"`))...)
	bound := pausedBy(t, append(call("c2", "send", "{}"), v1(`{"id":"c2"}`))...)
	earlier := []translate.EndedPause{{Pause: asked}, {Pause: bound}}
	history := user("u1") + "," + assistant("m1", "c1", "c2") + "," + user("u2")
	for name, c := range map[string]struct {
		r              *translate.Request
		messages, want string
	}{
		"goes": {&translate.Request{EndedPauses: earlier}, history, user("u1") + "," + assistant("m1", "c2") + "," + user("u2")},
		"goes beside an answer": {
			&translate.Request{EndedPauses: earlier[:1], Pause: bound, Answers: []agui.Answer{{Status: agui.Cancelled}}}, history, user("u1") + "," + assistant("m1", "c2") + "," + user("u2"),
		},
		"stays with a result":           {&translate.Request{EndedPauses: earlier}, assistant("m1", "c1") + "," + toolMessage("t", "c1", "x"), assistant("m1", "c1") + "," + toolMessage("t", "c1", "x")},
		"stays in native form":          {&translate.Request{EndedPauses: earlier, Show: translate.ShowNative}, history, history},
		"stays where nothing was asked": {&translate.Request{}, history, history},
		"stays where it is asked again": {&translate.Request{EndedPauses: earlier, Pause: asked, Answers: []agui.Answer{{Status: agui.Cancelled}}}, assistant("m1", "c1"), assistant("m1", "c1") + "," + toolMessage("c1~r1", "c1", `{"approved":false}`)},
	} {
		t.Run(name, func(t *testing.T) {
			c.r.Input = inputWith(t, c.messages, "")
			out, _, err := newDialect(t, Options{}).Begin(c.r)
			if got := gjson.GetBytes(out.Body, "messages").Raw; err != nil || got != "["+c.want+"]" {
				t.Errorf("%v %s, want\n%s", err, got, c.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	var names kit.Names
	if err := names.UnmarshalText([]byte(" ask_*; pando_permission_request;;")); err != nil || names.String() != "ask_*;pando_permission_request" {
		t.Errorf("%q %v", names, err)
	}
	for name, want := range map[string]bool{"ask_me": true, "pando_permission_request": true, "ask": false, "PANDO_permission_request": false} {
		if names.Match(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if err := names.UnmarshalText([]byte("[")); err == nil || !strings.Contains(err.Error(), `"["`) {
		t.Error(err)
	}
	if _, err := New(Options{ApprovalTools: kit.Names{"["}}, nil); err == nil {
		t.Error("a pattern that is none was taken")
	}
	if d := newDialect(t, Options{}); d.Name() != "draft" || string(d.cancel) != cancelDefault || d.Tools.String() != toolDefault {
		t.Errorf("%+v", d)
	}
}

// TestNewMessagesTravelWithAResumeKey: answers in the key resume are not messages. So the dialect
// must send the new messages in the same request, and without a second exchange.
func TestNewMessagesTravelWithAResumeKey(t *testing.T) {
	p := pausedBy(t, started, v1(`{"id":"q"}`))
	in := inputWith(t, user("u2"), dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `{"approved":true}`)))
	out, run, err := resume(t, newDialect(t, Options{}), p, in, func(r *translate.Request) { r.NewMessages = in.Messages })
	if err != nil || !out.TakesNew || len(out.UnsentMessages) > 0 {
		t.Fatalf("%+v %v", out, err)
	}
	if res := play(t, run, dialecttest.NewLog(in.Messages), started, finished); res.Next != nil {
		t.Errorf("%+v", res.Next)
	}
}

// TestAnAnsweredCallThatBeginsAgainDoesNotAsk: a backend may begin an answered call again without
// finishing it. This must not become a question.
func TestAnAnsweredCallThatBeginsAgainDoesNotAsk(t *testing.T) {
	const begins = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pando_permission_request","parentMessageId":"m1"}`
	p := pausedBy(t, started, begins, ended(`"outcome":"interrupt"`))
	in := inputWith(t, assistant("m1", "c1"), dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, `{"approved":true}`)))
	l := dialecttest.NewLog(in.Messages)
	_, run, err := resume(t, newDialect(t, Options{}), p, in, func(r *translate.Request) { r.Transcript = l })
	if err != nil {
		t.Fatal(err)
	}
	if res := play(t, run, l, started, begins, ended(`"outcome":"interrupt"`)); len(res.Asked.Interrupts) > 0 {
		t.Errorf("asked %+v", res.Asked.Interrupts)
	}
}
