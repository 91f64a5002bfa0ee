package draft

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

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	errored  = `{"type":"RUN_ERROR","message":"m","code":"X"}`
	approval = `{"functionName":"get_weather","functionArguments":{"location":"Seattle"}}`
)

// ended is a RUN_FINISHED with more members.
func ended(more string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1",` + more + `}`
}

// v1 is an end with one interrupt.
func v1(interrupt string) string { return ended(`"outcome":"interrupt","interrupt":` + interrupt) }

// call is a tool call of the run.
func call(id, name, args string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + string(agui.MustMarshal(args)) + `}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

func result(id string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"r-` + id + `","toolCallId":"` + id + `","content":"done"}`
}

// A log is a transcript that is good enough for tests.
type log struct {
	calls    []agui.Call
	messages []json.RawMessage
	unknown  bool
}

func (l *log) Calls() []agui.Call                  { return slices.Clone(l.calls) }
func (l *log) Messages() ([]json.RawMessage, bool) { return l.messages, !l.unknown }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }

// logOf is the transcript that a run with these messages begins with.
func logOf(messages ...agui.Message) *log {
	l := &log{}
	for _, m := range messages {
		l.messages = append(l.messages, m.JSON)
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			l.calls = append(l.calls, agui.Call{ID: c.Get("id").Str, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Str, Parent: m.ID, Ended: true})
		}
		if m.Role == "tool" {
			l.answer(m.ToolCallID)
		}
	}
	return l
}

func (l *log) answer(id string) {
	for i := range l.calls {
		l.calls[i].Answered = l.calls[i].Answered || l.calls[i].ID == id
	}
}

func (l *log) add(ev agui.Event) {
	id := ev.Get("toolCallId").Str
	switch ev.Type {
	case agui.CallStart:
		l.calls = append(l.calls, agui.Call{ID: id, Name: ev.Get("toolCallName").Str, Parent: ev.Get("parentMessageId").Str, Fresh: true})
	case agui.CallArgs:
		for i := range l.calls {
			if l.calls[i].ID == id {
				l.calls[i].Args += ev.Get("delta").Str
			}
		}
	case agui.CallResult:
		l.answer(id)
		l.messages = append(l.messages, json.RawMessage(toolMessage(ev.Get("messageId").Str, id, ev.Get("content").Str)))
	}
}

// play gives a stream to a run; the last event ends it if it is terminal.
func play(t testing.TB, run translate.Run, l *log, stream ...string) translate.Result {
	t.Helper()
	end := translate.End{}
	for _, s := range stream {
		ev := agui.Event{Type: agui.PeekType([]byte(s)), JSON: []byte(s), Frame: []byte("data: " + s + "\n\n")}
		if ev.Type.Terminal() {
			end.Event = ev
			break
		}
		emitted := 0
		err := run.Event(ev, func(got agui.Event) {
			l.add(got)
			if got.Frame == nil && got.Type == agui.CallResult {
				return // an answer, told as a result
			}
			emitted++
			if got.Edited || string(got.Frame) != string(ev.Frame) {
				t.Fatalf("touched: %s", got.JSON)
			}
		})
		if err != nil || emitted != 1 {
			t.Fatalf("%s: emitted %d times, %v", s, emitted, err)
		}
	}
	res, err := run.End(end)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func newDialect(t testing.TB, o Options) *Dialect {
	t.Helper()
	d, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plain plays a stream to a run without answers, for a client that is shown the outcome.
func plain(t testing.TB, stream ...string) translate.Result {
	t.Helper()
	return plainFor(t, &translate.Request{Input: input(t, "")}, stream...)
}

func plainFor(t testing.TB, r *translate.Request, stream ...string) translate.Result {
	t.Helper()
	l := logOf(r.Input.Messages...)
	r.Transcript = l
	_, run, err := newDialect(t, Options{}).Begin(r)
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, l, stream...)
}

// pausedBy is the pause that a stream ends in, with ids as proxy mints them: <native>~r1, ~r2, ...
func pausedBy(t testing.TB, stream ...string) agui.Pause {
	t.Helper()
	p := plain(t, stream...).Asked.Pause(Name)
	if len(p.Interrupts) == 0 {
		t.Fatalf("no pause: %s", stream)
	}
	return minted(p)
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

const head = `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[`

// input is a run without messages and with more members.
func input(t testing.TB, more string) agui.RunInput { t.Helper(); return inputWith(t, "", more) }

func inputWith(t testing.TB, messages, more string) agui.RunInput {
	t.Helper()
	body := head + messages + `]`
	if more != "" {
		body += "," + more
	}
	in, ok, err := agui.ParseInput([]byte(body + "}"))
	if !ok || err != nil {
		t.Fatalf("%v %v: %s", ok, err, body)
	}
	return in
}

// resume answers a pause as proxy would: what is unknown or partial never reaches Begin.
func resume(t testing.TB, d *Dialect, p agui.Pause, in agui.RunInput, edit func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	answers, err := dialecttest.Answers(d, in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	r := &translate.Request{Input: in, Pause: p, Transcript: logOf(in.Messages...)}
	for _, a := range answers {
		if p.Interrupt(a.ID) == nil {
			return translate.Out{}, nil, agui.Errorf(agui.UnknownInterruptID, "%q", a.ID)
		}
		r.Input.Messages = slices.DeleteFunc(slices.Clone(r.Input.Messages), func(m agui.Message) bool { return agui.See(m) == a.Message })
	}
	if len(r.Input.Messages) < len(in.Messages) {
		r.Input = in.WithMessages(r.Input.Messages)
	}
	for _, i := range p.Interrupts {
		at := slices.IndexFunc(answers, func(a agui.Answer) bool { return a.ID == i.ID })
		if at < 0 {
			return translate.Out{}, nil, agui.Errorf(agui.PartialResume, "%q", i.ID)
		}
		r.Answers = append(r.Answers, answers[at])
	}
	if edit != nil {
		edit(r)
	}
	return d.Begin(r)
}

func entryOf(id, payload string) string {
	if payload == "" {
		return `{"interruptId":"` + id + `","status":"cancelled"}`
	}
	return `{"interruptId":"` + id + `","status":"resolved","payload":` + payload + `}`
}

func resumeArray(entries ...string) string { return `"resume":[` + strings.Join(entries, ",") + `]` }

func command(value string) string { return `"forwardedProps":{"command":{"resume":` + value + `}}` }

func toolMessage(id, callID, content string) string {
	return `{"id":"` + id + `","role":"tool","toolCallId":"` + callID + `","content":` + string(agui.MustMarshal(content)) + `}`
}

func assistant(id string, callIDs ...string) string {
	var calls []string
	for _, c := range callIDs {
		calls = append(calls, `{"id":"`+c+`","type":"function","function":{"name":"pando_permission_request","arguments":"{}"}}`)
	}
	return `{"id":"` + id + `","role":"assistant","toolCalls":[` + strings.Join(calls, ",") + `]}`
}

func user(id string) string { return `{"id":"` + id + `","role":"user","content":"` + id + `"}` }

func code(err error) agui.Code {
	var e *agui.RunError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
