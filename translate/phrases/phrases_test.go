package phrases

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A log is what the client was shown: the messages of the request, then what a test adds.
type log struct {
	messages []json.RawMessage
	calls    []agui.Call
	unknown  bool
}

func (l *log) Calls() []agui.Call                  { return slices.Clone(l.calls) }
func (l *log) Messages() ([]json.RawMessage, bool) { return slices.Clone(l.messages), !l.unknown }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }

func logOf(messages string, calls ...agui.Call) *log {
	l := &log{calls: calls}
	for _, m := range gjson.Parse("[" + messages + "]").Array() {
		l.messages = append(l.messages, json.RawMessage(m.Raw))
	}
	return l
}

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	var list List
	if err := list.UnmarshalText([]byte("default; Soll ich ")); err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Ask: list}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func input(t testing.TB, messages, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[` + messages + `]`
	if more != "" {
		body += "," + more
	}
	in, ok, err := agui.ParseInput([]byte(body + "}"))
	if !ok || err != nil {
		t.Fatalf("no run input (%v, %v): %s", ok, err, body)
	}
	return in
}

func say(id, role, content string) string {
	return `{"id":"` + id + `","role":"` + role + `","content":` + quoted(content) + `}`
}

var (
	asks  = say("u1", "user", "Delete it.")
	asked = say("a1", "assistant", "I would delete 3 files. Shall I proceed?")
	yes   = say("confirm-a1~x", "user", yesDefault)
	no    = say("confirm-a1~x", "user", noDefault)
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	success  = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"success"},"result":7}`
)

func event(s string) agui.Event { return agui.NewEvent([]byte(s)) }

func pause() agui.Pause {
	return agui.Pause{
		ID: "0123456789abcdef0123456789abcdef", Dialect: Name,
		Interrupts: []agui.Interrupt{{ID: "a1~x", Native: "a1", Object: json.RawMessage(`{"id":"a1~x","reason":"confirmation","responseSchema":` + kit.ApprovalSchema + `}`)}},
		Messages:   json.RawMessage("[" + asks + "," + asked + "]"), Seen: []agui.SeenMessage{{ID: "u1"}, {ID: "a1"}},
	}
}

func resume(payload string) string {
	if payload == "" {
		return `"resume":[{"interruptId":"a1~x","status":"cancelled","payload":{"approved":true}}]`
	}
	return `"resume":[{"interruptId":"a1~x","status":"resolved","payload":` + payload + `}]`
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		more, want string // what is said, or the code
	}{
		"approved":             {resume(`{"approved":true}`), yesDefault},
		"denied":               {resume(`{"approved":false}`), noDefault},
		"a bare true":          {resume(`true`), yesDefault},
		"a bare false":         {resume(`false`), noDefault},
		"cancelled":            {resume(""), noDefault},
		"in command.resume":    {`"forwardedProps":{"command":{"resume":true}}`, yesDefault},
		"a no there":           {`"forwardedProps":{"command":{"resume":{"approved":false}}}`, noDefault},
		"a yes and a no":       {resume(`{"approved":true,"Approved":false}`), "INVALID_PAYLOAD"},
		"a word":               {resume(`{"approved":"yes"}`), "INVALID_PAYLOAD"},
		"an empty object":      {resume(`{}`), "INVALID_PAYLOAD"},
		"no payload, resolved": {`"resume":[{"interruptId":"a1~x","status":"resolved"}]`, "INVALID_PAYLOAD"},
	} {
		t.Run(name, func(t *testing.T) {
			d, in := newDialect(t), input(t, asks+","+asked, c.more)
			answers, err := d.Answers(in, pause())
			if err != nil || len(answers) != 1 || answers[0].ID != "a1~x" {
				t.Fatalf("%+v %v", answers, err)
			}
			out, _, err := d.Begin(&translate.Request{Input: in, Came: in.Messages, Transcript: logOf(asks + "," + asked), Pause: pause(), Answers: answers})
			if err != nil {
				if code(err) != agui.Code(c.want) {
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

func code(err error) agui.Code {
	var e *agui.RunError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// told is a conversation in short.
func told(list gjson.Result) string {
	var ids []string
	for _, m := range list.Array() {
		ids = append(ids, m.Get("id").Str)
	}
	return strings.Join(ids, " ")
}

func TestTheAnswerStandsBehindTheQuestion(t *testing.T) {
	later := say("u2", "user", "And b.")
	d, in := newDialect(t), input(t, asks+","+asked+","+later, resume("true"))
	r := &translate.Request{
		Input: in, Came: in.Messages, Transcript: logOf(asks + "," + asked + "," + later), Pause: pause(),
		Answers: []agui.Answer{{ID: "a1~x", Status: agui.Resolved, Payload: json.RawMessage(`{"approved":true}`)}}, New: in.Messages[2:],
	}
	begin := func(r *translate.Request) (string, []agui.Event) {
		out, run, err := d.Begin(r)
		if err != nil {
			t.Fatal(err)
		}
		var shown []agui.Event
		for _, s := range []string{started, `{"type":"TEXT_MESSAGE_START","messageId":"a2"}`} {
			if err := run.Event(event(s), func(ev agui.Event) { shown = append(shown, ev) }); err != nil {
				t.Fatal(err)
			}
		}
		return told(gjson.GetBytes(out.Body, "messages")), shown
	}
	sent, shown := begin(r)
	if sent != "u1 a1 confirm-a1~x" || len(shown) != 3 || shown[1].Type != agui.MessagesSnapshot || told(shown[1].Get("messages")) != "u1 a1 confirm-a1~x u2" {
		t.Errorf("sent %s, shown %v", sent, shown)
	}
	fewer := r
	fewer.Input = input(t, "", resume("true"))
	fewer.Came, fewer.New, fewer.Transcript = nil, nil, logOf(asks+","+asked)
	if sent, shown := begin(fewer); sent != "u1 a1 confirm-a1~x" || len(shown) != 3 {
		t.Errorf("of a client that sends no messages: %s, %v", sent, shown)
	}
	for name, change := range map[string]func(*translate.Request){
		"not all is known":      func(r *translate.Request) { r.Transcript = &log{unknown: true} },
		"two have one id":       func(r *translate.Request) { r.Transcript = logOf(asks + "," + asked + "," + asked) },
		"one has no id":         func(r *translate.Request) { r.Transcript = logOf(asks + "," + asked + `,{"role":"user"}`) },
		"the native form shown": func(r *translate.Request) { r.Show = translate.ShowNative },
	} {
		r := r
		change(r)
		if _, shown := begin(r); len(shown) != 2 {
			t.Errorf("%s: shown %v", name, shown)
		}
	}
}

// A "yes" that was typed while the question was open, and refused, comes beside every answer from
// then on. The backend must have replied to the answer before it reads it.
func TestWhatIsSaidBesideTheAnswer(t *testing.T) {
	typed, reply := say("u2", "user", "yes"), say("a2", "assistant", "I left it.")
	instruction := say("s2", "system", "Be brief.")
	for name, c := range map[string]struct {
		beside       string
		shown        *log
		end          string
		first, next  string
		left, paused bool
	}{
		"words":                       {typed, logOf(asks + "," + asked + "," + no + "," + typed + "," + reply), finished, "u1 a1 confirm-a1~x", "u1 a1 confirm-a1~x a2 u2", false, false},
		"the client was not told":     {typed, logOf(asks + "," + asked + "," + typed + "," + reply), finished, "u1 a1 confirm-a1~x", "u1 a1 confirm-a1~x a2 u2", false, false},
		"an instruction":              {instruction, logOf(asks + "," + asked + "," + no + "," + instruction + "," + reply), finished, "u1 a1 s2 confirm-a1~x", "", false, false},
		"not all is known":            {typed, &log{unknown: true}, finished, "u1 a1 confirm-a1~x", "", true, false},
		"a call waits for the client": {typed, logOf(asks+","+asked+","+no+","+typed+","+reply, agui.Call{ID: "c", Fresh: true}), finished, "u1 a1 confirm-a1~x", "", true, false},
		"the run was cancelled":       {typed, logOf(asks + "," + asked + "," + no), `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"cancelled"}}`, "u1 a1 confirm-a1~x", "", true, false},
		"the reply is a question":     {typed, logOf(asks + "," + asked + "," + no + "," + typed + "," + say("a2", "assistant", "Are you sure?")), finished, "u1 a1 confirm-a1~x", "", false, true},
		"the run failed":              {typed, logOf(asks + "," + asked + "," + no), `{"type":"RUN_ERROR","message":"x"}`, "u1 a1 confirm-a1~x", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, in := newDialect(t), input(t, asks+","+asked+","+c.beside, resume("false"))
			r := &translate.Request{
				Input: in, Came: in.Messages, Transcript: c.shown, Pause: pause(),
				Answers: []agui.Answer{{ID: "a1~x", Status: agui.Cancelled}}, New: in.Messages[2:],
			}
			out, run, err := d.Begin(r)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(gjson.GetBytes(out.Body, "messages")); got != c.first || out.TakesNew != (c.beside == instruction) {
				t.Errorf("sent %s, takes new %v", got, out.TakesNew)
			}
			res, err := run.End(translate.End{Event: event(c.end)})
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
	_, run, err := d.Begin(&translate.Request{Input: in, Came: in.Messages, Transcript: logOf(asks)})
	if err != nil {
		t.Fatal(err)
	}
	ev, n := event(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"shall I proceed?"}`), 0
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
