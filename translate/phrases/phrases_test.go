package phrases

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		more, want string // the text that is sent, or the code of the refusal
	}{
		"approved":             {resume(`{"approved":true}`), yesDefault},
		"denied":               {resume(`{"approved":false}`), noDefault},
		"a bare true":          {resume(`true`), yesDefault},
		"a bare false":         {resume(`false`), noDefault},
		"cancelled":            {resume(""), noDefault},
		"in command.resume":    {dialecttest.Command(`true`), yesDefault},
		"a no there":           {dialecttest.Command(`{"approved":false}`), noDefault},
		"a no with edits":      {resume(`{"approved":false,"editedArgs":{"n":1}}`), noDefault},
		"a yes and a no":       {resume(`{"approved":true,"Approved":false}`), "INVALID_PAYLOAD"},
		"a word":               {resume(`{"approved":"yes"}`), "INVALID_PAYLOAD"},
		"an empty object":      {resume(`{}`), "INVALID_PAYLOAD"},
		"no payload, resolved": {dialecttest.ResumeArray(`{"interruptId":"a1~x","status":"resolved"}`), "INVALID_PAYLOAD"},
	} {
		t.Run(name, func(t *testing.T) {
			d, in, p := newDialect(t), input(t, asks+","+asked, c.more), pause(t)
			answers, err := d.Answers(in, p)
			if err != nil || len(answers) != 1 || answers[0].ID != "a1~x" {
				t.Fatalf("%+v %v", answers, err)
			}
			out, _, err := dialecttest.ResumeWith(d, p, in, answers, logOf(asks+","+asked))
			if err != nil {
				if dialecttest.Code(err) != agui.Code(c.want) {
					t.Error(err)
				}
				return
			}
			body := gjson.ParseBytes(out.Body)
			last := body.Get("messages.2")
			if last.Get("content").Str != c.want || last.Get("role").Str != "user" || last.Get("id").Str != "confirm-a1~x" || len(body.Get("messages").Array()) != 3 || !out.Resumes {
				t.Errorf("%s", out.Body)
			}
			if body.Get("resume").Exists() || body.Get("forwardedProps.command").Exists() {
				t.Errorf("the answer goes in two forms: %s", out.Body)
			}
		})
	}
}

func TestAnswerFollowsTheQuestion(t *testing.T) {
	later := say("u2", "user", "And b.")
	d, in := newDialect(t), input(t, asks+","+asked+","+later, resume("true"))
	l := logOf(asks + "," + asked + "," + later)
	r := translate.Request{
		Input: in, ClientMessages: in.Messages, Pause: pause(t),
		Answers: []agui.Answer{{ID: "a1~x", Status: agui.Resolved, Payload: json.RawMessage(`{"approved":true}`)}}, NewMessages: in.Messages[2:],
	}
	begin := func(r translate.Request, l *dialecttest.Log) (string, []agui.Event) {
		r.Transcript = l
		out, run, err := d.Begin(&r)
		if err != nil {
			t.Fatal(err)
		}
		p := dialecttest.Play(run, l, started, `{"type":"TEXT_MESSAGE_START","messageId":"a2"}`)
		if p.Err != nil {
			t.Fatal(p.Err)
		}
		return told(gjson.GetBytes(out.Body, "messages")), p.Emitted
	}
	sent, shown := begin(r, l)
	if sent != "u1 a1 confirm-a1~x" || len(shown) != 3 || shown[1].Type != agui.MessagesSnapshot || told(shown[1].Get("messages")) != "u1 a1 confirm-a1~x u2" {
		t.Errorf("sent %s, shown %v", sent, shown)
	}
	fewer := r
	fewer.Input = input(t, "", resume("true"))
	fewer.ClientMessages, fewer.NewMessages = nil, nil
	if sent, shown := begin(fewer, logOf(asks+","+asked)); sent != "u1 a1 confirm-a1~x" || len(shown) != 3 {
		t.Errorf("of a client that sends no messages: %s, %v", sent, shown)
	}
	native := r
	native.Show = translate.ShowNative
	for name, c := range map[string]struct {
		r translate.Request
		l *dialecttest.Log
	}{
		"not all is known":      {r, &dialecttest.Log{Unknown: true}},
		"two have one id":       {r, logOf(asks + "," + asked + "," + asked)},
		"one has no id":         {r, logOf(asks + "," + asked + `,{"role":"user"}`)},
		"the native form shown": {native, logOf(asks + "," + asked + "," + later)},
	} {
		if _, shown := begin(c.r, c.l); len(shown) != 2 {
			t.Errorf("%s: shown %v", name, shown)
		}
	}
}

// TestClientsResultGoesWithTheAnswer: the client sends the result of its own call together with the
// answer. The result must follow its call and precede the answer.
func TestClientsResultGoesWithTheAnswer(t *testing.T) {
	call := `{"id":"a0","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"pick","arguments":"{}"}}]}`
	red, typed := `{"id":"t1","role":"tool","toolCallId":"c","content":"red"}`, say("u2", "user", "yes")
	for beside, want := range map[string]string{red: "u1 a0 t1 a1 confirm-a1~x", typed + "," + red: "u1 a0 t1 a1 confirm-a1~x", typed: "u1 a0 a1 confirm-a1~x"} {
		in := input(t, say("u1", "user", "go")+","+call+","+asked+","+beside, `"tools":[{"name":"pick"}],`+resume("false"))
		r := &translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{Unknown: true}, Pause: pause(t), Answers: []agui.Answer{{ID: "a1~x", Status: agui.Cancelled}}, NewMessages: in.Messages[3:]}
		out, _, err := newDialect(t).Begin(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := told(gjson.GetBytes(out.Body, "messages")); got != want || out.TakesNew != strings.Contains(beside, "red") {
			t.Errorf("sent %s, want %s, takes new %v", got, want, out.TakesNew)
		}
	}
}

// TestBackendWithSessions: the backend stores the conversation. It must get only the answer and the
// new results, whatever the client sends. The other new messages must be sent alone, after the
// answer.
func TestBackendWithSessions(t *testing.T) {
	call := `{"id":"a0","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"pick","arguments":"{}"}}]}`
	red, typed, instruction := `{"id":"t1","role":"tool","toolCallId":"c","content":"red"}`, say("u2", "user", "yes"), say("s2", "system", "Be brief.")
	d, p := newDialect(t), pause(t)
	p.SeenMessages = logOf(asks + "," + call + "," + asked).SeenMessages()
	for _, before := range []string{"", asks + "," + call + "," + asked + ","} {
		for beside, want := range map[string][2]string{
			"":                {"confirm-a1~x", ""},
			red:               {"t1 confirm-a1~x", ""},
			typed:             {"confirm-a1~x", "u2"},
			typed + "," + red: {"t1 confirm-a1~x", "u2"},
			instruction:       {"s2 confirm-a1~x", ""},
		} {
			in := input(t, strings.TrimSuffix(before+beside, ","), `"tools":[{"name":"pick"}],`+resume("false"))
			l := logOf(asks + "," + call + "," + asked)
			fresh := agui.NewMessages(in.Messages, p.SeenMessages)
			r := &translate.Request{
				Input: in.WithMessages(fresh), ClientMessages: in.Messages, Sessions: true, Transcript: l, Pause: p, Answers: []agui.Answer{{ID: "a1~x", Status: agui.Cancelled}}, NewMessages: fresh,
			}
			out, run, err := d.Begin(r)
			if err != nil {
				t.Fatal(err)
			}
			played := dialecttest.Play(run, l, started, finished)
			next := ""
			if played.Result.Next != nil {
				next = told(gjson.GetBytes(played.Result.Next.Out.Body, "messages"))
			}
			if got := told(gjson.GetBytes(out.Body, "messages")); got != want[0] || next != want[1] {
				t.Errorf("%s beside %q: sent %q, then %q, want %q", before, beside, got, next, want)
			}
		}
	}
}

// TestNewMessagesWithTheAnswer: a person typed "yes" while the question was open, and the message
// was refused. The client sends it again with every answer. The backend must reply to the answer
// before it reads this message.
func TestNewMessagesWithTheAnswer(t *testing.T) {
	typed, reply := say("u2", "user", "yes"), say("a2", "assistant", "I left it.")
	instruction := say("s2", "system", "Be brief.")
	for name, c := range map[string]struct {
		beside       string
		shown        *dialecttest.Log
		end          string
		first, next  string
		left, paused bool
	}{
		"words":                       {typed, logOf(asks + "," + asked + "," + no + "," + typed + "," + reply), finished, "u1 a1 confirm-a1~x", "u1 a1 confirm-a1~x a2 u2", false, false},
		"the client was not told":     {typed, logOf(asks + "," + asked + "," + typed + "," + reply), finished, "u1 a1 confirm-a1~x", "u1 a1 confirm-a1~x a2 u2", false, false},
		"an instruction":              {instruction, logOf(asks + "," + asked + "," + no + "," + instruction + "," + reply), finished, "u1 a1 s2 confirm-a1~x", "", false, false},
		"not all is known":            {typed, &dialecttest.Log{Unknown: true}, finished, "u1 a1 confirm-a1~x", "", true, false},
		"a call waits for the client": {typed, logOf(asks+","+asked+","+no+","+typed+","+reply, agui.Call{ID: "c", StreamedInRun: true}), finished, "u1 a1 confirm-a1~x", "", true, false},
		"the run was cancelled":       {typed, logOf(asks + "," + asked + "," + no), `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"cancelled"}}`, "u1 a1 confirm-a1~x", "", true, false},
		"the reply is a question":     {typed, logOf(asks + "," + asked + "," + no + "," + typed + "," + say("a2", "assistant", "Are you sure?")), finished, "u1 a1 confirm-a1~x", "", false, true},
		"the run failed":              {typed, logOf(asks + "," + asked + "," + no), `{"type":"RUN_ERROR","message":"x"}`, "u1 a1 confirm-a1~x", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, in := newDialect(t), input(t, asks+","+asked+","+c.beside, resume("false"))
			r := &translate.Request{
				Input: in, ClientMessages: in.Messages, Transcript: c.shown, Pause: pause(t),
				Answers: []agui.Answer{{ID: "a1~x", Status: agui.Cancelled}}, NewMessages: in.Messages[2:],
			}
			out, run, err := d.Begin(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(gjson.GetBytes(out.Body, "messages")); got != c.first || out.TakesNew != (c.beside == instruction) {
				t.Errorf("sent %s, takes new %v", got, out.TakesNew)
			}
			res, err := run.End(translate.End{Event: dialecttest.Event(c.end)})
			next := ""
			if res.Next != nil {
				next = told(gjson.GetBytes(res.Next.Out.Body, "messages"))
			}
			left := res.Finish.Get("metadata.holdpoint.code").Str == "MESSAGES_NOT_TAKEN"
			if err != nil || next != c.next || left != c.left || (len(res.Asked.Interrupts) > 0) != c.paused || res.Next != nil && (!res.Next.Out.TakesNew || res.Next.Out.Resumes) {
				t.Errorf("next %q, left %v, %+v (%v)", next, left, res, err)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	list := List{"may i"}
	for _, o := range []Options{
		{Ask: list, Yes: "?"}, {Ask: list, Yes: "Mach es", No: "mach  ES!"}, {Ask: list, Yes: "go", No: "no, do not go on"},
	} {
		if _, err := New(o, nil); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := New(Options{Ask: list, Yes: "Ja.", No: "Nein, lass es."}, nil); err != nil {
		t.Error(err)
	}
	var l List
	if err := l.UnmarshalText([]byte(" default ;; Darf ICH ")); err != nil || len(l) != 13 || l[12] != "darf ich" || l[0] != "please confirm" {
		t.Errorf("%q %v", l, err)
	}
	for _, wrong := range []string{";", "ok;a"} {
		if err := l.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}

func TestPassingEventsDoNotAllocate(t *testing.T) {
	in := input(t, asks, "")
	d := newDialect(t)
	_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: logOf(asks)})
	if err != nil {
		t.Fatal(err)
	}
	ev, n := dialecttest.Event(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"shall I proceed?"}`), 0
	emit := func(agui.Event) { n++ }
	allocs := testing.AllocsPerRun(1000, func() {
		if d.Sign(ev, &translate.Request{}) || run.Event(ev, emit) != nil {
			t.Fatal("not passed")
		}
	})
	if allocs != 0 || n == 0 {
		t.Errorf("%v allocations, %d events", allocs, n)
	}
}
