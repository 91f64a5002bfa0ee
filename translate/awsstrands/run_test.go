package awsstrands

import (
	"slices"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// TestErrorOfAResume checks what a RUN_ERROR in a resume means: the question is lost, or nothing
// was done. If other events of the run come before an adapter's error, the error must mean neither.
func TestErrorOfAResume(t *testing.T) {
	for name, c := range map[string]struct {
		stream        []string
		lost, nothing bool
	}{
		"TypeScript, not known":            {[]string{started, failed("UNKNOWN_INTERRUPT")}, true, false},
		"Python, not known":                {[]string{started, failed("UNKNOWN_INTERRUPT_ID")}, true, false},
		"Python, not open":                 {[]string{started, failed("INTERRUPT_RESUME_ERROR")}, true, false},
		"expired there":                    {[]string{started, failed("INTERRUPT_EXPIRED")}, true, false},
		"not known, after something":       {[]string{started, spoken, failed("UNKNOWN_INTERRUPT")}, false, false},
		"lost, says a Holdpoint":           {[]string{started, spoken, failed("BACKEND_LOST_INTERRUPT")}, true, false},
		"not all of them":                  {[]string{started, failed("PARTIAL_RESUME")}, false, true},
		"does not fit":                     {[]string{started, failed("INVALID_PAYLOAD")}, false, true},
		"busy":                             {[]string{started, failed("THREAD_BUSY")}, false, true},
		"busy, after something":            {[]string{started, resultOf("A"), failed("THREAD_BUSY")}, false, false},
		"no session":                       {[]string{started, failed("INTERRUPT_SESSION_REQUIRED")}, false, true},
		"results that do not fit together": {[]string{started, state, failed("INTERRUPT_RECONCILIATION_ERROR")}, false, true},
		"the hook failed":                  {[]string{started, state, failed("STRANDS_FORCE_STOP")}, false, false},
		"an error of the SDK":              {[]string{started, state, failed("ADAPTER_BUG")}, false, false},
		"no code":                          {[]string{started, `{"type":"RUN_ERROR","message":"m"}`}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := ask(t, tsHook)
			_, run, err := resume(t, dialect(t, ""), p, parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, `true`))))
			if err != nil {
				t.Fatal(err)
			}
			res := play(t, run, &dialecttest.Log{}, c.stream...)
			if (res.Fate == translate.Lost) != c.lost || (res.Fate == translate.Untouched) != c.nothing || (res.Finish.Type == "") != c.lost || res.Next != nil {
				t.Errorf("%+v", res)
			}
		})
	}
	t.Run("of a run without answers", func(t *testing.T) {
		for _, c := range []string{"PENDING_INTERRUPTS", "UNKNOWN_INTERRUPT_ID", "THREAD_BUSY"} {
			_, run, _ := dialect(t, "").Begin(&translate.Request{Input: parse(t, ``), Transcript: &dialecttest.Log{}})
			if res := play(t, run, &dialecttest.Log{}, started, failed(c)); res.Fate == translate.Lost || res.Fate == translate.Untouched || string(res.Finish.JSON) != failed(c) {
				t.Errorf("%+v", res)
			}
		}
	})
}

// TestSuccessThatMayBeNone: a hook may fail when it gets the answer, and other calls of the turn
// may have run. ag_ui_strands 0.3.0 reports success nevertheless. If the stream shows no effect,
// the answer must be in doubt.
func TestSuccessThatMayBeNone(t *testing.T) {
	for name, c := range map[string]struct {
		asked  string
		stream []string
		doubt  bool
	}{
		"nothing came":              {pyHook, []string{started, state, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`, state, success}, true},
		"nothing came to the gate":  {pyGate, []string{started, success}, true},
		"a result came":             {pyHook, []string{started, state, resultOf("A"), state, success}, false},
		"text came":                 {pyHook, []string{started, state, spoken, state, success}, false},
		"it asks again":             {pyHook, []string{started, state, state, outcome(pyTool)}, false},
		"an error":                  {pyHook, []string{started, state, failed("X")}, false},
		"TypeScript tells an error": {tsHook, []string{started, state, finished}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := ask(t, c.asked)
			_, run, err := resume(t, dialect(t, ""), p, parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, `{"approved":true}`))))
			if err != nil {
				t.Fatal(err)
			}
			if res := play(t, run, &dialecttest.Log{}, c.stream...); (res.Fate == translate.InDoubt) != c.doubt || c.doubt != (res.Finish.Type == "") {
				t.Errorf("%+v", res)
			}
		})
	}
}

// TestNewMessagesSentWithTheAnswers: a request has new messages together with answers. Holdpoint
// must send the new messages after the resume, behind all messages that the client then has.
func TestNewMessagesSentWithTheAnswers(t *testing.T) {
	p := ask(t, tsHook)
	in := parse(t, `"messages":[{"id":"u1","role":"user","content":"one"},{"id":"m1","role":"assistant","toolCalls":[`+toolCall("A")+`]},{"id":"u2","role":"user","content":"two"}],`+
		dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, `true`)))
	_, run, err := resume(t, dialect(t, ""), p, in)
	if err != nil {
		t.Fatal(err)
	}
	res := play(t, run, &dialecttest.Log{}, started, resultOf("A"), finished)
	if res.Next == nil || res.Next.Out.Resumes || !res.Next.Out.TakesNew {
		t.Fatalf("%+v", res)
	}
	body := gjson.ParseBytes(res.Next.Out.Body)
	// The transcript of this test has no result of call A. So call A is left out, because the
	// backend would run it again.
	if got := body.Get("messages.#.id").Raw; got != `["u1","u2"]` || body.Get("resume").Exists() || body.Get("protocolVersion").Exists() {
		t.Errorf("%s", body.Raw)
	}
	if again := play(t, res.Next.Run, &dialecttest.Log{}, started, finished); again.Next != nil {
		t.Errorf("%+v", again)
	}
	t.Run("it asks again", func(t *testing.T) {
		_, run, err := resume(t, dialect(t, ""), p, in)
		if err != nil {
			t.Fatal(err)
		}
		if res := play(t, run, &dialecttest.Log{}, started, outcome(tsAll)); res.Next != nil || len(res.Asked.Interrupts) != 1 {
			t.Errorf("%+v", res)
		}
	})
}

// TestPlainRun: a run without answers must be sent unchanged.
func TestPlainRun(t *testing.T) {
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t1","runId":"r1","messages":[{"id":"m1","role":"assistant","toolCalls":[` + toolCall("A") + `]}],"x":1.0}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, ended := range [][]translate.EndedPause{nil, {{Pause: agui.Pause{Dialect: "agui", Private: []byte(`{"held":["A"]}`)}}}, {{Pause: ask(t, tsAll)}}} {
		if len(ended) == 1 && ended[0].Dialect == Name {
			in = in.WithMessages(nil) // as if the client sends no calls of the ended pause
		}
		out, run, err := dialect(t, "").Begin(&translate.Request{Input: in, EndedPauses: ended, Transcript: dialecttest.NewLog(in.Messages)})
		if err != nil || out.Body != nil || out.Resumes || out.ReadOn {
			t.Errorf("%+v %v", out, err)
		}
		for _, end := range []string{finished, success, failed("X"), `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[]}}`} {
			if res := play(t, run, &dialecttest.Log{}, started, spoken, end); string(res.Finish.JSON) != end || res.Finish.Edited || len(res.Asked.Interrupts) > 0 {
				t.Errorf("%+v", res)
			}
		}
	}
	out, _, err := dialect(t, "").Begin(&translate.Request{Input: parse(t, `"messages":[]`)})
	if err != nil || string(out.Body) != `{"threadId":"t1","runId":"r1","messages":[]}` {
		t.Errorf("%s %v", out.Body, err)
	}
}

// TestCallsOfEndedPauses: if a call of an ended pause has no result, it must be removed from the
// history, because Python's adapter would run it again.
func TestCallsOfEndedPauses(t *testing.T) {
	ended := ask(t, tsHook) // has the calls A, which the question is about, and B
	message := func(id string, calls ...string) string {
		list := ""
		for n, c := range calls {
			list += map[bool]string{true: ","}[n > 0] + toolCall(c)
		}
		return `{"id":"` + id + `","role":"assistant","content":"","toolCalls":[` + list + `]}`
	}
	const tool, user = `{"id":"t-A","role":"tool","toolCallId":"A","content":"x"}`, `{"id":"u2","role":"user","content":"two"}`
	for name, c := range map[string]struct{ messages, want string }{
		"both without a result":     {message("m1", "A", "B") + "," + user, user},
		"one of them":               {message("m1", "A", "B") + "," + tool + "," + user, message("m1", "A") + "," + tool + "," + user},
		"nothing behind them":       {message("m1", "A"), ``},
		"a call of another message": {message("m1", "C") + "," + user, message("m1", "C") + "," + user},
		"beside another call":       {message("m1", "A", "C") + "," + user, message("m1", "C") + "," + user},
	} {
		t.Run(name, func(t *testing.T) {
			in := parse(t, `"messages":[`+c.messages+`]`)
			out, _, err := dialect(t, "").Begin(&translate.Request{Input: in, EndedPauses: []translate.EndedPause{{Pause: ended}}, Transcript: dialecttest.NewLog(in.Messages)})
			sent := gjson.GetBytes(out.Body, "messages").Raw
			if err != nil || sent != "["+c.want+"]" {
				t.Fatalf("%v\ngot  %s\nwant [%s]", err, sent, c.want)
			}
			lacks := len(sent) < len(`[`+c.messages+`]`)
			if got := len(out.WithheldMessages) > 0; got != lacks {
				t.Errorf("withheld %v, want %v", got, lacks)
			}
		})
	}
	t.Run("of a resume: not those of its own pause", func(t *testing.T) {
		open := ask(t, `{"id":"hook:beforeToolCall:A:again","reason":"confirmation","metadata":{"strandsName":"again"}}`)
		open.Private, open.Messages = []byte(`{"held":["A"]}`), nil
		in := parse(t, `"messages":[`+message("m0", "B")+","+user+","+message("m1", "A")+`],`+dialecttest.ResumeArray(entryOf(open.Interrupts[0].ID, `true`)))
		open.SeenMessages = nil
		open.Messages = agui.MessageList(in.Messages)
		out, _, err := resume(t, dialect(t, ""), open, in, translate.EndedPause{Pause: ended})
		if got := gjson.GetBytes(out.Body, "messages").Raw; err != nil || got != "["+user+","+message("m1", "A")+"]" {
			t.Errorf("%v %s", err, got)
		}
	})
}

// TestLostInterruptIsLogged: if a run asks, ag_ui_strands up to 0.2.5 ends it like any other run.
// The dialect must log such a run.
func TestLostInterruptIsLogged(t *testing.T) {
	const mine = `"tools":[{"name":"mine"}]`
	t.Run("a resume of what was told", func(t *testing.T) {
		d, err := New(Options{}, func(msg string, _ ...any) { t.Error(msg) })
		if err != nil {
			t.Fatal(err)
		}
		p := ask(t, tsAll)
		in := parse(t, dialecttest.ResumeArray(entryOf(p.Interrupts[0].ID, `false`)))
		l := dialecttest.NewLog(in.Messages)
		_, run, _ := d.Begin(&translate.Request{Input: in, Pause: p, Answers: []agui.Answer{{ID: p.Interrupts[0].ID, Status: agui.Cancelled}}, Transcript: l})
		play(t, run, l, append(callOf("C", "free"), state, finished)...)
	})
	for name, c := range map[string]struct {
		more   string
		stream []string
		warns  bool
	}{
		"a call of the backend without a result": {``, append(callOf("A", "delete_files"), state, finished), true},
		"one of two":                             {``, slices.Concat(callOf("A", "free"), []string{resultOf("A")}, callOf("B", "delete_files"), []string{state, finished}), true},
		"it has a result":                        {``, append(callOf("A", "free"), resultOf("A"), state, finished), false},
		"an outcome":                             {``, append(callOf("A", "delete_files"), state, success), false},
		"another integration's end":              {``, append(callOf("A", "delete_files"), finished), false},
		"a tool of the client":                   {mine, append(callOf("A", "mine"), state, finished), false},
		"beside a tool of the client":            {mine, slices.Concat(callOf("A", "delete_files"), callOf("B", "mine"), []string{state, finished}), false},
		"a call of the history":                  {`"messages":[{"id":"m1","role":"assistant","toolCalls":[` + toolCall("A") + `]}]`, append(callOf("A", "f"), state, finished), false},
		"the thread that was lost":               {``, []string{started, `{"type":"RUN_ERROR","message":"prompt_type=<class 'NoneType'> | must resume from interrupt with list of interruptResponse's","code":"STRANDS_ERROR"}`}, true},
		"another error":                          {``, []string{started, failed("STRANDS_ERROR")}, false},
		"no call":                                {``, []string{started, state, finished}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			d, err := New(Options{}, func(msg string, _ ...any) { said = append(said, msg) })
			if err != nil {
				t.Fatal(err)
			}
			in := parse(t, c.more)
			for range 2 {
				l := dialecttest.NewLog(in.Messages)
				_, run, _ := d.Begin(&translate.Request{Input: in, Transcript: l})
				if res := play(t, run, l, c.stream...); string(res.Finish.JSON) != c.stream[len(c.stream)-1] || len(res.Asked.Interrupts) > 0 {
					t.Fatalf("%+v", res)
				}
			}
			if want := map[bool]int{true: 1}[c.warns]; len(said) != want {
				t.Errorf("said %q", said)
			}
		})
	}
}
