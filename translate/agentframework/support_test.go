package agentframework

import (
	"bytes"
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

// A log is a transcript that is good enough for tests: it folds messages, calls and results.
type log struct {
	calls    []agui.Call
	messages []json.RawMessage
	unknown  bool
}

func (l *log) Calls() []agui.Call                  { return l.calls }
func (l *log) Messages() ([]json.RawMessage, bool) { return l.messages, !l.unknown }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }

func (l *log) message(raw string) {
	l.messages = append(l.messages, json.RawMessage(raw))
	m := agui.ParseMessage([]byte(raw))
	for _, c := range callsOf(m) {
		if !slices.ContainsFunc(l.calls, func(o agui.Call) bool { return o.ID == c.ID }) {
			c.Parent, c.Ended = m.ID, true
			l.calls = append(l.calls, c)
		}
	}
	if m.Role == "tool" {
		l.answered(m.ToolCallID)
	}
}

func (l *log) answered(call string) {
	for i := range l.calls {
		if l.calls[i].ID == call {
			l.calls[i].Answered = true
		}
	}
}

func (l *log) add(ev agui.Event) {
	id := ev.Get("toolCallId").Str
	switch ev.Type {
	case agui.MessagesSnapshot:
		l.messages = nil
		for _, m := range ev.Get("messages").Array() {
			l.message(m.Raw)
		}
	case agui.TextStart:
		l.assistant(ev.Get("messageId").Str)
	case agui.CallStart:
		l.calls = append(l.calls, agui.Call{ID: id, Name: ev.Get("toolCallName").Str, Parent: ev.Get("parentMessageId").Str})
	case agui.CallArgs, agui.CallEnd:
		for i := range l.calls {
			c := &l.calls[i]
			if c.ID != id || c.Ended {
				continue
			}
			c.Args += ev.Get("delta").Str
			if c.Ended = ev.Type == agui.CallEnd; c.Ended && c.Parent != "" {
				m := l.assistant(c.Parent)
				*m = agui.SetKey(*m, "toolCalls.-1", callObject(ask{Call: id, Name: c.Name, Args: json.RawMessage(c.Args)}))
			}
		}
	case agui.CallResult:
		l.answered(id)
		l.messages = append(l.messages, told{ev.Get("messageId").Str, ev.Get("content").Str}.message(id).JSON)
	}
}

// assistant is the message with that id, made if it is not there.
func (l *log) assistant(id string) *json.RawMessage {
	at := slices.IndexFunc(l.messages, func(m json.RawMessage) bool { return gjson.GetBytes(m, "id").Str == id })
	if at < 0 {
		at = len(l.messages)
		l.messages = append(l.messages, json.RawMessage(`{"id":`+quoted(id)+`,"role":"assistant","content":""}`))
	}
	return &l.messages[at]
}

// A played is what a stream came to.
type played struct {
	emitted []agui.Event
	result  translate.Result
}

func (p played) all() []agui.Event { return append(slices.Clone(p.emitted), p.result.Before...) }

func (p played) types() string {
	var list []string
	for _, ev := range p.all() {
		list = append(list, string(ev.Type))
	}
	return strings.Join(list, " ")
}

// text is all that was emitted.
func (p played) text() string {
	var list []string
	for _, ev := range p.all() {
		list = append(list, string(ev.JSON))
	}
	return strings.Join(list, "\n")
}

// play gives a stream to a run. The last event ends it if it is terminal; else the stream ends
// without one. The bytes of an event are overwritten behind it, as proxy may.
func play(t testing.TB, run translate.Run, l *log, stream ...string) played {
	t.Helper()
	var p played
	end := translate.End{}
	for _, s := range stream {
		ev := agui.Event{Type: agui.PeekType([]byte(s)), JSON: []byte(s), Frame: []byte("data: " + s + "\n\n")}
		if ev.Type.Terminal() {
			end.Event = ev
			break
		}
		if err := run.Event(ev, func(ev agui.Event) {
			p.emitted = append(p.emitted, ev.Clone())
			l.add(ev)
		}); err != nil {
			t.Fatal(err)
		}
		copy(ev.JSON, bytes.Repeat([]byte{'!'}, len(ev.JSON)))
	}
	var err error
	if p.result, err = run.End(end); err != nil {
		t.Fatal(err)
	}
	for _, ev := range p.result.Before {
		l.add(ev)
	}
	return p
}

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	d, err := New(struct{}{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func playPlain(t testing.TB, more string, stream ...string) (played, *log) {
	t.Helper()
	l := &log{}
	l.message(user)
	_, run, err := newDialect(t).Begin(&translate.Request{Input: input(t, more), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, l, stream...), l
}

// pausedBy is the pause of a plain run with the stream, with ids as proxy mints them: <native>~r1,
// ~r2...; and what the client has been shown by then.
func pausedBy(t testing.TB, stream ...string) (agui.Pause, *log) {
	t.Helper()
	p, l := playPlain(t, "", stream...)
	if len(p.result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %s", p.text())
	}
	return minted(p.result.Asked.Pause(Name)), l
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

const user = `{"id":"u1","role":"user","content":"hi"}`

// input is a run input; more are further members of its object.
func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","state":{},"messages":[` + user + `],"context":[]`
	if more != "" {
		body += "," + more
	}
	return parseInput(t, body+"}")
}

func parseInput(t testing.TB, body string) agui.RunInput {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(body))
	if !agui.ValidJSON([]byte(body)) || !ok || err != nil {
		t.Fatalf("no run input (%v, %v): %s", ok, err, body)
	}
	return in
}

// admitted is what proxy does between Answers and Begin, without schemas: each interrupt answered
// once, in order.
func admitted(p agui.Pause, answers []agui.Answer) ([]agui.Answer, error) {
	for _, a := range answers {
		if p.Interrupt(a.ID) == nil {
			return nil, agui.Errorf(agui.UnknownInterruptID, "%q", a.ID)
		}
	}
	var ordered []agui.Answer
	for _, i := range p.Interrupts {
		at := slices.IndexFunc(answers, func(a agui.Answer) bool { return a.ID == i.ID })
		if at < 0 {
			return nil, agui.Errorf(agui.PartialResume, "%q", i.ID)
		}
		ordered = append(ordered, answers[at])
	}
	return ordered, nil
}

// resumeWith takes an input through Answers, admission and Begin.
func resumeWith(t testing.TB, d *Dialect, p agui.Pause, l *log, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	if len(in.Messages) == 1 && l != nil && len(l.messages) > 1 { // a client sends what it has
		in = parseInput(t, string(agui.SetKey(in.Raw, "messages", agui.MustMarshal(l.messages))))
	}
	answers, err := dialecttest.Answers(d, in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	if answers, err = admitted(p, answers); err != nil {
		return translate.Out{}, nil, err
	}
	r := &translate.Request{Input: in, Transcript: l, Pause: p, Answers: answers}
	for _, c := range change {
		c(r)
	}
	out, run, err := d.Begin(r)
	if err == nil && !json.Valid(out.Body) {
		t.Fatalf("body is not JSON: %s", out.Body)
	}
	return out, run, err
}

// answering is a resume that must be taken.
func answering(t testing.TB, p agui.Pause, l *log, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run) {
	t.Helper()
	out, run, err := resumeWith(t, newDialect(t), p, l, in, change...)
	if err != nil {
		t.Fatal(err)
	}
	return out, run
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

// entries is a resume array that answers a pause: a payload for each interrupt, "" cancels.
func entries(p agui.Pause, payloads ...string) string {
	var list []string
	for n, payload := range payloads {
		id := quoted(p.Interrupts[n].ID)
		if payload == "" {
			list = append(list, `{"interruptId":`+id+`,"status":"cancelled"}`)
		} else {
			list = append(list, `{"interruptId":`+id+`,"status":"resolved","payload":`+payload+`}`)
		}
	}
	return `"resume":[` + strings.Join(list, ",") + `]`
}

// Events as the framework writes them.
const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	textOpen = `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`
	textEnds = `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`
	yes      = `{"approved":true}`
	no       = `{"approved":false}`
)

func events(list ...[]string) []string { return slices.Concat(list...) }

func toolCall(id, name, args string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + quoted(args) + `}`,
		callEnds(id),
	}
}

func callEnds(id string) string { return `{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}` }

func result(call, content string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"r-` + call + `","toolCallId":"` + call + `","content":"` + content + `","role":"tool"}`
}

func asks(id, call string) string {
	return `{"type":"CUSTOM","name":"function_approval_request","value":{"id":"` + id + `","function_call":{"call_id":"` + call + `","name":"rm","arguments":{"path":"` + call + `"}}}}`
}

func confirms(id, call string) []string {
	return toolCall(id, "confirm_changes", `{"function_name":"rm","function_call_id":"`+call+`","function_arguments":{"path":"`+call+`"},"steps":[]}`)
}

func requests(id, kind, data string) []string {
	value := `{"request_id":"` + id + `","source_executor_id":"e","request_type":"dict","response_type":"` + kind + `","data":` + data + `}`
	return append(toolCall(id, "request_info", value), `{"type":"CUSTOM","name":"request_info","value":`+value+`}`,
		`{"type":"CUSTOM","name":"WorkflowInterruptEvent","value":`+quoted(data)+`}`)
}

func snapshotOf(messages ...string) string {
	return `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(messages, ",") + `]}`
}

func said(calls ...string) string {
	var list []string
	for _, c := range calls {
		name, args := "rm", `{"path":"`+c+`"}`
		if id, of, ok := strings.Cut(c, "="); ok {
			c, name, args = id, "confirm_changes", `{"function_name":"rm","function_call_id":"`+of+`","function_arguments":{},"steps":[]}`
		}
		list = append(list, `{"id":"`+c+`","type":"function","function":{"name":"`+name+`","arguments":`+quoted(args)+`}}`)
	}
	return `{"id":"m1","role":"assistant","content":"","toolCalls":[` + strings.Join(list, ",") + `]}`
}

func toolMessage(id, call, content string) string {
	return `{"id":"` + id + `","role":"tool","toolCallId":"` + call + `","content":` + quoted(content) + `}`
}

func withList(ids ...string) string {
	var list []string
	for _, id := range ids {
		list = append(list, `{"id":"`+id+`","value":{"type":"function_approval_request","function_call":{"call_id":"`+id+`","name":"rm","arguments":{"path":"`+id+`"}}}}`)
	}
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","interrupt":[` + strings.Join(list, ",") + `]}`
}

// Schemas of 1.0.0rc8 and of 1.1.0.
const (
	schemaOld = `{"type":"object","properties":{"accepted":{"type":"boolean"},"path":{"type":"string"}},"required":["accepted"],"additionalProperties":false}`
	schemaNew = `{"type":"object","properties":{"approved":{"type":"boolean"},"accepted":{"type":"boolean"},"path":{"type":"string"},"editedArgs":{"type":"object"}},"anyOf":[{"required":["approved"]},{"required":["accepted"]}],"additionalProperties":false}`
)

func withOutcome(schema string, ids ...string) string {
	var list []string
	for _, id := range ids {
		call := strings.TrimPrefix(id, "af-")
		list = append(list, `{"id":"`+id+`","reason":"tool_call","message":null,"toolCallId":"`+call+`","responseSchema":`+schema+`,"metadata":{"agent_framework":{"type":"function_approval_request","function_call":{"call_id":"`+call+`","name":"rm","arguments":{"path":"`+call+`"}}}}}`)
	}
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + strings.Join(list, ",") + `]}}`
}

// asking is the stream of a run that asks about the calls; finish is its end, prefix goes before
// the ids.
func asking(finish, prefix string, calls ...string) []string {
	list := []string{started, textOpen}
	var shown []string
	for _, c := range calls {
		list = append(list, toolCall(c, "rm", `{"path":"`+c+`"}`)...)
		list = append(list, asks(prefix+c, c))
		list = append(list, confirms("confirm-"+c, c)...)
		shown = append(shown, c, "confirm-"+c+"="+c)
	}
	return append(list, textEnds, snapshotOf(user, said(shown...)), finish)
}

func failedWith(code, message string) string {
	return `{"type":"RUN_ERROR","message":` + quoted(message) + `,"code":"` + code + `"}`
}

// sent is a value of what goes to the backend.
func sent(out translate.Out, path string) gjson.Result { return gjson.GetBytes(out.Body, path) }

// lastMessage of what goes to the backend.
func lastMessage(out translate.Out) gjson.Result {
	list := sent(out, "messages").Array()
	if len(list) == 0 {
		return gjson.Result{}
	}
	return list[len(list)-1]
}
