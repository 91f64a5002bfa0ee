package langgraphserver

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const (
	idA   = "95b93ade5d71718992515f7daf83c1ce"
	idB   = "031b2a573ee0e7700016c5c9ded7f0f5"
	hello = `{"id":"u1","role":"user","content":"hi"}`
	runID = "01a1f73b-2ab8-7547-b991-c1cd4a8713af"
	meta  = `metadata|{"run_id":"` + runID + `","attempt":1}`
)

func newDialect(t testing.TB) *Dialect {
	t.Helper()
	d, err := New(Options{Assistant: "agent"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

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

// frames returns the frames of a stream. Each is given as "name|data".
func frames(list ...string) []translate.Piece {
	var pieces []translate.Piece
	for _, s := range list {
		name, data, _ := strings.Cut(s, "|")
		pieces = append(pieces, translate.Piece{Name: []byte(name), Data: []byte(data)})
	}
	return pieces
}

func whole(body string) []translate.Piece { return []translate.Piece{{Data: []byte(body)}} }

// stateWith returns the state of a thread with the given tasks.
func stateWith(tasks ...string) string {
	return `{"values":{"messages":[{"id":"u1","type":"human","content":"hi"}]},"next":["ask"],"tasks":[` + strings.Join(tasks, ",") +
		`],"checkpoint":{"checkpoint_id":"c1"}}`
}

func task(interrupts ...string) string {
	return `{"id":"x","name":"ask","interrupts":[` + strings.Join(interrupts, ",") + `]}`
}

func asks(id, value string) string { return `{"id":"` + id + `","value":` + value + `}` }

// next plays one exchange and returns the exchange that follows it.
func next(t testing.TB, run translate.Run, cut bool, pieces []translate.Piece) *translate.Exchange {
	t.Helper()
	p := dialecttest.Decode(run, &dialecttest.Log{}, cut, pieces...)
	if p.Err != nil || p.Result.Next == nil {
		t.Fatalf("no exchange follows: %+v %v", p.Result, p.Err)
	}
	return p.Result.Next
}

// plain returns the exchange that streams an ordinary run. Before the run, the thread has the given
// state.
func plain(t testing.TB, more, state string) *translate.Exchange {
	t.Helper()
	in := input(t, more)
	out, run, err := newDialect(t).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}, NewID: func() string { return "nonce" }})
	if err != nil || out.Resumes || out.Path != "/threads" {
		t.Fatalf("%+v %v", out, err)
	}
	look := next(t, run, false, whole(`{"thread_id":"x"}`))
	if look.Out.Method != "GET" || look.Out.Resumes {
		t.Fatalf("%+v", look.Out)
	}
	return next(t, look.Run, false, whole(state))
}

const empty = `{"values":{},"next":[],"tasks":[],"checkpoint":null}`

// pausedBy returns the pause after a run with the stream. After the run, the thread has the given
// state.
func pausedBy(t testing.TB, state string, stream ...string) agui.Pause {
	t.Helper()
	e := plain(t, "", empty)
	after := next(t, e.Run, false, frames(append([]string{meta}, stream...)...))
	p := dialecttest.Decode(after.Run, &dialecttest.Log{}, false, whole(state)...)
	pause := dialecttest.WithIDs(p.Result.Asked.Pause(Name))
	if len(pause.Interrupts) == 0 {
		t.Fatalf("no pause: %+v", p.Result)
	}
	return pause
}

// resume begins a run that answers the questions of p, one payload for each question.
func resume(t testing.TB, p agui.Pause, payloads ...string) (translate.Out, translate.Run, error) {
	t.Helper()
	var entries []string
	for n, payload := range payloads {
		entries = append(entries, dialecttest.Entry(p.Interrupts[n].ID, payload))
	}
	in := input(t, dialecttest.ResumeArray(entries...))
	return dialecttest.Resume(newDialect(t), p, in, &dialecttest.Log{}, func(r *translate.Request) { r.NewID = func() string { return "nonce" } })
}

func story(list []agui.Event) string {
	var b strings.Builder
	for _, ev := range list {
		b.WriteString(" ")
		switch ev.Type {
		case agui.TextContent, agui.ReasoningContent, agui.CallArgs:
			b.WriteString(ev.Get("delta").Str)
		case agui.StateSnapshot:
			b.WriteString("state" + ev.Get("snapshot").Raw)
		case agui.Custom:
			b.WriteString(ev.Get("name").Str + ev.Get("value").Raw)
		case agui.CallStart:
			b.WriteString(ev.Get("toolCallId").Str + "=" + ev.Get("toolCallName").Str)
		case agui.CallResult:
			b.WriteString(ev.Get("toolCallId").Str + "->" + ev.Get("content").Str)
		case agui.StepStarted, agui.StepFinished:
			b.WriteString(map[agui.Type]string{agui.StepStarted: "<", agui.StepFinished: ">"}[ev.Type] + ev.Get("stepName").Str)
		default:
			b.WriteString(strings.TrimPrefix(string(ev.Type), "TEXT_MESSAGE_"))
		}
	}
	return strings.TrimSpace(b.String())
}
