package awsstrands

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
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	state    = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	success  = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"success"}}`
	spoken   = `{"type":"TEXT_MESSAGE_START","messageId":"m"}`
	hash     = "75a96266-45d2-581c-8a6f-043e472e1763"
	pyID     = "v1:before_tool_call:A:" + hash
	tsID     = "hook:beforeToolCall:A:myapp-approval"
)

// The interrupts of the adapters, as recorded but for the ids.
const (
	tsHook = `{"id":"` + tsID + `","reason":"confirmation","message":"{\"paths\":[\"a\"]}","metadata":{"strandsName":"myapp-approval"}}`
	tsTool = `{"id":"tool:A:ask_user","reason":"Which env?","message":"Which env?","metadata":{"strandsName":"ask_user"}}`
	tsAll  = `{"id":"hook:beforeTools:myapp-batch","reason":"confirmation","metadata":{"strandsName":"myapp-batch"}}`
	pyHook = `{"id":"` + pyID + `","reason":"myapp-approval","metadata":{"reason":{"paths":["a"]}}}`
	pyTool = `{"id":"v1:tool_call:A:` + hash + `","reason":"ask_user","metadata":{"reason":"Which env?"}}`
	pyGate = `{"id":"` + pyID + `","reason":"tool_call","message":"Approve call to delete_files?","toolCallId":"A","responseSchema":` + kit.ApprovalSchema +
		`,"metadata":{"tool_name":"delete_files","tool_input":{"paths":["a"]}}}`
)

func outcome(interrupts ...string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + strings.Join(interrupts, ",") + `]},"usage":[1]}`
}

func failed(code string) string { return `{"type":"RUN_ERROR","message":"m","code":"` + code + `"}` }

func callOf(id, name string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"{}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

func resultOf(id string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"r-` + id + `","toolCallId":"` + id + `","content":"done"}`
}

// A log is a transcript that is good enough for tests.
type log struct {
	calls    []agui.Call
	messages []json.RawMessage
}

func (l *log) Calls() []agui.Call                  { return slices.Clone(l.calls) }
func (l *log) Messages() ([]json.RawMessage, bool) { return l.messages, true }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }

func (l *log) add(ev agui.Event) {
	id := ev.Get("toolCallId").Str
	at := slices.IndexFunc(l.calls, func(c agui.Call) bool { return c.ID == id })
	switch {
	case ev.Type == agui.CallStart:
		l.calls = append(l.calls, agui.Call{ID: id, Name: ev.Get("toolCallName").Str})
	case at >= 0 && ev.Type == agui.CallEnd:
		l.calls[at].Ended = true
	case at >= 0 && ev.Type == agui.CallResult:
		l.calls[at].Answered = true
	}
}

// logOf is the transcript of a run that begins with the input's messages.
func logOf(in agui.RunInput) *log {
	l := &log{}
	for _, m := range in.Messages {
		l.messages = append(l.messages, m.JSON)
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			l.calls = append(l.calls, agui.Call{ID: c.Get("id").Str, Name: c.Get("function.name").Str, Ended: true})
		}
		if m.Role == "tool" {
			l.add(agui.NewEvent([]byte(resultOf(m.ToolCallID))))
		}
	}
	return l
}

func parse(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","protocolVersion":"1.0"`
	if more != "" {
		body += "," + more
	}
	in, ok, err := agui.ParseInput([]byte(body + "}"))
	if !ok || err != nil {
		t.Fatalf("%v %v: %s", ok, err, body)
	}
	return in
}

func dialect(t testing.TB, rules string) *Dialect {
	t.Helper()
	var o Options
	if rules != "" {
		var err error
		if o.Rules, err = strandsapi.ParseRules([]byte(`{"interrupts":[` + rules + `]}`)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// play gives a stream to a run. Nothing of it may be touched but the terminal event.
func play(t testing.TB, run translate.Run, l *log, stream ...string) translate.Result {
	t.Helper()
	end := translate.End{}
	for _, s := range stream {
		ev := agui.Event{Type: agui.PeekType([]byte(s)), JSON: []byte(s), Frame: []byte(s)}
		if ev.Type.Terminal() {
			end.Event = ev
			break
		}
		emitted := 0
		if err := run.Event(ev, func(got agui.Event) {
			emitted++
			l.add(got)
			if got.Edited || string(got.Frame) != s {
				t.Fatalf("touched: %s", got.JSON)
			}
		}); err != nil || emitted != 1 {
			t.Fatalf("%s: emitted %d times, %v", s, emitted, err)
		}
	}
	res, err := run.End(end)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ask plays a run that ends so, with the calls A of delete_files and B of list_files.
func ask(t testing.TB, interrupts ...string) agui.Pause {
	t.Helper()
	in := parse(t, `"messages":[{"id":"u1","role":"user","content":"one"}]`)
	l := logOf(in)
	_, run, err := dialect(t, "").Begin(&translate.Request{Input: in, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	stream := slices.Concat([]string{started, state}, callOf("A", "delete_files"), callOf("B", "list_files"), []string{state, outcome(interrupts...)})
	p := play(t, run, l, stream...).Asked.Pause(Name)
	p.ID = "0123456789abcdef0123456789abcdef"
	for n := range p.Interrupts { // as proxy does
		i := &p.Interrupts[n]
		i.ID = fmt.Sprintf("%s~r%d", i.Native, n+1)
		i.Object = agui.SetString(i.Object, "id", i.ID)
	}
	p.Messages = json.RawMessage(`[{"id":"u1","role":"user","content":"one"},{"id":"m1","role":"assistant","toolCalls":[` + toolCall("A") + "," + toolCall("B") + `]}]`)
	return p
}

func toolCall(id string) string {
	return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}`
}

func entryOf(id, payload string) string {
	e := `{"interruptId":` + string(agui.MustMarshal(id)) + `,"status":`
	switch payload {
	case "":
		return e + `"resolved"}`
	case "cancelled":
		return e + `"cancelled"}`
	}
	return e + `"resolved","payload":` + payload + `}`
}

func array(entries ...string) string { return `"resume":[` + strings.Join(entries, ",") + `]` }

// resume answers a pause as proxy does: Answers, admit's order, the schema, Begin.
func resume(t testing.TB, d *Dialect, p agui.Pause, in agui.RunInput, ended ...translate.Ended) (translate.Out, translate.Run, error) {
	t.Helper()
	answers, err := d.Answers(in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	r := &translate.Request{Input: in, Pause: p, Transcript: logOf(in), Ended: ended}
	for _, i := range p.Interrupts {
		at := slices.IndexFunc(answers, func(a agui.Answer) bool { return a.ID == i.ID })
		if at < 0 {
			return translate.Out{}, nil, agui.Errorf(agui.PartialResume, "")
		}
		a := answers[at]
		if schema := i.Schema(); schema != nil && !a.Own && a.Status == agui.Resolved && !gjson.GetBytes(a.Payload, "approved").IsBool() {
			return translate.Out{}, nil, agui.Errorf(agui.InvalidPayload, "schema")
		}
		r.Answers = append(r.Answers, a)
	}
	r.New = agui.NewMessages(in.Messages, seenOf(p))
	return d.Begin(r)
}

func seenOf(p agui.Pause) []agui.SeenMessage {
	var list []agui.SeenMessage
	for _, m := range gjson.ParseBytes(p.Messages).Array() {
		list = append(list, agui.See(agui.ParseMessage([]byte(m.Raw))))
	}
	return list
}

func code(err error) agui.Code {
	var told *agui.RunError
	if errors.As(err, &told) {
		return told.Code
	}
	return ""
}
