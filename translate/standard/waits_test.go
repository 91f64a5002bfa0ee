package standard

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

const (
	notCovered = `{"type":"RUN_ERROR","message":"thread t is waiting on an interrupt","code":"INTERRUPT_NOT_COVERED"}`
	required   = `{"type":"RUN_ERROR","message":"Thread has open interrupt(s) ['adk-1', \"adk-2\"]; the run must answer them through RunAgentInput.resume.","code":"INTERRUPT_RESUME_REQUIRED"}`
)

func ordinary(t *testing.T, r *translate.Request, stream ...string) translate.Result {
	t.Helper()
	l := &dialecttest.Log{}
	r.Input, r.Transcript = parse(t, ``), l
	for _, m := range []string{`{"id":"u1","role":"user","content":"Go."}`, `{"id":"m1","role":"assistant","content":"Hm."}`, `{"id":"u2","role":"user","content":"Hello?"}`} {
		r.Input.Messages = append(r.Input.Messages, agui.ParseMessage([]byte(m)))
	}
	_, run, err := new(Dialect).Begin(r)
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, l, stream...)
}

// TestLostQuestion: a backend refuses a run because it waits for an answer. If Holdpoint knows an
// id of the backend's question, the client must get a question that it can only cancel.
func TestLostQuestion(t *testing.T) {
	ended := func(interrupt string) []translate.EndedPause {
		return []translate.EndedPause{{Pause: pausedBy(t, interrupt)}}
	}
	asked := []translate.EndedPause{{Pause: agui.Pause{ID: "p", Dialect: Name, Interrupts: []agui.Interrupt{{
		ID: "9-1~y", Native: "9-1", Object: []byte(`{}`), Private: []byte(`{"of":"ag2","natives":["9-1"]}`), CancelOnly: true,
	}}}}}
	for name, c := range map[string]struct {
		request translate.Request
		stream  []string
		natives string // empty if the error is not replaced
	}{
		"ADK says what is open":              {translate.Request{}, []string{required}, "adk-1 adk-2"},
		"ADK, behind RUN_STARTED":            {translate.Request{}, []string{started, required}, "adk-1 adk-2"},
		"ADK, behind something":              {translate.Request{}, []string{started, text, required}, ""},
		"ADK in other words":                 {translate.Request{}, []string{`{"type":"RUN_ERROR","message":"Answer [it] first","code":"INTERRUPT_RESUME_REQUIRED"}`}, ""},
		"AG2, nothing is known":              {translate.Request{}, []string{notCovered}, ""},
		"AG2, the record knows it":           {translate.Request{EndedPauses: ended(ag2Asks)}, []string{notCovered}, "9-1"},
		"AG2, a client knows it":             {translate.Request{NamedInterrupts: []string{"9-2~abc", "plain"}}, []string{notCovered}, "9-2 9-2~abc plain"},
		"AG2, both":                          {translate.Request{EndedPauses: ended(ag2Asks), NamedInterrupts: []string{"9-2~abc"}}, []string{notCovered}, "9-1 9-2 9-2~abc"},
		"AG2, another's":                     {translate.Request{EndedPauses: ended(adkConfirms)}, []string{notCovered}, ""},
		"AG2, cancelled already":             {translate.Request{EndedPauses: append(asked, ended(ag2Asks)...)}, []string{notCovered}, ""},
		"a client that is shown native ends": {translate.Request{Show: translate.ShowNative}, []string{required}, ""},
		"another error":                      {translate.Request{NamedInterrupts: []string{"9-2"}}, []string{failedWith("X", required)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := ordinary(t, &c.request, c.stream...)
			if c.natives == "" {
				if len(res.Asked.Interrupts) > 0 || res.Finish.Type != agui.RunErrored {
					t.Fatalf("%+v", res)
				}
				return
			}
			if len(res.Asked.Interrupts) != 1 || res.Finish.Type != agui.RunFinished || len(res.UnacceptedMessages) != 1 || res.UnacceptedMessages[0].ID != "u2" {
				t.Fatalf("%+v", res)
			}
			i := res.Asked.Interrupts[0]
			question, isLost := lostStateOf(&i)
			if got := strings.Join(question.Natives, " "); !isLost || !i.CancelOnly || got != c.natives || i.Reason() != kit.ReasonLost {
				t.Errorf("%q: %+v %s", got, i, i.Object)
			}
		})
	}
}

// TestLostQuestionIsCancelled checks that the only answer to a lost question is a cancel, which is
// sent for every id that the question may have.
func TestLostQuestionIsCancelled(t *testing.T) {
	res := ordinary(t, &translate.Request{NamedInterrupts: []string{"9-2~abc"}}, notCovered)
	p := dialecttest.WithIDs(res.Asked.Pause(Name))
	id := p.Interrupts[0].ID
	entry := `{"interruptId":"` + id + `","status":"cancelled","metadata":{"ag2":{"proof":"x"}}}`
	for name, c := range map[string]struct{ more, want string }{
		"cancelled": {dialecttest.ResumeArray(dialecttest.Entry(id, "")), `[{"interruptId":"9-2","status":"cancelled"},{"interruptId":"9-2~abc","status":"cancelled"}]`},
		"denied":    {dialecttest.ResumeArray(dialecttest.Entry(id, `{"approved":false}`)), `[{"interruptId":"9-2","status":"cancelled"},{"interruptId":"9-2~abc","status":"cancelled"}]`},
		"with a proof": {dialecttest.ResumeArray(entry),
			`[{"interruptId":"9-2","status":"cancelled","metadata":{"ag2":{"proof":"x"}}},{"interruptId":"9-2~abc","status":"cancelled","metadata":{"ag2":{"proof":"x"}}}]`},
		"nothing beside a message": {``, `[{"interruptId":"9-2","status":"cancelled"},{"interruptId":"9-2~abc","status":"cancelled"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			in := parse(t, c.more)
			answers, err := new(Dialect).Answers(in, p)
			if err != nil || c.more != "" && (len(answers) != 1 || answers[0].Status != agui.Cancelled) {
				t.Fatalf("%v %v", answers, err)
			}
			said := agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"Hello?"}`))
			in = in.WithMessages([]agui.Message{said})
			r := &translate.Request{
				Input: in, Pause: p, Answers: []agui.Answer{{ID: id, Status: agui.Cancelled}}, NewMessages: []agui.Message{said},
				Transcript: dialecttest.NewLog(in.Messages),
			}
			out, _, err := new(Dialect).Begin(r)
			if got := gjson.GetBytes(out.Body, "resume").Raw; err != nil || got != c.want || idsOf(out.Body) != "u2" {
				t.Errorf("%v\n%s", err, out.Body)
			}
			for name, end := range map[string]struct {
				stream []string
				fate   translate.Fate
				next   bool
			}{
				"its turn is ended":      {[]string{started, `{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}`}, translate.Finished, true},
				"nothing waited":         {[]string{started, text, `{"type":"RUN_FINISHED","outcome":{"type":"success"}}`}, translate.Finished, false},
				"it is called otherwise": {[]string{notCovered}, translate.Lost, false},
				"the proof is missing":   {[]string{failedWith("INTERRUPT_NOT_PROVEN", "x")}, translate.Untouched, false},
			} {
				_, run, err := new(Dialect).Begin(r)
				if err != nil {
					t.Fatal(err)
				}
				res := play(t, run, &dialecttest.Log{}, end.stream...)
				if res.Fate != end.fate || (res.Next != nil) != end.next {
					t.Errorf("%s: %+v", name, res)
				}
			}
		})
	}
}

// TestAnswerToAnUnknownQuestion: AG2 ignores an answer to a question that it does not have, and
// runs as if there were no answer. A run without the result of the call must count as lost.
func TestAnswerToAnUnknownQuestion(t *testing.T) {
	const result = `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c1","content":"no"}`
	const success, stopped = `{"type":"RUN_FINISHED","outcome":{"type":"success"}}`, `{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}`
	hidden := strings.Replace(ag2Asks, `{"id"`, `{"subagentRunId":"s","id"`, 1)
	for name, c := range map[string]struct {
		interrupt, payload string
		stream             []string
		want               translate.Fate
	}{
		"a result":         {ag2Asks, `true`, []string{started, result, success}, translate.Finished},
		"none":             {ag2Asks, `true`, []string{started, text, success}, translate.Lost},
		"none of a word":   {ag2Asks, `"always"`, []string{started, text, success}, translate.Lost},
		"none of a denial": {ag2Asks, `false`, []string{started, text, success}, translate.Lost},
		"it was stopped":   {ag2Asks, `true`, []string{started, text, stopped}, translate.InDoubt},
		"of a subagent's":  {hidden, `true`, []string{started, text, success}, translate.Finished},
		"of a free one":    {strings.Replace(ag2Asks, "tool_call", "input_required", 1), `"x"`, []string{started, text, success}, translate.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			p := pausedBy(t, c.interrupt)
			_, run, err := resume(t, p, parse(t, dialecttest.ResumeArray(dialecttest.Entry(p.Interrupts[0].ID, c.payload))))
			if err != nil {
				t.Fatal(err)
			}
			if res := play(t, run, &dialecttest.Log{}, c.stream...); res.Fate != c.want {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestFrees(t *testing.T) {
	for interrupt, want := range map[string]bool{
		ag2Asks: true, pydanticAsks: true, adkConfirms: true, adkPredicts: true, crewAsksFree: false, mastraAsks: false, somebodyAsks: false,
		ag2Asks + "," + somebodyAsks: false,
	} {
		p := pausedBy(t, interrupt)
		if got := new(Dialect).Frees(&p); got != want {
			t.Errorf("%s: %v", interrupt, got)
		}
	}
}
