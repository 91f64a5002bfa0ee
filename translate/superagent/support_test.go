package superagent

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/aguiwriter"
)

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	d, err := New(Options{AgentID: "approver"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const hello = `{"id":"u1","role":"user","content":"delete it"}`

// input returns the input of a run. The parameter more contains additional members of its object.
func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t1","runId":"r1"`
	if more != "" {
		body += "," + more
	}
	if !strings.Contains(more, `"messages":`) {
		body += `,"messages":[` + hello + `]`
	}
	return dialecttest.Input(t, body+"}")
}

func entry(payload string) string { return dialecttest.Entry("n~1", payload) }

// frames returns the frames of a stream. Each is given as "name|data" or "data".
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

// A played is what a run made of a stream.
type played struct{ dialecttest.Played }

// play plays the pieces of a stream to a run. The test fails if the run returns an error.
func play(t testing.TB, run translate.Run, pieces []translate.Piece) played {
	t.Helper()
	p := dialecttest.Decode(run, &dialecttest.Log{}, false, pieces...)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	return played{p}
}

// playPlain plays a stream to a run without answers.
func playPlain(t testing.TB, list ...string) played {
	t.Helper()
	in := input(t, "")
	_, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}})
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, frames(list...))
}

// story describes the events: texts in quotes, reasoning in parentheses, then calls, results and
// the end of the run.
func (p played) story() string {
	var b strings.Builder
	open := ""
	for _, ev := range p.All() {
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
	switch res := p.Result; {
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

// pausedBy returns the pause at the end of a plain run with the stream. Its question has the id
// n~1.
func pausedBy(t testing.TB, list ...string) agui.Pause {
	t.Helper()
	p := playPlain(t, list...).Result.Asked.Pause(Name)
	if len(p.Interrupts) != 1 {
		t.Fatalf("no pause of %q", list)
	}
	return minted(p)
}

// minted returns the pause as the proxy stores it, but its first interrupt always has the id n~1.
func minted(p agui.Pause) agui.Pause {
	p = dialecttest.WithIDs(p)
	i := &p.Interrupts[0]
	i.ID, i.Object = "n~1", agui.SetString(i.Object, "id", "n~1")
	return p
}

// resumeWith passes an input to Answers and Begin. The parameter fresh contains the new messages
// that the client sends together with the answers.
func resumeWith(t testing.TB, p agui.Pause, in agui.RunInput, fresh ...agui.Message) (translate.Out, translate.Run, error) {
	t.Helper()
	return dialecttest.Resume(newDialect(t), p, in, &dialecttest.Log{}, func(r *translate.Request) { r.NewMessages = fresh })
}

// These are parts of the frames that the server sends.
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

// a2ui returns a frame with an event. The name of the frame is the type of the event.
func a2ui(kind, data string) string { return kind + "|" + bare(kind, data) }

func bare(kind, data string) string {
	return `{"type":"` + kind + `","timestamp":1788256801234,"data":` + data + `}`
}

func wrapped(state string) string {
	return `{"reason":` + aguiwriter.Quoted(state) + `,"fields":` + outerFields + `}`
}

func said1(content string) agui.Message {
	return agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":` + content + `}`))
}
