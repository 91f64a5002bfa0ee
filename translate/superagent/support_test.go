package superagent

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A log is what the client was shown, as far as it is looked at here.
type log struct{ calls []agui.Call }

func (l *log) Calls() []agui.Call                  { return slices.Clone(l.calls) }
func (l *log) Messages() ([]json.RawMessage, bool) { return nil, true }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	d, err := New(Options{AgentID: "approver"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const hello = `{"id":"u1","role":"user","content":"delete it"}`

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
	in, ok, err := agui.ParseInput([]byte(body + "}"))
	if !ok || err != nil {
		t.Fatalf("no run input (%v, %v): %s", ok, err, body)
	}
	return in
}

func resume(entries ...string) string { return `"resume":[` + strings.Join(entries, ",") + `]` }

func entry(payload string) string {
	if payload == "" {
		return `{"interruptId":"n~1","status":"cancelled"}`
	}
	return `{"interruptId":"n~1","status":"resolved","payload":` + payload + `}`
}

// A wire is a stream of frames, each "name|data" or "data" alone.
func frames(list ...string) []translate.Piece {
	var pieces []translate.Piece
	for _, s := range list {
		p := translate.Piece{Data: []byte(s)}
		if name, data, ok := strings.Cut(s, "|"); ok {
			p = translate.Piece{Name: []byte(name), Data: []byte(data)}
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// played is what a stream came to.
type played struct {
	events []agui.Event // emitted, then what was held back
	result translate.Result
}

// play gives pieces to a run as proxy does: the first terminal event ends it.
func play(t testing.TB, run translate.Run, pieces []translate.Piece) played {
	t.Helper()
	var out played
	var end translate.End
	for _, p := range pieces {
		err := run.(translate.Decoder).Decode(p, func(ev agui.Event) {
			if end.Event.Type.Terminal() {
				return
			}
			if !ev.Valid() {
				t.Fatalf("not an event: %s", ev.JSON)
			}
			if ev.Type.Terminal() {
				end.Event = ev
				return
			}
			if err := run.Event(ev, func(ev agui.Event) { out.events = append(out.events, ev.Clone()) }); err != nil {
				t.Fatal(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		copy(p.Data, strings.Repeat("x", len(p.Data))) // valid during the call only
		if end.Event.Type.Terminal() {
			break
		}
	}
	var err error
	if out.result, err = run.End(end); err != nil {
		t.Fatal(err)
	}
	out.events = append(out.events, out.result.Before...)
	return out
}

// playPlain plays the stream of a run without answers.
func playPlain(t testing.TB, list ...string) played {
	t.Helper()
	in := input(t, "")
	_, run, err := newDialect(t).Begin(&translate.Request{Input: in, Came: in.Messages, Transcript: &log{}})
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, frames(list...))
}

// story is what a stream tells, in short: texts in quotes, reasoning in parentheses, calls,
// results, the end.
func (p played) story() string {
	var b strings.Builder
	open := ""
	for _, ev := range p.events {
		switch ev.Type {
		case agui.TextStart:
			b.WriteString(" '")
			open = ev.Get("messageId").Str
		case agui.TextContent, agui.ReasoningContent, agui.Unknown:
			if ev.Get("messageId").Str != open {
				b.WriteString("STRAY")
			}
			b.WriteString(ev.Get("delta").Str)
		case agui.TextEnd:
			b.WriteString("'")
		case agui.ReasoningStart:
			b.WriteString(" (")
			open = ev.Get("messageId").Str
		case agui.ReasoningEnd:
			b.WriteString(")")
		case agui.ReasoningMsgStart, agui.ReasoningMsgEnd:
		case agui.CallStart:
			b.WriteString(" " + ev.Get("toolCallId").Str + "=" + ev.Get("toolCallName").Str)
		case agui.CallArgs:
			b.WriteString(ev.Get("delta").Str)
		case agui.CallEnd:
			b.WriteString(";")
		case agui.CallResult:
			b.WriteString(" " + ev.Get("toolCallId").Str + "->" + ev.Get("content").Str + ev.Get("metadata").Raw)
		default:
			b.WriteString(" " + string(ev.Type) + ev.Get("name").Str)
		}
	}
	switch res := p.result; {
	case len(res.Asked.Interrupts) > 0:
		b.WriteString(" asks")
	case res.Fate == translate.Lost:
		b.WriteString(" lost")
	case res.Finish.Type == agui.RunErrored:
		b.WriteString(" failed: " + res.Finish.Get("message").Str + " " + res.Finish.Get("code").Str)
	case res.Finish.Type == agui.RunFinished:
		b.WriteString(" end")
	default:
		b.WriteString(" cut")
	}
	return strings.TrimSpace(b.String())
}

// pausedBy is the pause of a plain run with the stream, with the id n~1.
func pausedBy(t testing.TB, list ...string) agui.Pause {
	t.Helper()
	p := playPlain(t, list...).result.Asked.Pause(Name)
	if len(p.Interrupts) != 1 {
		t.Fatalf("no pause of %q", list)
	}
	return minted(p)
}

func minted(p agui.Pause) agui.Pause {
	p.ID = "0123456789abcdef0123456789abcdef"
	p.Interrupts = slices.Clone(p.Interrupts)
	p.Interrupts[0].ID = "n~1"
	return p
}

// resumeWith takes an input through Answers and Begin.
func resumeWith(t testing.TB, p agui.Pause, in agui.RunInput, fresh ...agui.Message) (translate.Out, translate.Run, error) {
	t.Helper()
	d := newDialect(t)
	answers, err := d.Answers(in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	if len(answers) != 1 || answers[0].ID != "n~1" {
		return translate.Out{}, nil, agui.Errorf(agui.UnknownInterruptID, "%+v", answers)
	}
	return d.Begin(&translate.Request{Input: in, Came: in.Messages, Transcript: &log{}, Pause: p, Answers: answers, New: fresh})
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

// What the server sends.
const (
	reason       = `Please confirm: delete \"a\"?\nIt is final.`
	reasonPlain  = "Please confirm: delete \"a\"?\nIt is final."
	confirmField = `{"name":"confirm","type":"confirm","label":"Confirm action","required":true}`
	state        = `{"session_id":"t1","agent_name":"approver","reason":"` + reason + `","fields":[` + confirmField + `],"timestamp":1788256800,"checkpoint_id":"approver_t1_1788256800000000000"}`
	outerFields  = `[{"name":"response","type":"text","label":"Your response","required":true}]`
)

func stateWith(fields string) string {
	return `{"session_id":"t1","agent_name":"approver","reason":"` + reason + `","fields":[` + fields + `],"timestamp":1788256800,"checkpoint_id":"c"}`
}

// a2ui is an event, under its name.
func a2ui(kind, data string) string { return kind + "|" + bare(kind, data) }

func bare(kind, data string) string {
	return `{"type":"` + kind + `","timestamp":1788256801234,"data":` + data + `}`
}

func wrapped(state string) string {
	return `{"reason":` + quoted(state) + `,"fields":` + outerFields + `}`
}

func said1(content string) agui.Message {
	return agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":` + content + `}`))
}
