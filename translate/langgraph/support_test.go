package langgraph

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
)

// A log is a transcript that is good enough for tests: it folds text, calls and snapshots.
type log struct {
	calls    []agui.Call
	messages []json.RawMessage
	unknown  bool
}

func (l *log) Calls() []agui.Call                  { return l.calls }
func (l *log) Messages() ([]json.RawMessage, bool) { return l.messages, !l.unknown }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }
func (l *log) Streamed() bool                      { return true }

func (l *log) addMessage(m gjson.Result) {
	l.messages = append(l.messages, json.RawMessage(m.Raw))
	for _, c := range m.Get("toolCalls").Array() {
		id := c.Get("id").Str
		if slices.ContainsFunc(l.calls, func(c agui.Call) bool { return c.ID == id }) {
			continue
		}
		l.calls = append(l.calls, agui.Call{
			ID: id, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Str,
			Parent: m.Get("id").Str, Ended: true,
		})
	}
	if m.Get("role").Str == "tool" {
		for i := range l.calls {
			if l.calls[i].ID == m.Get("toolCallId").Str {
				l.calls[i].Answered = true
			}
		}
	}
}

func (l *log) add(ev agui.Event) {
	switch ev.Type {
	case agui.MessagesSnapshot:
		l.messages = nil
		for _, m := range ev.Get("messages").Array() {
			l.addMessage(m)
		}
	case agui.CallStart:
		l.calls = append(l.calls, agui.Call{ID: ev.Get("toolCallId").Str, Name: ev.Get("toolCallName").Str, Parent: ev.Get("parentMessageId").Str})
	case agui.CallArgs:
		for i := range l.calls {
			if l.calls[i].ID == ev.Get("toolCallId").Str {
				l.calls[i].Args += ev.Get("delta").Str
			}
		}
	}
}

// A played is what a stream came to.
type played struct {
	emitted []agui.Event
	result  translate.Result
	err     error
}

func (p played) types() string {
	var list []string
	for _, ev := range p.emitted {
		list = append(list, string(ev.Type))
	}
	return strings.Join(list, " ")
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
		if p.err != nil {
			break
		}
	}
	var err error
	p.result, err = run.End(end)
	p.err = errors.Join(p.err, err)
	return p
}

func newDialect(t testing.TB, o Options) *Dialect {
	t.Helper()
	d, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// pausedBy is the pause of a plain run with the stream, with ids as proxy mints them: <native>~r1,
// ~r2...
func pausedBy(t testing.TB, d *Dialect, stream ...string) agui.Pause {
	t.Helper()
	p := playPlain(t, d, stream...)
	if len(p.result.Asked.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p)
	}
	return minted(p.result.Asked.Pause(Name))
}

func playPlain(t testing.TB, d *Dialect, stream ...string) played {
	t.Helper()
	l := &log{}
	_, run, err := d.Begin(&translate.Request{Input: input(t, ""), Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return play(run, l, stream...)
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

// input is a run input; more are further members of its object.
func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1","state":{},"messages":[{"id":"u1","role":"user","content":"hi"}],"tools":[],"context":[]`
	if more != "" {
		body += "," + more
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

// admitted is what proxy does between Answers and Begin, without schemas: each interrupt answered
// once, in order.
func admitted(p agui.Pause, answers []agui.Answer) ([]agui.Answer, error) {
	var ordered []agui.Answer
	for _, a := range answers {
		if p.Interrupt(a.ID) == nil {
			return nil, agui.Errorf(agui.UnknownInterruptID, "%q", a.ID)
		}
	}
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
func resumeWith(t testing.TB, d *Dialect, p agui.Pause, in agui.RunInput, change ...func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	answers, err := d.Answers(in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	answers, err = admitted(p, answers)
	if err != nil {
		return translate.Out{}, nil, err
	}
	r := &translate.Request{Input: in, Transcript: &log{}, Pause: p, Answers: answers}
	for _, c := range change {
		c(r)
	}
	out, run, err := d.Begin(r)
	if err == nil && !json.Valid(out.Body) {
		t.Fatalf("body is not JSON: %s", out.Body)
	}
	return out, run, err
}

// sent is command.resume of a request.
func sent(out translate.Out) string {
	return gjson.GetBytes(out.Body, "forwardedProps.command.resume").Raw
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

// quoted is s as JSON text.
func quoted(s string) string { return string(agui.MustMarshal(s)) }

// custom is a CUSTOM on_interrupt as the adapters send it: value is JSON, a string goes verbatim.
func custom(id, value string) string {
	text := quoted(value)
	if value[0] == '"' {
		text = value
	}
	if id == "" {
		return `{"type":"CUSTOM","name":"on_interrupt","value":` + text + `}`
	}
	return `{"type":"CUSTOM","name":"on_interrupt","value":` + text + `,"rawEvent":{"id":"` + id + `","value":` + value + `}}`
}

const (
	idA = "95b93ade5d71718992515f7daf83c1ce"
	idB = "bc8330c993d06f6b8e466319c908be0d"

	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"01a1f73c-f93c"}`
	failed   = `{"type":"RUN_ERROR","message":"kaput"}`
	stepAsk  = `{"type":"STEP_STARTED","stepName":"ask"}`
	stepEnd  = `{"type":"STEP_FINISHED","stepName":"ask"}`
	state    = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
	messages = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"}]}`

	// The pauses of the recorded graphs.
	approval = `{"question":"Delete 3 files?","files":["a","b","c"],"message":"Please confirm"}`
	jsHITL   = `{"actionRequests":[{"name":"send_email","args":{"to":"bob@x.org","body":"hi"},"description":"Tool execution requires approval"}],"reviewConfigs":[{"actionName":"send_email","allowedDecisions":["approve","edit","reject"]}]}`
	pyHITL   = `{"action_requests":[{"name":"send_email","args":{"to":"bob@example.org","body":"hi"},"description":"Send it?"},{"name":"delete_file","args":{"path":"/tmp/x"},"description":"Deleting needs an OK"}],"review_configs":[{"action_name":"send_email","allowed_decisions":["approve","edit","reject"]},{"action_name":"delete_file","allowed_decisions":["approve","reject"]}]}`
	inboxOne = `{"action_request":{"action":"send_email","args":{"to":"bob@example.org"}},"config":{"allow_ignore":true,"allow_respond":true,"allow_edit":true,"allow_accept":true},"description":"Send this mail?"}`
	kitText  = `{"__copilotkit_interrupt_value__":"What is your name?","__copilotkit_messages__":[{"type":"ai","id":"ck-1","content":"What is your name?","tool_calls":[]}]}`
	kitTool  = `{"__copilotkit_interrupt_value__":{"action":"book","args":{"seat":1}},"__copilotkit_messages__":[{"type":"ai","id":"ck-1","tool_calls":[{"id":"fresh","name":"book"}]}]}`

	pyCalls = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"ai-1","role":"assistant","content":"","toolCalls":[{"id":"call-1-1","type":"function","function":{"name":"send_email","arguments":"{\"to\": \"bob@example.org\", \"body\": \"hi\"}"}},{"id":"call-1-2","type":"function","function":{"name":"delete_file","arguments":"{\"path\": \"/tmp/x\"}"}}]}]}`
)

// withOutcome is RUN_FINISHED with an interrupt outcome.
func withOutcome(interrupts ...string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + strings.Join(interrupts, ",") + `]}}`
}

// adapters is an interrupt of the outcome as Python's adapter writes it, nulls included (RAN
// 0.0.43).
func adapters(id, raw, more string) string {
	return `{"id":"` + id + `","reason":"langgraph:interrupt"` + more + `,"metadata":{"langgraph":{"raw":` + raw + `,"ns":null,"resumable":null,"when":null}}}`
}

// entry is a resume entry.
func entry(id, payload string) string {
	if payload == "" {
		return `{"interruptId":"` + id + `","status":"cancelled"}`
	}
	return `{"interruptId":"` + id + `","status":"resolved","payload":` + payload + `}`
}

func resumeArray(entries ...string) string { return `"resume":[` + strings.Join(entries, ",") + `]` }

func command(value string) string { return `"forwardedProps":{"command":{"resume":` + value + `}}` }
