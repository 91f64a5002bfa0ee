package langgraph

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

// resumed returns a run that answers all questions of the pause p with the payload. It also returns
// the log of the events that the client gets.
func resumed(t *testing.T, d *Dialect, p agui.Pause, payload string, change ...func(*translate.Request)) (translate.Run, *dialecttest.Log) {
	t.Helper()
	var entries []string
	for _, i := range p.Interrupts {
		entries = append(entries, dialecttest.Entry(i.ID, payload))
	}
	l := dialecttest.NewLog([]agui.Message{agui.ParseMessage([]byte(`{"id":"u1","role":"user","content":"hi"}`))})
	_, run, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(entries...)), append(change, func(r *translate.Request) { r.Transcript = l })...)
	if err != nil {
		t.Fatal(err)
	}
	return run, l
}

// TestLostInterrupt checks how a stream shows that the backend has lost the thread (section 6.3 of
// the LangGraph reference: "a lost or wrong threadId looks like a restart"). "RAN" means that the
// case was run against the real version.
func TestLostInterrupt(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, custom(idA, approval), finished)
	startStep := `{"type":"STEP_STARTED","stepName":"__start__"}`
	text := `{"type":"TEXT_MESSAGE_START","messageId":"m"}`
	for name, c := range map[string]struct {
		stream  []string
		emitted string
		lost    bool
		early   bool
	}{
		// RAN Python 0.0.42 and 0.0.43: the backend does not know the thread, and the graph starts
		// with a conditional edge.
		"Python begins anew: ended before it does anything": {[]string{started, startStep, text, custom(idB, approval), finished}, "RUN_STARTED", true, true},
		// RAN Python 0.0.42 and 0.0.43: the thread has no open question.
		"snapshots alone: nothing took the answer": {[]string{started, state, state, messages, finished}, "RUN_STARTED STATE_SNAPSHOT STATE_SNAPSHOT MESSAGES_SNAPSHOT", true, false},
		"an ordinary resume":                       {[]string{started, stepAsk, state, stepEnd, state, messages, finished}, "", false, false},
		"a step of a subgraph's start later on":    {[]string{started, stepAsk, startStep, stepEnd, state, messages, finished}, "", false, false},
		"no snapshots: not such an adapter":        {[]string{started, finished}, "", false, false},
		"something was streamed":                   {[]string{started, state, messages, text, finished}, "", false, false},
		"a repeat without snapshots (3.4)":         {[]string{started, custom(idA, approval), finished}, "", false, false},
		"an error says for itself":                 {[]string{started, state, messages, failed}, "", false, false},
		"a cut is not known to be lost":            {[]string{started, state, messages}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			run, l := resumed(t, d, p, "true")
			got := dialecttest.Play(run, l, c.stream...)
			if (got.Result.Fate == translate.Lost) != c.lost || (dialecttest.Code(got.Err) == agui.BackendLostInterrupt) != c.early {
				t.Fatalf("%+v", got)
			}
			if c.emitted != "" && got.Types() != c.emitted {
				t.Errorf("emitted %s", got.Types())
			}
			if c.lost && (got.Result.Finish.Type != "" || len(got.Result.Asked.Interrupts) > 0) {
				t.Errorf("%+v", got.Result)
			}
		})
	}
	t.Run("a client that chose its streamMode gets no steps", func(t *testing.T) {
		in := input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", "true"))+`,"forwardedProps":{"streamMode":["values"]}`)
		_, run, err := resumeWith(t, d, p, in)
		if got := dialecttest.Play(run, &dialecttest.Log{}, started, state, messages, finished); err != nil || got.Result.Fate == translate.Lost {
			t.Errorf("%+v %v", got, err)
		}
	})
	t.Run("a graph that begins anew without __start__ is known by its snapshot", func(t *testing.T) {
		step := func(name string) string { return `{"type":"STEP_STARTED","stepName":"` + name + `"}` }
		p := pausedBy(t, d, started, step("model"), step("review"), custom(idA, approval), finished)
		p.SeenMessages = []agui.SeenMessage{{ID: "u1", Digest: "said"}, {ID: "a1"}}
		without, with := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a1","role":"assistant"}]}`, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user"}]}`
		for name, c := range map[string]struct {
			stream []string
			lost   bool
		}{
			// RAN Python 0.0.42 and 0.0.43: a graph of create_agent after a restart of the backend.
			"the first step, and nothing that the person said":           {[]string{started, step("model"), text, without, finished}, true},
			"the first step, but the conversation is there":              {[]string{started, step("model"), text, with, finished}, false},
			"the step that asked, and a graph that forgets its messages": {[]string{started, step("review"), text, without, finished}, false},
			"a snapshot before the first step, as subgraphs send":        {[]string{started, without, step("review"), with, finished}, false},
		} {
			run, l := resumed(t, d, p, "true")
			got := dialecttest.Play(run, l, c.stream...)
			if (got.Result.Fate == translate.Lost) != c.lost || got.Err != nil {
				t.Errorf("%s: %+v", name, got)
			}
			if c.lost && strings.Contains(got.Types(), "MESSAGES_SNAPSHOT") {
				t.Errorf("%s: the snapshot would delete the conversation", name)
			}
		}
	})
	t.Run("the first step of a resumed run that asks again is the paused one's", func(t *testing.T) {
		step := func(name string) string { return `{"type":"STEP_STARTED","stepName":"` + name + `"}` }
		p := pausedBy(t, d, started, step("model"), step("review"), custom(idA, approval), finished)
		run, l := resumed(t, d, p, "true")
		again := dialecttest.Play(run, l, started, step("review"), custom(idB, approval), finished)
		if kept := keptOf(again.Result.Asked.Pause(Name)); kept.First != "model" || !again.Result.Asked.KeepsFirstAnswer {
			t.Errorf("%+v", kept)
		}
	})
	t.Run("a plain run may begin and end as it likes", func(t *testing.T) {
		for _, stream := range [][]string{{started, startStep, finished}, {started, state, messages, finished}} {
			if got := playPlain(t, d, stream...); got.Result.Fate == translate.Lost || got.Err != nil {
				t.Errorf("%+v", got)
			}
		}
	})
}

// TestPauseAfterAResume: a resumed run asks a question with the native id of the answered question.
// The question must be a new pause, whether its value is the same as before or not (LangGraph
// reference, sections 3.4 and 4).
func TestPauseAfterAResume(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, custom(idA, `{"step":1}`), finished)
	for name, c := range map[string]struct {
		stream []string
		again  bool // whether askAgain sends another request
	}{
		"same id, another value":                  {[]string{started, stepAsk, custom(idA, `{"step":2}`), stepEnd, state, messages, finished}, false},
		"same id, same value, 0.0.43":             {[]string{started, stepAsk, stepEnd, state, messages, custom(idA, `{"step":1}`), finished}, false},
		"same id, same value, outcome":            {[]string{started, stepAsk, custom(idA, `{"step":1}`), stepEnd, state, messages, withOutcome(adapters(idA, `{"step":1}`, ""))}, false},
		"same id, same value, nothing executed":   {[]string{started, custom(idA, `{"step":1}`), finished}, false},
		"another one beside it":                   {[]string{started, stepAsk, custom(idA, `{"step":1}`), custom(idB, `{}`), stepEnd, state, messages, finished}, false},
		"same id, same value, 0.0.42 (A of A, B)": {[]string{started, stepAsk, custom(idA, `{"step":1}`), state, messages, stepEnd, finished}, true},
	} {
		t.Run(name, func(t *testing.T) {
			run, l := resumed(t, d, p, "true")
			got := dialecttest.Play(run, l, c.stream...)
			if got.Err != nil || got.Result.Fate == translate.Lost || (got.Result.Next != nil) != c.again {
				t.Fatalf("%+v", got)
			}
			if !c.again && len(got.Result.Asked.Interrupts) == 0 {
				t.Errorf("no pause: %+v", got.Result)
			}
		})
	}
}

// TestQuestionThatTheGraphRanTo: the question has no id, and an equal question was asked before.
// Only if the run shows steps, FirstAsked must report that this run itself asked the question.
func TestQuestionThatTheGraphRanTo(t *testing.T) {
	d := newDialect(t, Options{})
	bare := custom("", `"Delete everything?"`)
	ran := []string{started, stepAsk, state, messages, stepEnd, bare, finished}
	for name, c := range map[string]struct {
		stream []string
		first  bool
	}{
		"the graph ran":             {ran, true},
		"the adapter tells it only": {[]string{started, bare, finished}, false},
		"no step is shown":          {[]string{started, state, messages, bare, finished}, false},
		"the graph ran, with ids":   {[]string{started, stepAsk, state, messages, stepEnd, custom(idA, `"Delete everything?"`), finished}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := playPlain(t, d, c.stream...).Result.Asked; got.FirstAsked != c.first || !got.KeepsFirstAnswer || len(got.Interrupts) != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("a resumed run may replay what it had", func(t *testing.T) {
		run, l := resumed(t, d, pausedBy(t, d, ran...), "true")
		if got := dialecttest.Play(run, l, ran...).Result.Asked; got.FirstAsked || len(got.Interrupts) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestAskedOnceMore: of two parallel questions, Python's adapter up to 0.0.42 sends the second only
// in a run without an answer. So such a run must follow the answer to the first (section 3.4 and
// fact 9 of the LangGraph reference; run against 0.0.42).
func TestAskedOnceMore(t *testing.T) {
	d := newDialect(t, Options{})
	a := custom(idA, `{"action":"A"}`)
	p := pausedBy(t, d, started, stepAsk, a, state, messages, stepEnd, finished)
	stale := []string{started, stepAsk, a, state, messages, stepEnd, finished}
	ask := func(t *testing.T, change ...func(*translate.Request)) *translate.Exchange {
		run, l := resumed(t, d, p, "true", change...)
		got := dialecttest.Play(run, l, stale...)
		if got.Result.Next == nil {
			t.Fatalf("%+v", got)
		}
		return got.Result.Next
	}
	t.Run("without an answer, with all messages", func(t *testing.T) {
		u2 := agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"and"}`))
		next := ask(t, func(r *translate.Request) { r.NewMessages = []agui.Message{u2} })
		want := `{"threadId":"t1","runId":"r1","state":{},"messages":[{"id":"u1","role":"user","content":"hi"}],"tools":[],"context":[]}`
		if string(next.Out.Body) != want || next.Out.Resumes || next.Out.TakesNew {
			t.Errorf("%+v %s", next.Out, next.Out.Body)
		}
	})
	t.Run("the other is asked then, and the one that was answered is not", func(t *testing.T) {
		got := dialecttest.Play(ask(t).Run, &dialecttest.Log{}, started, a, custom(idB, `{"action":"B"}`), finished)
		list := got.Result.Asked.Interrupts
		if len(list) != 1 || list[0].Native != idB || len(got.Result.Asked.NativeEvents) != 1 || got.Result.Next != nil {
			t.Errorf("%+v", got.Result)
		}
	})
	t.Run("the same again is the new pause", func(t *testing.T) {
		got := dialecttest.Play(ask(t).Run, &dialecttest.Log{}, started, a, finished)
		if len(got.Result.Asked.Interrupts) != 1 || got.Result.Next != nil {
			t.Errorf("%+v", got.Result)
		}
	})
	for name, stream := range map[string][]string{"a cut": {started}, "an error": {started, failed}, "no answer": {}} {
		t.Run(name+" leaves the question as it was", func(t *testing.T) {
			got := dialecttest.Play(ask(t).Run, &dialecttest.Log{}, stream...)
			if len(got.Result.Asked.Interrupts) != 1 || got.Result.Asked.Interrupts[0].Native != idA || got.Result.Finish.Type != agui.RunFinished {
				t.Errorf("%+v", got.Result)
			}
		})
	}
	t.Run("not where the messages are not known", func(t *testing.T) {
		run, l := resumed(t, d, p, "true")
		l.Unknown = true
		if got := dialecttest.Play(run, l, stale...); got.Result.Next != nil || len(got.Result.Asked.Interrupts) != 1 {
			t.Errorf("%+v", got.Result)
		}
	})
}

// TestNewMessages: the client sends new messages together with the answers. The new messages must
// be sent in a second run, and only after the resume has ended without a pause.
func TestNewMessages(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, custom(idA, approval), finished)
	u2 := `{"id":"u2","role":"user","content":"and"}`
	body := `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"hi"},` + u2 + `],"forwardedProps":{"k":1,"command":{"resume":{"a":1},"interruptEvent":` + dialecttest.Quoted(approval) + `,"x":2}}}`
	begin := func(t *testing.T, l *dialecttest.Log) translate.Run {
		out, run, err := resumeWith(t, d, p, dialecttest.Input(t, body), func(r *translate.Request) {
			r.NewMessages, r.Transcript = []agui.Message{agui.ParseMessage([]byte(u2))}, l
		})
		if err != nil || strings.Contains(string(out.Body), "u2") {
			t.Fatalf("%s %v", out.Body, err)
		}
		return run
	}
	done := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"a9","role":"assistant","content":"done"}]}`
	t.Run("after an ordinary end", func(t *testing.T) {
		l := &dialecttest.Log{}
		got := dialecttest.Play(begin(t, l), l, started, stepAsk, stepEnd, state, done, finished)
		if got.Result.Next == nil || string(got.Result.Finish.JSON) != finished {
			t.Fatalf("%+v", got.Result)
		}
		want := `{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"a9","role":"assistant","content":"done"},` + u2 + `],"forwardedProps":{"k":1,"command":{"x":2}}}`
		if out := got.Result.Next.Out; string(out.Body) != want || out.Resumes || !out.TakesNew {
			t.Errorf("%+v %s", out, out.Body)
		}
		second := dialecttest.Play(got.Result.Next.Run, &dialecttest.Log{}, started, custom(idB, `"Next?"`), finished)
		if len(second.Result.Asked.Interrupts) != 1 || second.Result.Next != nil {
			t.Errorf("%+v", second.Result)
		}
	})
	t.Run("the client's messages where the transcript's are not known", func(t *testing.T) {
		l := &dialecttest.Log{Unknown: true}
		got := dialecttest.Play(begin(t, l), l, started, stepAsk, finished)
		if got.Result.Next == nil || len(gjson.GetBytes(got.Result.Next.Out.Body, "messages").Array()) != 2 {
			t.Errorf("%+v", got.Result)
		}
	})
	t.Run("not after another pause", func(t *testing.T) {
		l := &dialecttest.Log{}
		got := dialecttest.Play(begin(t, l), l, started, stepAsk, custom(idB, `"Next?"`), finished)
		if got.Result.Next != nil || len(got.Result.Asked.Interrupts) != 1 {
			t.Errorf("%+v", got.Result)
		}
	})
	t.Run("not after an error", func(t *testing.T) {
		l := &dialecttest.Log{}
		if got := dialecttest.Play(begin(t, l), l, started, stepAsk, failed); got.Result.Next != nil || got.Result.Finish.Type != agui.RunErrored {
			t.Errorf("%+v", got.Result)
		}
	})
	t.Run("not where the answer was lost", func(t *testing.T) {
		l := &dialecttest.Log{}
		if got := dialecttest.Play(begin(t, l), l, started, state, done, finished); got.Result.Next != nil || got.Result.Fate != translate.Lost {
			t.Errorf("%+v", got.Result)
		}
	})
}

// TestStatus: the backend answers with a status other than 2xx. The dialect must add nothing,
// because the proxy forwards the answer (section 8.4 of the LangGraph reference: a 422 in
// text/plain).
func TestStatus(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, custom(idA, approval), finished)
	run, _ := resumed(t, d, p, "true")
	res, err := run.End(translate.End{Status: 422, Body: []byte("Thread is already running a task...")})
	if err != nil || res.Fate == translate.Lost || res.Finish.Type != "" || len(res.Asked.Interrupts) > 0 || res.Next != nil {
		t.Errorf("%+v %v", res, err)
	}
}

func TestOptions(t *testing.T) {
	var j kit.JSON
	if err := j.UnmarshalText([]byte("{")); err == nil {
		t.Error("half a JSON text was taken")
	}
	if err := j.UnmarshalText([]byte(`{"a": 1}`)); err != nil || j.String() != `{"a": 1}` {
		t.Errorf("%s %v", j, err)
	}
	if d := newDialect(t, Options{}); d.Name() != "langgraph" || string(d.cancel) != "false" {
		t.Errorf("%+v", d)
	}
}
