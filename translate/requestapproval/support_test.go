package requestapproval

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// A log is a transcript that is good enough for tests: calls with their messages, as a client makes
// them.
type log struct {
	calls    []agui.Call
	messages []json.RawMessage
}

func (l *log) Calls() []agui.Call                  { return l.calls }
func (l *log) Messages() ([]json.RawMessage, bool) { return l.messages, l.messages != nil }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }

func (l *log) add(ev agui.Event) {
	id := ev.Get("toolCallId").Str
	at := slices.IndexFunc(l.calls, func(c agui.Call) bool { return c.ID == id })
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		if at < 0 && id != "" {
			c := agui.Call{ID: id, Name: ev.Get("toolCallName").Str, Parent: ev.Get("parentMessageId").Str, Args: ev.Get("delta").Str}
			if c.Parent == "" {
				c.Parent = id
			}
			l.calls = append(l.calls, c)
		}
	case agui.CallArgs:
		if at >= 0 {
			l.calls[at].Args += ev.Get("delta").Str
		}
	}
}

// A played is what a stream came to.
type played struct {
	emitted []agui.Event
	result  translate.Result
	err     error
}

// types is what was emitted, in short: the last word of a type, and what it is of.
func (p played) types() string {
	var list []string
	for _, ev := range append(slices.Clone(p.emitted), p.result.Before...) {
		kind := string(ev.Type)
		kind = kind[strings.LastIndex(kind, "_")+1:]
		for _, key := range []string{"toolCallId", "messageId"} {
			if id := ev.Get(key).Str; id != "" {
				kind += ":" + id
				break
			}
		}
		list = append(list, kind)
	}
	return strings.Join(list, " ")
}

func (p played) find(t *testing.T, kind agui.Type, call string) agui.Event {
	t.Helper()
	for _, ev := range append(slices.Clone(p.emitted), p.result.Before...) {
		if ev.Type == kind && ev.Get("toolCallId").Str == call {
			return ev
		}
	}
	t.Fatalf("no %s of %s in %s", kind, call, p.types())
	return agui.Event{}
}

// play gives a stream to a run. The last event ends it if it is terminal; else the stream ends
// without one.
func play(run translate.Run, l *log, stream ...string) played {
	var p played
	end := translate.End{}
	for _, s := range stream {
		ev := agui.Event{Type: agui.PeekType([]byte(s)), JSON: []byte(s), Frame: []byte("data: " + s + "\n\n")}
		if ev.Type.Terminal() {
			end.Event = ev
			break
		}
		p.err = run.Event(ev, func(ev agui.Event) {
			ev = ev.Clone()
			p.emitted = append(p.emitted, ev)
			l.add(ev)
		})
		copy(ev.JSON, strings.Repeat("x", len(ev.JSON))) // it is valid during the call only
		if p.err != nil {
			break
		}
	}
	var err error
	p.result, err = run.End(end)
	p.err = errors.Join(p.err, err)
	return p
}

// playPlain is a run without answers; more are further members of its input.
func playPlain(t testing.TB, show translate.Show, more string, stream ...string) played {
	t.Helper()
	l := &log{}
	in := input(t, more)
	_, run, err := new(Dialect).Begin(&translate.Request{Input: in, Came: in.Messages, Show: show, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return play(run, l, stream...)
}

// pausedBy is the pause of a plain run with the stream, with ids as proxy mints them: <native>~r1,
// ~r2...
func pausedBy(t testing.TB, stream ...string) agui.Pause {
	t.Helper()
	p := playPlain(t, translate.ShowOutcome, "", stream...)
	if len(p.result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p)
	}
	return minted(p.result.Asked.Pause(Name))
}

func minted(p agui.Pause) agui.Pause {
	p.ID = "0123456789abcdef0123456789abcdef"
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		i.ID = fmt.Sprintf("%s~r%d", i.Native, n+1)
		i.Object = agui.SetString(i.Object, "id", i.ID)
	}
	return p
}

const hello = `{"id":"u1","role":"user","content":"hi"}`

// input is a run input; more are further members of its object.
func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1"`
	if more != "" {
		body += "," + more
	}
	if !strings.Contains(more, `"messages":`) {
		body += `,"messages":[` + hello + `]`
	}
	return parse(t, body+"}")
}

func parse(t testing.TB, body string) agui.RunInput {
	t.Helper()
	if !json.Valid([]byte(body)) {
		t.Fatalf("not JSON: %s", body)
	}
	in, ok, err := agui.ParseInput([]byte(body))
	if !ok || err != nil {
		t.Fatalf("no run input (%v, %v): %s", ok, err, body)
	}
	return in
}

// resumeWith takes an input through Answers, what proxy does of admission, and Begin.
func resumeWith(t testing.TB, p agui.Pause, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	answers, err := new(Dialect).Answers(in, p)
	if err == nil && len(answers) == 0 { // what stands beside entries is proxy's to judge
		answers, err = dialecttest.Answers(new(Dialect), in, p)
	}
	if err != nil {
		return translate.Out{}, nil, err
	}
	var ordered []agui.Answer
	for _, i := range p.Interrupts {
		at := slices.IndexFunc(answers, func(a agui.Answer) bool { return a.ID == i.ID })
		if at < 0 {
			return translate.Out{}, nil, agui.Errorf(agui.PartialResume, "%q", i.ID)
		}
		ordered = append(ordered, answers[at])
	}
	for _, a := range answers {
		if p.Interrupt(a.ID) == nil {
			return translate.Out{}, nil, agui.Errorf(agui.UnknownInterruptID, "%q", a.ID)
		}
	}
	r := &translate.Request{Input: in, Came: in.Messages, Transcript: &log{}, Pause: p, Answers: ordered}
	for _, c := range change {
		c(r)
	}
	out, run, err := new(Dialect).Begin(r)
	if err == nil && !json.Valid(out.Body) {
		t.Fatalf("body is not JSON: %s", out.Body)
	}
	return out, run, err
}

// sent is the conversation of a request in short: who, what is said, the calls with their
// arguments' names.
func sent(body []byte) string {
	var list []string
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		one := m.Get("role").Str
		if s := m.Get("content").Str; s != "" {
			one += " " + s
		}
		for _, c := range m.Get("toolCalls").Array() {
			one += " (" + c.Get("id").Str + " " + c.Get("function.name").Str + " " + c.Get("function.arguments").Str + ")"
		}
		if id := m.Get("toolCallId").Str; id != "" {
			one += " @" + id
		}
		list = append(list, one)
	}
	return strings.Join(list, "\n")
}

func code(err error) agui.Code {
	var e *agui.RunError
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return agui.Code("other: " + err.Error())
	}
	return ""
}

func quoted(s string) string { return string(agui.MustMarshal(s)) }

// What the samples stream (layout B's ids).
const (
	started   = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	succeeded = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"success"}}`
	finished  = `{"threadId":"t1","runId":"r1","result":null,"type":"RUN_FINISHED"}`
	failed    = `{"message":"kaput","code":"StreamingError","type":"RUN_ERROR"}`

	argsA = `{"request":{"approval_id":"ficc_a","function_name":"Approve","function_arguments":{"n": 1.0, "s":"\u0027"},"message":"Approve it?"}}`
	argsB = `{"request":{"approval_id":"ficc_b","function_name":"Delete","function_arguments":null}}`
)

func start(id string) string {
	return `{"type":"TOOL_CALL_START","parentMessageId":"","toolCallId":` + quoted(id) + `,"toolCallName":"request_approval","rawEvent":{"x":null}}`
}

func args(id, delta string) string {
	return `{"type":"TOOL_CALL_ARGS","toolCallId":` + quoted(id) + `,"delta":` + quoted(delta) + `,"rawEvent":{"x":null}}`
}

func end(id string) string {
	return `{"type":"TOOL_CALL_END","toolCallId":` + quoted(id) + `,"rawEvent":{"x":null}}`
}

func trio(id, delta string) []string { return []string{start(id), args(id, delta), end(id)} }

// stream is RUN_STARTED and the parts, each an event or several.
func stream(parts ...any) []string {
	list := []string{started}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			list = append(list, p)
		case []string:
			list = append(list, p...)
		}
	}
	return list
}

// message with a call, and a tool message.
func assistant(id, call, name, arguments string) string {
	return `{"id":` + quoted(id) + `,"role":"assistant","toolCalls":[` + string(toolCall(call, name, arguments)) + `]}`
}

func tool(id, call, content string) string {
	return `{"id":` + quoted(id) + `,"role":"tool","toolCallId":` + quoted(call) + `,"content":` + quoted(content) + `}`
}

func messages(list ...string) string { return `"messages":[` + strings.Join(list, ",") + `]` }

func entry(id, payload string) string {
	if payload == "" {
		return `{"interruptId":"` + id + `","status":"cancelled"}`
	}
	return `{"interruptId":"` + id + `","status":"resolved","payload":` + payload + `}`
}

func resume(entries ...string) string { return `"resume":[` + strings.Join(entries, ",") + `]` }
