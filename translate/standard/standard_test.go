package standard

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestPause(t *testing.T) {
	for name, c := range map[string]struct{ given, native, want string }{
		"as it is but for the id": {
			`{"id":"a","reason":"tool_call","toolCallId":"c","responseSchema":{"x":12345678901234567890,"y":"<&>"},"metadata":{"k":null}}`, "a",
			`{"reason":"tool_call","toolCallId":"c","responseSchema":{"x":12345678901234567890,"y":"<&>"},"metadata":{"k":null}}`,
		},
		"nulls go":                     {`{"message":null,"id":"a","expiresAt":null,"reason":"r","own":null}`, "a", `{"reason":"r"}`},
		"a missing reason":             {`{"id":"a"}`, "a", `{"reason":"agui:interrupt"}`},
		"a null reason":                {`{"id":"a","reason":null,"message":"m"}`, "a", `{"message":"m","reason":"agui:interrupt"}`},
		"a reason that is no text":     {`{"id":"a","reason":true}`, "a", `{"reason":"agui:interrupt"}`},
		"an empty reason":              {`{"id":"a","reason":""}`, "a", `{"reason":""}`},
		"a malformed value stays":      {`{"id":"a","reason":"r","responseSchema":true}`, "a", `{"reason":"r","responseSchema":true}`},
		"no id":                        {`{"reason":"r"}`, "", `{"reason":"r"}`},
		"the id twice, both are taken": {`{"id":"a","reason":"r","id":"b"}`, "a", `{"reason":"r"}`},
	} {
		t.Run(name, func(t *testing.T) {
			stream := outcome(c.given)
			res := plain(t, started, text, stream)
			p := res.Asked.Pause(Name)
			if len(p.Interrupts) != 1 || p.Native != nil || string(p.NativeFinish) != stream {
				t.Fatalf("%+v", res)
			}
			if i := p.Interrupts[0]; string(i.Object) != c.want || i.Native != c.native {
				t.Errorf("interrupt %q %s, want %q %s", i.Native, i.Object, c.native, c.want)
			}
			if got := string(res.Finish.JSON); got != `{"type":"RUN_FINISHED","threadId":"t","runId":"r","x":1.0}` || !res.Finish.Edited {
				t.Errorf("finish %s", got)
			}
		})
	}
}

func TestEndsThatAreNoPause(t *testing.T) {
	for name, end := range map[string]string{
		"a plain end":    finished,
		"success":        `{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":["x"]}}`,
		"no interrupts":  outcome(),
		"no objects":     outcome(`"x"`, `null`),
		"a string (v1)":  `{"type":"RUN_FINISHED","outcome":"interrupt"}`,
		"two types":      `{"type":"RUN_FINISHED","type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"a"}]}}`,
		"an error":       `{"type":"RUN_ERROR","message":"m","code":"UNKNOWN_INTERRUPT_ID"}`,
		"nothing at all": ``,
	} {
		t.Run(name, func(t *testing.T) {
			res := plain(t, started, end)
			if string(res.Finish.JSON) != end || res.Finish.Edited || len(res.Asked.Interrupts) > 0 || res.Fate == translate.Lost || res.Fate == translate.Untouched {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	one := pausedBy(t, `{"id":"a","reason":"r"}`)
	two := pausedBy(t, `{"id":"a","reason":"r"}`, `{"id":"b","reason":"r"}`)
	same := pausedBy(t, `{"id":"a","reason":"r"}`, `{"id":"a","reason":"r"}`)
	mastra := pausedBy(t, `{"id":"run-1::c1","reason":"mastra:tool_suspend","toolCallId":"c1"}`)
	event := func(value, event string) string {
		return `"forwardedProps":{"command":{"resume":` + value + `,"interruptEvent":` + event + `}}`
	}
	suspend := `"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c1\",\"runId\":\"run-1\"}"`
	for name, c := range map[string]struct {
		pause      agui.Pause
		more, want string
		code       agui.Code
	}{
		"none":                             {one, ``, ``, ""},
		"entries":                          {two, dialecttest.ResumeArray(dialecttest.Entry("b~r2", `1`), dialecttest.Entry("a~r1", ``)), `b~r2 resolved 1; a~r1 cancelled `, ""},
		"entries by native ids":            {two, dialecttest.ResumeArray(dialecttest.Entry("b", `1`)), `b resolved 1`, ""},
		"an unknown id":                    {one, dialecttest.ResumeArray(dialecttest.Entry("x", `1`)), `x resolved 1`, ""},
		"a value for the one":              {one, dialecttest.Command(`{"approved":true}`), `a~r1 resolved {"approved":true} *`, ""},
		"a value as JSON text":             {one, dialecttest.Command(`"{\"approved\":true}"`), `a~r1 resolved {"approved":true} *`, ""},
		"a text that looks like a number":  {one, dialecttest.Command(`"42"`), `a~r1 resolved "42" *`, ""},
		"false":                            {one, dialecttest.Command(`false`), `a~r1 resolved false *`, ""},
		"null is none":                     {one, dialecttest.Command(`null`), ``, ""},
		"an object keyed by published ids": {two, dialecttest.Command(`{"b~r2":2,"a~r1":null}`), `b~r2 resolved 2 *; a~r1 resolved  *`, ""},
		"an object keyed by native ids":    {two, dialecttest.Command(`{"b":2,"a":1}`), `b~r2 resolved 2 *; a~r1 resolved 1 *`, ""},
		"a native id that two have":        {same, dialecttest.Command(`{"a":1}`), `a~r1 resolved {"a":1} *`, ""},
		"one of two":                       {two, dialecttest.Command(`{"b":2}`), `b~r2 resolved 2 *`, ""},
		"one twice":                        {two, dialecttest.Command(`{"b":2,"b~r2":2}`), ``, agui.InvalidPayload},
		"a value for several answers one":  {two, dialecttest.Command(`true`), `a~r1 resolved true *`, ""},
		"Holdpoint's event names it":       {two, event(`true`, `"{\"id\":\"b~r2\",\"reason\":\"r\"}"`), `b~r2 resolved true *`, ""},
		"Holdpoint's event, parsed":        {two, event(`true`, `{"interrupts":[{"id":"b~r2"}]}`), `b~r2 resolved true *`, ""},
		"another question's event":         {one, event(`true`, `"{\"id\":\"z~9\"}"`), ` resolved true *`, ""},
		"an event of somebody else":        {one, event(`true`, `"What?"`), ` resolved true *`, ""},
		"Mastra's event beside an outcome": {mastra, event(`{"x":1}`, suspend), `run-1::c1~r1 resolved {"x":1} *`, ""},
		"Mastra's way to decline":          {mastra, event(`false`, suspend), `run-1::c1~r1 cancelled  *`, ""},
		"Mastra's event of another day":    {one, event(`{"x":1}`, suspend), ` resolved {"x":1} *`, ""},
		"Mastra's event, no pause":         {agui.Pause{Dialect: Name}, event(`{"x":1}`, suspend), ` resolved {"x":1} *`, ""},
		"Mastra's event with its id":       {mastra, event(`{"x":1}`, `"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c1\",\"runId\":\"run-1\",\"id\":\"run-1::c1~r1\"}"`), `run-1::c1~r1 resolved {"x":1} *`, ""},
		"of the question before":           {mastra, event(`{"x":1}`, `"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c1\",\"runId\":\"run-1\",\"id\":\"run-1::c1~r0\"}"`), ` resolved {"x":1} *`, ""},
		"Mastra's event, nobody's route":   {agui.Pause{}, event(`{"x":1}`, suspend), ` resolved {"x":1} *`, ""},
		"a value, no pause":                {agui.Pause{}, dialecttest.Command(`1`), ` resolved 1 *`, ""},
		"both forms, no pause":             {agui.Pause{}, dialecttest.ResumeArray(dialecttest.Entry("x", "")) + "," + dialecttest.Command(`1`), `x cancelled ;  resolved 1 *`, ""},
		"both say the same":                {one, dialecttest.ResumeArray(dialecttest.Entry("a~r1", `{"x":1}`)) + "," + dialecttest.Command(`{ "x": 1 }`), `a~r1 resolved {"x":1}`, ""},
		"a no and a yes":                   {one, dialecttest.ResumeArray(dialecttest.Entry("a~r1", ``)) + "," + dialecttest.Command(`true`), ``, agui.ResumeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := new(Dialect).Answers(parse(t, c.more), c.pause)
			var lines []string
			for _, a := range got {
				lines = append(lines, a.ID+" "+string(a.Status)+" "+string(a.Payload)+map[bool]string{true: " *"}[a.Native])
			}
			if strings.Join(lines, "; ") != c.want || dialecttest.Code(err) != c.code {
				t.Errorf("answers %q (%v), want %q", lines, err, c.want)
			}
		})
	}
}

func TestResume(t *testing.T) {
	two := pausedBy(t, `{"id":"a","reason":"r"}`, `{"id":"b","reason":"r"}`)
	for name, c := range map[string]struct{ more, want string }{
		"entries keep their order and bytes": {
			`"forwardedProps":{"k":1},"resume":[{"interruptId":"b~r2","status":"resolved","metadata":{"sig":"x"},"payload":{"n":1.0, "m":null}}, ` + dialecttest.Entry("a~r1", "") + `]`,
			`"forwardedProps":{"k":1},"resume":[{"interruptId":"b","status":"resolved","metadata":{"sig":"x"},"payload":{"n":1.0, "m":null}},{"interruptId":"a","status":"cancelled"}]`,
		},
		"what is cancelled brings no payload": {
			`"resume":[{"interruptId":"a~r1","status":"cancelled","payload":{"approved":true},"metadata":{"n":1.0}},` + dialecttest.Entry("b~r2", "2") + `]`,
			`"resume":[{"interruptId":"a","status":"cancelled","metadata":{"n":1.0}},{"interruptId":"b","status":"resolved","payload":2}]`,
		},
		"command.resume becomes entries": {
			`"forwardedProps":{"k":1,"command":{"resume":{"a~r1":true,"b":null},"interruptEvent":"{\"interrupts\":[{\"id\":\"a~r1\"}]}"}}`,
			`"forwardedProps":{"k":1},"resume":[{"interruptId":"a","status":"resolved","payload":true},{"interruptId":"b","status":"resolved"}]`,
		},
		"both forms: the array": {
			dialecttest.ResumeArray(dialecttest.Entry("a~r1", "1"), dialecttest.Entry("b~r2", "2")) + `,"forwardedProps":{"command":{"resume":{"a":1,"b":2},"goto":1}}`,
			`"resume":[{"interruptId":"a","status":"resolved","payload":1},{"interruptId":"b","status":"resolved","payload":2}],"forwardedProps":{"command":{"goto":1}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resume(t, two, parse(t, c.more))
			want := `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[],` + c.want + `}`
			if err != nil || string(out.Body) != want || !out.Resumes || !out.TakesNew {
				t.Errorf("%+v %v\n%s, want\n%s", out, err, out.Body, want)
			}
		})
	}
	t.Run("answers that admit made", func(t *testing.T) {
		answers := []agui.Answer{{ID: "a~r1", Status: agui.Cancelled, Payload: json.RawMessage("1")}, {ID: "b~r2", Status: agui.Cancelled}}
		in := parse(t, `"forwardedProps":{"command":{"resume":1}}`)
		out, _, err := new(Dialect).Begin(&translate.Request{Input: in, Pause: two, Answers: answers})
		if got := gjson.GetBytes(out.Body, "resume").Raw; err != nil || got != `[{"interruptId":"a","status":"cancelled"},{"interruptId":"b","status":"cancelled"}]` || gjson.GetBytes(out.Body, "forwardedProps.command").Exists() {
			t.Errorf("%s %v", out.Body, err)
		}
	})
}

// TestFreeAnswerIsNoApproval: AGUI.Server reads an answer with the member toolCall as an approval
// of that call, whatever the question was. So such an answer must be refused.
func TestFreeAnswerIsNoApproval(t *testing.T) {
	const free, bound = `{"id":"a","reason":"input_required"}`, `{"id":"a","reason":"tool_call","toolCallId":"c"}`
	const asks = `{"id":"a","reason":"r","responseSchema":{"type":"object","properties":{"toolCall":{"type":"object"}}}}`
	for name, c := range map[string]struct {
		interrupt, payload string
		want               agui.Code
	}{
		"a call":                    {free, `{"approved":true,"toolCall":{"callId":"x","name":"format"}}`, agui.InvalidPayload},
		"the key in escapes":        {free, `{"tool\u0043all":{"name":"format"}}`, agui.InvalidPayload},
		"the key in another case":   {free, `{"ToolCall":{"name":"format"}}`, agui.InvalidPayload},
		"a text under that key":     {free, `{"toolCall":"x"}`, ""},
		"the key further inside":    {free, `{"a":{"toolCall":{}}}`, ""},
		"a list":                    {free, `[{"toolCall":{}}]`, ""},
		"a question about a call":   {bound, `{"approved":true,"toolCall":{"callId":"c","name":"rm"}}`, ""},
		"a question that wants one": {asks, `{"toolCall":{"name":"rm"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resume(t, pausedBy(t, c.interrupt), parse(t, dialecttest.ResumeArray(dialecttest.Entry("a~r1", c.payload))))
			if dialecttest.Code(err) != c.want {
				t.Errorf("%v; sent %s", err, out.Body)
			}
		})
	}
}

// TestErrorOfAResume checks which RUN_ERRORs mean that the question is lost or that the backend did
// nothing, and at which place in the stream.
func TestErrorOfAResume(t *testing.T) {
	p := pausedBy(t, `{"id":"a","reason":"r"}`)
	failed := func(code string) string { return `{"type":"RUN_ERROR","message":"m","code":"` + code + `"}` }
	for name, c := range map[string]struct {
		stream        []string
		lost, nothing bool
	}{
		"unknown":                   {[]string{started, failed("UNKNOWN_INTERRUPT_ID")}, true, false},
		"not found":                 {[]string{failed("APPROVAL_RESUME_NOT_FOUND")}, true, false},
		"unknown, after something":  {[]string{started, text, failed("UNKNOWN_INTERRUPT_ID")}, false, false},
		"lost, says a Holdpoint":    {[]string{started, text, failed("BACKEND_LOST_INTERRUPT")}, true, false},
		"invalid payload":           {[]string{started, failed("INVALID_PAYLOAD")}, false, true},
		"partial":                   {[]string{started, failed("PARTIAL_RESUME")}, false, true},
		"an answer of another type": {[]string{started, failed("WORKFLOW_RESUME_INVALID_RESPONSE")}, false, true},
		"busy":                      {[]string{started, failed("THREAD_BUSY")}, false, true},
		"busy, after something":     {[]string{started, text, failed("THREAD_BUSY")}, false, false},
		"any other":                 {[]string{started, failed("X")}, false, false},
		"none":                      {[]string{started, `{"type":"RUN_ERROR","message":"m"}`}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, run, err := resume(t, p, parse(t, dialecttest.ResumeArray(dialecttest.Entry("a~r1", "1"))))
			if err != nil {
				t.Fatal(err)
			}
			res := play(t, run, &dialecttest.Log{}, c.stream...)
			if (res.Fate == translate.Lost) != c.lost || (res.Fate == translate.Untouched) != c.nothing || (res.Finish.Type == "") != c.lost {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestSign(t *testing.T) {
	for event, want := range map[string]bool{
		outcome(`{"id":"a"}`): true, outcome(): false, finished: false, text: false,
		`{"type":"RUN_FINISHED","outcome":"interrupt"}`: false,
	} {
		if got := new(Dialect).Sign(agui.NewEvent([]byte(event)), &translate.Request{}); got != want {
			t.Errorf("%s: %v", event, got)
		}
	}
}

// FuzzEvents checks any stream. Nothing may panic, and every interrupt must have a reason and no
// null.
func FuzzEvents(f *testing.F) {
	f.Add(started + "\n" + text + "\n" + outcome(`{"id":"a","reason":null,"message":null,"responseSchema":`+schema+`}`, `{"id":"b"}`))
	f.Add(finished)
	f.Add(started + "\n" + crewAnnounces(crewAsks) + "\n" + finished)
	f.Add(started + "\n" + mastraAnnounces("r", "c") + "\n" + mastraAnnounces("r", "c") + "\n" + text + "\n" + finished)
	f.Add(outcome(`{"id":7,"reason":"r"}`, `[]`))
	f.Fuzz(func(t *testing.T, stream string) {
		_, run, err := new(Dialect).Begin(&translate.Request{})
		if err != nil {
			t.Fatal(err)
		}
		// The proxy gives an invalid terminal or CUSTOM event the type Unknown, so such lines do
		// not occur.
		lines := slices.DeleteFunc(strings.Split(stream, "\n"), func(line string) bool {
			ev := agui.NewEvent([]byte(line))
			return (ev.Type.Terminal() || ev.Type == agui.Custom) && !ev.Valid()
		})
		res := dialecttest.Play(run, &dialecttest.Log{}, lines...).Result
		for _, i := range res.Asked.Interrupts {
			v := gjson.ParseBytes(i.Object)
			if !json.Valid(i.Object) || !v.Get("reason").Exists() {
				t.Fatalf("object %s", i.Object)
			}
			v.ForEach(func(k, v gjson.Result) bool {
				if v.Type == gjson.Null || k.Str == "id" {
					t.Fatalf("object %s", i.Object)
				}
				return true
			})
		}
		if len(res.Asked.Interrupts) > 0 && (!json.Valid(res.Finish.JSON) || res.Finish.Get("outcome").Exists()) {
			t.Fatalf("finish %s", res.Finish.JSON)
		}
	})
}

// FuzzAnswers checks any request of a client. Nothing may panic, the output must be JSON, and a
// cancelled or denied answer must stay cancelled or denied.
func FuzzAnswers(f *testing.F) {
	for _, more := range []string{
		``, dialecttest.ResumeArray(dialecttest.Entry("a~r1", `{"approved":true}`), dialecttest.Entry("b~r2", ``)), dialecttest.ResumeArray(dialecttest.Entry("b~r2", `false`), dialecttest.Entry("a~r1", `{"approved":false}`)),
		dialecttest.Command(`{"a":true,"b":false}`), dialecttest.Command(`"{\"a~r1\":1,\"b~r2\":null}"`), dialecttest.Command(`true`), dialecttest.Command(`[]`),
		`"forwardedProps":{"command":{"resume":{"a":1,"b":2},"interruptEvent":"{\"id\":\"a~r1\"}"}}`,
		dialecttest.ResumeArray(dialecttest.Entry("a~r1", ``), dialecttest.Entry("b~r2", ``)) + `,"forwardedProps":7`,
	} {
		f.Add(more)
	}
	f.Fuzz(func(t *testing.T, more string) {
		body := `{"threadId":"t","runId":"r","messages":[]`
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
		p := pausedBy(t, `{"id":"a","reason":"r"}`, `{"id":"b","reason":"r"}`)
		if _, err := new(Dialect).Answers(in, agui.Pause{}); err != nil && !dialecttest.IsRunError(err) {
			t.Fatal(err)
		}
		answers, _ := new(Dialect).Answers(in, p)
		out, _, err := resume(t, p, in)
		if err != nil {
			if !dialecttest.IsRunError(err) {
				t.Fatal(err)
			}
			return
		}
		entries := gjson.GetBytes(out.Body, "resume").Array()
		if !json.Valid(out.Body) || len(entries) != 2 {
			t.Fatalf("body %s", out.Body)
		}
		for _, e := range entries {
			at := slices.IndexFunc(answers, func(a agui.Answer) bool { return strings.HasPrefix(a.ID, e.Get("interruptId").Str+"~") })
			if at < 0 || string(answers[at].Status) != e.Get("status").Str {
				t.Fatalf("%s became %s", body, out.Body)
			}
			if want := answers[at].Payload; len(want) > 0 && string(want) != e.Get("payload").Raw {
				t.Fatalf("%s became %s", body, out.Body)
			}
		}
	})
}
