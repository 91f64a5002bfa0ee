package strands

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// pausedBy returns the pause at the end of a plain run with the frames.
func pausedBy(t testing.TB, d *Dialect, data ...string) agui.Pause {
	t.Helper()
	p := plain(t, d, stream, frames(data...))
	if len(p.Result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %s", p.types())
	}
	return dialecttest.WithIDs(p.Result.Asked.Pause(Name))
}

func pyPause(t testing.TB, d *Dialect) agui.Pause {
	return pausedBy(t, d, calls, argument, closed, asksPay, endsAsk)
}

func tsPause(t testing.TB, d *Dialect) agui.Pause {
	return pausedBy(t, d, tsBegan, tsModel, tsCall, tsArgs, tsClosed, tsTools, fakes("c1"), tsAsk, tsPaused)
}

func TestInterrupt(t *testing.T) {
	var server Server
	d := newDialect(t, server)
	p := plain(t, d, stream, frames(calls, argument, closed, asksPay, endsAsk))
	const want = `{"reason":"tool_call","message":"Approve call to pay?","toolCallId":"c1","responseSchema":` + kit.ApprovalSchema +
		`,"metadata":{"strands":{"reason":{"n": 1},"id":"` + payID + `","name":"approval","tool_name":"pay","tool_input":{"n": 1}}}}`
	if got := string(p.Result.Asked.Interrupts[0].Object); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if got := string(p.Result.Finish.JSON); got != `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}` {
		t.Errorf("finish %s", got)
	}

	server.Rules = rules(t, `{"name":"app*","reason":"confirmation"},{"name":"approval","schema":{"type":"string"}}`)
	p = plain(t, newDialect(t, server), stream, frames(calls, argument, closed, asksPay, endsAsk))
	i := p.Result.Asked.Interrupts[0]
	if i.Reason() != "confirmation" || string(i.Schema()) != `{"type":"string"}` {
		t.Errorf("configured: %s", i.Object)
	}
	// A raw answer is sent unchanged, so Holdpoint does not know its form and must publish no
	// schema.
	p = plain(t, newDialect(t, Server{Rules: rules(t, `{"name":"*","answers":"raw"}`)}), stream, frames(calls, argument, closed, asksPay, endsAsk))
	if s := p.Result.Asked.Interrupts[0].Schema(); s != nil {
		t.Errorf("a schema for raw answers: %s", s)
	}
}

func TestResumeRequest(t *testing.T) {
	d := newDialect(t, Server{})
	p := pyPause(t, d)
	id := p.Interrupts[0].ID
	for payload, want := range map[string]string{`{"approved":true}`: `"y"`, `"t"`: `"t"`, `false`: `"n"`, "": `"n"`, `{"approved":1}`: "", `7`: ""} {
		out, _, err := resume(t, d, p, &dialecttest.Log{}, nil, dialecttest.Entry(id, payload))
		if want == "" {
			if err == nil || !strings.HasPrefix(err.Error(), string(agui.InvalidPayload)) {
				t.Errorf("%s: %v", payload, err)
			}
			continue
		}
		if body := `{"prompt":[{"interruptResponse":{"interruptId":"` + payID + `","response":` + want + `}}]}`; err != nil || string(out.Body) != body {
			t.Errorf("%s: %s %v, want %s", payload, out.Body, err, body)
		}
		if !out.Resumes || out.TakesNew || !out.ReadOn || out.Header["X-Amzn-Bedrock-Agentcore-Runtime-Session-Id"][0] != sessionOf("t") {
			t.Errorf("%+v", out)
		}
	}
}

// TestOwnForms: an answer in the backend's own form does not fit the dialect's schema. It must be
// marked, so that the schema does not refuse it. If the operator wrote the schema, it must not be
// marked.
func TestOwnForms(t *testing.T) {
	var server Server
	d := newDialect(t, server)
	p := pyPause(t, d)
	for payload, want := range map[string]bool{`"t"`: true, `true`: true, `{"approved":true}`: false, `7`: false} {
		answers, err := d.Answers(input(t, `,"resume":[`+dialecttest.Entry(p.Interrupts[0].ID, payload)+`]`), p)
		if err != nil || len(answers) != 1 || answers[0].OwnForm != want {
			t.Errorf("%s: %+v %v", payload, answers, err)
		}
	}
	server.Rules = rules(t, `{"name":"*","schema":{"type":"string","enum":["a"]}}`)
	d = newDialect(t, server)
	p = pyPause(t, d)
	answers, err := d.Answers(input(t, `,"resume":[`+dialecttest.Entry(p.Interrupts[0].ID, `"t"`)+`]`), p)
	if err != nil || answers[0].OwnForm {
		t.Errorf("%+v %v", answers, err)
	}
}

// TestOneIDForTwoQuestions: two questions have the same id. The dialect must accept their answers
// only if both are the same.
func TestOneIDForTwoQuestions(t *testing.T) {
	d := newDialect(t, Server{})
	p := pausedBy(t, d, asksPay, strings.Replace(asksPay, `{"n": 1}, "response"`, `{"n": 2}, "response"`, 1), endsAsk)
	a, b := p.Interrupts[0].ID, p.Interrupts[1].ID
	if _, _, err := resume(t, d, p, &dialecttest.Log{}, nil, dialecttest.Entry(a, `"y"`), dialecttest.Entry(b, `"n"`)); err == nil {
		t.Error("two answers under one id")
	}
	out, _, err := resume(t, d, p, &dialecttest.Log{}, nil, dialecttest.Entry(a, `"n"`), dialecttest.Entry(b, ""))
	if err != nil || strings.Count(string(out.Body), "interruptId") != 1 {
		t.Errorf("%s %v", out.Body, err)
	}
}

// TestResumedRuns checks the different ends of resumed runs.
func TestResumedRuns(t *testing.T) {
	for name, c := range map[string]struct {
		ts      bool
		stream  string
		want    string
		lost    bool
		nothing bool
	}{
		"it went on":                          {false, frames(paid, opened, hi, closed, endTurn, endsWell), "TOOL_CALL_RESULT(paid\n{\"n\": 1.0}) " + said + " RUN_FINISHED", false, false},
		"nothing was open, 1.40":              {false, frames(`{"error": "Input prompt must be of type: ` + "`str`" + `.", "error_type": "ValueError"}`), "", true, false},
		"nothing was open, later":             {false, frames(`{"error": "Received interrupt responses but agent is not in interrupt state. Ensure", "error_type": "ValueError"}`), "", true, false},
		"another was":                         {false, frames(`{"error": "'interrupt_id=<x> | no interrupt found'", "error_type": "KeyError"}`), "", true, false},
		"nothing was open in a swarm":         {false, frames(`"{'type': 'multiagent_result', 'result': SwarmResult(status=<Status.FAILED: 'failed'>, results={'a': NodeResult(result=ValueError('Input prompt must be of type: x'))}, interrupts=[])}"`), "", true, false},
		"a swarm that failed":                 {false, frames(`"{'type': 'multiagent_result', 'result': SwarmResult(status=<Status.FAILED: 'failed'>, results={}, interrupts=[])}"`), "RUN_ERROR(STRANDS_ERROR)", false, false},
		"another call was running":            {false, frames(`{"error": "Agent is already processing a request.", "error_type": "ConcurrencyException"}`), "RUN_ERROR(STRANDS_ERROR)", false, true},
		"the list was made text":              {false, frames(`{"error": "prompt_type=<class 'str'> | must resume from interrupt with list of interruptResponse's", "error_type": "TypeError"}`), "RUN_ERROR(STRANDS_ERROR)", false, true},
		"the hook failed":                     {false, frames(`{"force_stop": true}`, `{"error": "'dict' object has no attribute 'lower'", "error_type": "EventLoopException"}`), "RUN_ERROR(STRANDS_FORCE_STOP)", false, false},
		"no end":                              {false, frames(began), "", false, false},
		"cut":                                 {false, frames(began) + "<cut>", "", false, false},
		"TypeScript went on":                  {true, frames(tsBegan, tsTools, tsResult, tsModel, tsOpened, tsHi, tsClosed, tsEnded), "TOOL_CALL_RESULT([\"a\"]) " + said + " RUN_FINISHED", false, false},
		"TypeScript waited for nothing":       {true, frames(tsBegan, tsModel, tsOpened, tsHi, tsClosed, tsEnded), said, true, false},
		"TypeScript asks anew":                {true, frames(tsBegan, tsModel, tsCall, tsArgs, tsClosed, tsTools, tsAsk, tsPaused), called + " RUN_FINISHED", false, false},
		"TypeScript knows another":            {true, frames(`{"error":"interrupt_id=<nope> | no interrupt found","error_type":"Error"}`), "", true, false},
		"a graph of TypeScript knows another": {true, frames(`{"error":"interrupt_id=<x> | no node found with matching interrupt","error_type":"Error"}`), "", true, false},
		"a call of TypeScript was running":    {true, frames(`{"error":"Agent is already processing an invocation.","error_type":"ConcurrentInvocationError"}`), "RUN_ERROR(STRANDS_ERROR)", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Server{})
			p := pyPause(t, d)
			if c.ts {
				p = tsPause(t, d)
			}
			l := &dialecttest.Log{}
			_, run, err := resume(t, d, p, l, nil, dialecttest.Entry(p.Interrupts[0].ID, `true`))
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, run, l, stream, c.stream)
			if got.types() != c.want || (got.Result.Fate == translate.Lost) != c.lost || (got.Result.Fate == translate.Untouched) != c.nothing || got.Result.Next != nil {
				t.Errorf("%s lost %v nothing %v, want %s", got.types(), got.Result.Fate == translate.Lost, got.Result.Fate == translate.Untouched, c.want)
			}
		})
	}
}

// TestAResumeThatBeginsWithTheModel: only middleware asked, and before any call. The resumed run
// begins with the model, which must not count as a lost question.
func TestAResumeThatBeginsWithTheModel(t *testing.T) {
	d := newDialect(t, Server{})
	p := pausedBy(t, d, tsBegan, `{"type":"interruptEvent","interrupt":{"id":"middleware:agentStream:gate","name":"gate","source":"middleware"}}`, tsPaused)
	l := &dialecttest.Log{}
	_, run, err := resume(t, d, p, l, nil, dialecttest.Entry(p.Interrupts[0].ID, `true`))
	if err != nil {
		t.Fatal(err)
	}
	if got := play(t, run, l, stream, frames(tsBegan, tsModel, tsHi, tsClosed, tsEnded)); got.Result.Fate == translate.Lost || got.types() != said+" RUN_FINISHED" {
		t.Errorf("%s lost %v", got.types(), got.Result.Fate == translate.Lost)
	}
}

func TestStatuses(t *testing.T) {
	d := newDialect(t, Server{})
	p := pyPause(t, d)
	for name, c := range map[string]struct {
		resumes bool
		status  int
		body    string
		want    string
	}{
		"a list where text is taken":      {true, 422, `{"detail":[{"loc":["body","prompt"]}]}`, "UPSTREAM_STATUS"},
		"a list that is no request":       {true, 400, ``, "UPSTREAM_STATUS"},
		"a plain run is no list":          {false, 422, `{}`, ""},
		"an error":                        {true, 500, `{"error":"boom"}`, ""},
		"nothing was open":                {true, 500, `{"error":"Received interrupt responses but agent is not in interrupt state."}`, "lost"},
		"it waits":                        {false, 500, `{"error":"prompt_type=<class 'str'> | must resume from interrupt with list of interruptResponse's"}`, "next"},
		"it waits, and the list was none": {true, 500, `{"error":"prompt_type=<class 'str'> | must resume from interrupt with list of interruptResponse's"}`, ""},
		"too many":                        {false, 429, ``, ""},
		"a page":                          {false, 200, `<p>`, "UPSTREAM_STATUS"},
		"a page for answers":              {true, 200, `<p>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, "")
			_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages})
			if c.resumes {
				_, run, err = resume(t, d, p, &dialecttest.Log{}, nil, dialecttest.Entry(p.Interrupts[0].ID, `true`))
			}
			if err != nil {
				t.Fatal(err)
			}
			res, err := run.End(translate.End{Status: c.status, Body: []byte(c.body)})
			got := res.Finish.Get("code").Str
			switch {
			case res.Fate == translate.Lost:
				got = "lost"
			case res.Next != nil:
				got = "next"
			}
			if err != nil || got != c.want {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
			if strings.Contains(string(res.Finish.JSON), "detail") {
				t.Errorf("the backend's text: %s", res.Finish.JSON)
			}
		})
	}
}

const waits = `{"error": "prompt_type=<class 'str'> | must resume from interrupt with list of interruptResponse's", "error_type": "TypeError"}`

// TestAskedWhatItWaitsFor: an agent refuses a prompt because it waits for the answer to a question
// that Holdpoint does not know. Holdpoint must ask the agent for its questions, and the prompt must
// count as not read.
func TestAskedWhatItWaitsFor(t *testing.T) {
	d := newDialect(t, Server{})
	p := plain(t, d, stream, frames(waits))
	if p.Result.Next == nil || string(p.Result.Next.Out.Body) != `{"prompt":[]}` || p.Result.Next.Out.Resumes || p.Result.Finish.Type != agui.Unknown {
		t.Fatalf("%s %+v", p.types(), p.Result)
	}
	ask := func() translate.Run { return plain(t, d, stream, frames(waits)).Result.Next.Run }
	got := play(t, ask(), &dialecttest.Log{}, stream, frames(began, asksPay, endsAsk))
	if got.asks() != asked || got.types() != called+" RUN_FINISHED" || len(got.Result.UnacceptedMessages) != 1 || got.Result.UnacceptedMessages[0].ID != "u1" {
		t.Errorf("asks %s, untaken %v", got.asks(), got.Result.UnacceptedMessages)
	}
	// If the agent waits no longer, Holdpoint must send only the refused prompt again.
	got = play(t, ask(), &dialecttest.Log{}, stream, frames(began, hi, closed, endTurn, endsWell))
	if got.Result.Next == nil || string(got.Result.Next.Out.Body) != `{"prompt":"Clean up."}` || got.Result.Finish.Type != agui.Unknown {
		t.Fatalf("%s %+v", got.types(), got.Result)
	}
	if again := play(t, got.Result.Next.Run, &dialecttest.Log{}, stream, frames(waits)); again.Result.Next != nil || !strings.Contains(again.types(), "STRANDS_INTERRUPT_LOST") {
		t.Errorf("%s", again.types())
	}
	for name, answer := range map[string]string{"says nothing": "", "texts": frames(`"Hi."`), "waits": frames(waits), "fails": frames(`{"result": {"status": "failed", "interrupts": []}}`)} {
		if got := play(t, ask(), &dialecttest.Log{}, stream, answer); got.Result.Next != nil || !strings.Contains(got.types(), "RUN_ERROR(STRANDS_") || name == "fails" && !strings.Contains(got.types(), "LOST") || name == "waits" && got.types() != "RUN_ERROR(STRANDS_ERROR)" {
			t.Errorf("%s: %s", name, got.types())
		}
	}
}

// TestAnswersOfAResumeThatFailedAreTakenBack: an agent may have stored the answers of a failed
// resume, and would act on them when Holdpoint asks it for its questions. So the request for the
// questions must replace the stored answers with null. "RAN" in this file means run against the
// real version; these facts were RAN with 1.40 and 1.62.
func TestAnswersOfAResumeThatFailedAreTakenBack(t *testing.T) {
	d := newDialect(t, Server{})
	in := input(t, "")
	after := func(ended ...translate.EndedPause) played {
		_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, EndedPauses: ended})
		if err != nil {
			t.Fatal(err)
		}
		return play(t, run, &dialecttest.Log{}, stream, frames(waits))
	}
	failed := translate.EndedPause{Pause: pyPause(t, d), Failed: true}
	failed.Interrupts = append(failed.Interrupts, failed.Interrupts[0], agui.Interrupt{Native: "v1:other"})
	if got := after(translate.EndedPause{Pause: agui.Pause{ID: "p"}}, failed); string(got.Result.Next.Out.Body) != `{"prompt":[]}` {
		t.Errorf("an older one failed: %s", got.Result.Next.Out.Body)
	}
	if got := after(translate.EndedPause{Pause: agui.Pause{ID: "p"}, Failed: true}); got.Result.Next != nil || got.types() != "RUN_ERROR(STRANDS_INTERRUPT_LOST)" {
		t.Errorf("nobody knows what was asked: %s", got.types())
	}
	const nulls = `{"prompt":[{"interruptResponse":{"interruptId":"` + payID + `","response":null}},{"interruptResponse":{"interruptId":"v1:other","response":null}}]}`
	ask := func() translate.Run {
		next := after(failed).Result.Next
		if string(next.Out.Body) != nulls || next.Out.Resumes {
			t.Fatalf("%s", next.Out.Body)
		}
		return next.Run
	}
	other := strings.ReplaceAll(asksPay, payID, "v1:new")
	got := play(t, ask(), &dialecttest.Log{}, stream, frames(asksPay, other, `{"result": {"stop_reason": "interrupt"}}`))
	if len(got.Result.Asked.Interrupts) != 2 || len(got.Result.UnacceptedMessages) != 1 {
		t.Fatalf("%+v", got.Result)
	}
	for n, want := range []bool{true, false} {
		if i := got.Result.Asked.Interrupts[n]; strings.Contains(gjson.GetBytes(i.Object, "message").Str, "answered before") != want {
			t.Errorf("%s", i.Object)
		}
	}
	for _, answer := range []string{
		frames(began, `{"error": "'interrupt_id=<x> | no interrupt found'", "error_type": "KeyError"}`), frames(`{"error": "response must not be null", "error_type": "ValueError"}`),
	} {
		if got := play(t, ask(), &dialecttest.Log{}, stream, answer); got.Result.Next != nil || got.types() != "RUN_ERROR(STRANDS_INTERRUPT_LOST)" {
			t.Errorf("%s: %s", answer, got.types())
		}
	}
	// The agent has acted on the old answers and asked a question that Holdpoint never received. It
	// has no old answers any more, so the empty list must be sent.
	unknown := func(id string) string {
		return frames(`{"error": "'interrupt_id=<` + id + `> | no interrupt found'", "error_type": "KeyError"}`)
	}
	got = play(t, ask(), &dialecttest.Log{}, stream, unknown(payID))
	if got.Result.Next == nil || string(got.Result.Next.Out.Body) != `{"prompt":[{"interruptResponse":{"interruptId":"v1:other","response":null}}]}` {
		t.Fatalf("one is unknown: %s %+v", got.types(), got.Result)
	}
	got = play(t, got.Result.Next.Run, &dialecttest.Log{}, stream, unknown("v1:other"))
	if got.Result.Next == nil || string(got.Result.Next.Out.Body) != `{"prompt":[]}` || got.Result.Next.Out.Resumes {
		t.Fatalf("all are unknown: %s %+v", got.types(), got.Result)
	}
	got = play(t, got.Result.Next.Run, &dialecttest.Log{}, stream, frames(began, other, `{"result": {"stop_reason": "interrupt"}}`))
	if len(got.Result.Asked.Interrupts) != 1 || len(got.Result.UnacceptedMessages) != 1 {
		t.Errorf("%s %+v", got.types(), got.Result)
	}
	if res, err := ask().End(translate.End{Status: 500, Body: []byte(`{"error":"'interrupt_id=<` + payID + `> | no interrupt found'"}`)}); err != nil || res.Next == nil {
		t.Errorf("%+v %v", res, err)
	}
	// Each request leaves out one more question, but at most kit.MaxLost.
	many := translate.EndedPause{Pause: agui.Pause{ID: "p"}, Failed: true}
	for n := range kit.MaxLost + 2 {
		many.Interrupts = append(many.Interrupts, agui.Interrupt{Native: "v1:" + strings.Repeat("m", n+1)})
	}
	sent := 0
	for got = after(many); got.Result.Next != nil; sent++ {
		got = play(t, got.Result.Next.Run, &dialecttest.Log{}, stream, unknown(gjson.GetBytes(got.Result.Next.Out.Body, "prompt.0.interruptResponse.interruptId").Str))
	}
	if sent != kit.MaxLost+1 || got.types() != "RUN_ERROR(STRANDS_INTERRUPT_LOST)" {
		t.Errorf("%d requests, then %s", sent, got.types())
	}
	if res, err := ask().End(translate.End{Status: 500, Body: []byte(`{"error":"no interrupt found"}`)}); err != nil || res.Finish.Get("code").Str != string(strandsapi.CodeInterruptLost) {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := ask().End(translate.End{Status: 404, Body: []byte(`Not Found`)}); err != nil || res.Finish.Type != agui.Unknown {
		t.Errorf("%+v %v", res, err)
	}
	busy := play(t, ask(), &dialecttest.Log{}, stream, frames(`{"error": "Agent is already processing a request.", "error_type": "ConcurrencyException"}`))
	if busy.types() != "RUN_ERROR(STRANDS_ERROR)" {
		t.Errorf("%s", busy.types())
	}
}

// TestCallsThatTheClientHasAreNotShownAgain: when Holdpoint asks an agent for its questions, the
// agent repeats calls. Holdpoint must not show the calls again that the client already has.
func TestCallsThatTheClientHasAreNotShownAgain(t *testing.T) {
	d := newDialect(t, Server{})
	in := input(t, "")
	for _, known := range []bool{true, false} {
		l := &dialecttest.Log{}
		if known {
			l.AddCalls(agui.Call{ID: "c1", Name: "pay"})
		}
		_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l})
		if err != nil {
			t.Fatal(err)
		}
		res, err := run.End(translate.End{Status: 500, Body: []byte(`{"error":"prompt_type=<class 'str'> | must resume from interrupt with list of interruptResponse's"}`)})
		if err != nil || res.Next == nil {
			t.Fatal(res, err)
		}
		got := play(t, res.Next.Run, l, "application/json", `{"result":{"role":"assistant","content":[{"text":"Hi."},{"toolUse":{"toolUseId":"c1","name":"pay","input":{"n": 1}}}]}}`)
		want := "RUN_ERROR(STRANDS_INTERRUPT_LOST)"
		if !known {
			want = said + " " + called + " " + want
		}
		if got.types() != want {
			t.Errorf("known %v: %s", known, got.types())
		}
	}
}

// TestNewMessages: the client sends new messages together with the answers. The new messages must
// be sent after the resume.
func TestNewMessages(t *testing.T) {
	d := newDialect(t, Server{})
	p := pyPause(t, d)
	message := func(s string) agui.Message { return agui.ParseMessage([]byte(s)) }
	after := func(t *testing.T, answer string, fresh ...agui.Message) played {
		l := &dialecttest.Log{}
		_, run, err := resume(t, d, p, l, func(r *translate.Request) { r.NewMessages = fresh }, dialecttest.Entry(p.Interrupts[0].ID, `true`))
		if err != nil {
			t.Fatal(err)
		}
		return play(t, run, l, stream, answer)
	}
	one, two := message(`{"id":"u2","role":"user","content":"And b?"}`), message(`{"id":"u3","role":"user","content":[{"type":"text","text":"And c?"}]}`)
	got := after(t, frames(paid, hi, closed, endTurn, endsWell), one, message(`{"id":"s","role":"system","content":"x"}`), two)
	if next := got.Result.Next; next == nil || string(next.Out.Body) != `{"prompt":"And b?\n\nAnd c?"}` || !next.Out.TakesNew || next.Out.Resumes {
		t.Fatalf("%+v", got.Result)
	}
	if last := play(t, got.Result.Next.Run, &dialecttest.Log{}, stream, frames(hi, closed, endsWell)); last.Result.Next != nil || last.types() != said+" RUN_FINISHED" {
		t.Errorf("%s", last.types())
	}
	if got := after(t, frames(asksPay, endsAsk), one); got.Result.Next != nil || len(got.Result.Asked.Interrupts) != 1 {
		t.Errorf("it paused again: %+v", got.Result)
	}
	picture := message(`{"id":"u4","role":"user","content":[{"type":"image","source":{}}]}`)
	if got := after(t, frames(paid, endsWell), picture); got.Result.Next != nil || got.Result.Finish.Get("metadata.holdpoint.code").Str != string(agui.MessagesNotTaken) {
		t.Errorf("a picture: %s", got.Result.Finish.JSON)
	}
}

// TestIDs: two runs have the same run id, but different messages, or one of them is a resume. Their
// message ids must differ.
func TestIDs(t *testing.T) {
	d := newDialect(t, Server{})
	p := pyPause(t, d)
	in := input(t, "")
	first := newIDs(&translate.Request{Input: in, ClientMessages: in.Messages}).next()
	again := newIDs(&translate.Request{Input: in, ClientMessages: in.Messages}).next()
	resumed := newIDs(&translate.Request{Input: in, ClientMessages: in.Messages, Pause: p}).next()
	later := newIDs(&translate.Request{Input: in, ClientMessages: append(in.Messages, agui.Message{ID: "u2"})}).next()
	if first != again || first == resumed || first == later || resumed == later {
		t.Errorf("%s %s %s %s", first, again, resumed, later)
	}
}

func TestDialect(t *testing.T) {
	d := newDialect(t, Server{})
	if d.Name() != Name {
		t.Error("it is always named")
	}
	var _ translate.Foreign = d
	if _, err := New(Options{Server{Body: `{}`}}, nil); err == nil {
		t.Error("a body without a prompt")
	}
	warned := ""
	if _, err := New(Options{Server{Rules: rules(t, `{"name":"*","answers":"bool"}`)}}, func(msg string, _ ...any) { warned = msg }); err != nil || !strings.Contains(warned, "1.19.0") {
		t.Errorf("%v %q", err, warned)
	}
	p := pyPause(t, d)
	two := p
	two.Interrupts = append(slices.Clone(p.Interrupts), p.Interrupts[0])
	yes := []agui.Answer{{ID: p.Interrupts[0].ID, Status: agui.Resolved, Payload: []byte("true")}}
	for name, r := range map[string]translate.Request{
		"no answers": {Pause: p}, "too few": {Pause: two, Answers: yes}, "too many": {Pause: p, Answers: append(slices.Clone(yes), yes...)},
		"nothing to answer": {Pause: agui.Pause{ID: "p"}},
	} {
		r.Input = input(t, "")
		if _, _, err := d.Begin(&r); err == nil || !strings.HasPrefix(err.Error(), string(agui.StoreUnavailable)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
