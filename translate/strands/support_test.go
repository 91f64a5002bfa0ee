package strands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/strandsapi"
)

// A played is what a run made of a backend's answer.
type played struct {
	dialecttest.Played
	t testing.TB
}

// play plays an answer with the media type to a run. The test fails if the run returns an error. An
// answer that ends with <cut> breaks off there.
func play(t testing.TB, run translate.Run, l *dialecttest.Log, mediaType, answer string) played {
	t.Helper()
	answer, cut := strings.CutSuffix(answer, "<cut>")
	framing := run.(translate.Decoder).Framing(mediaType)
	p := dialecttest.Decode(run, l, cut, dialecttest.Pieces(framing, answer)...)
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	return played{p, t}
}

// types describes each event: its type, with its text, name or reason.
func (p played) types() string {
	var list []string
	for _, ev := range p.All() {
		list = append(list, p.short(ev))
	}
	if p.Result.Finish.Type != agui.Unknown {
		list = append(list, p.short(p.Result.Finish))
	}
	return strings.Join(list, " ")
}

func (p played) short(ev agui.Event) string {
	if !ev.Valid() {
		p.t.Fatalf("no event: %s", ev.JSON)
	}
	s := string(ev.Type)
	for _, key := range []string{"delta", "toolCallName", "stepName", "content", "code", "value"} {
		if v := gjson.GetBytes(ev.JSON, key); v.Exists() {
			s += fmt.Sprintf("(%s)", v.String())
		}
	}
	return s
}

// asks describes each interrupt: its native id, its reason and the id of its call.
func (p played) asks() string {
	var list []string
	for _, i := range p.Result.Asked.Interrupts {
		s := i.Native + " " + i.Reason()
		if id := i.ToolCallID(); id != "" {
			s += " " + id
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

func newDialect(t testing.TB, s Server) *Dialect {
	t.Helper()
	d, err := New(Options{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plain plays an ordinary run, to which the backend gives the answer.
func plain(t testing.TB, d *Dialect, mediaType, answer string) played {
	t.Helper()
	l := &dialecttest.Log{}
	in := input(t, "")
	_, run, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, l, mediaType, answer)
}

const stream = "text/event-stream"

// resume begins a run with these entries in the resume array.
func resume(t testing.TB, d *Dialect, p agui.Pause, l *dialecttest.Log, change func(*translate.Request), entries ...string) (translate.Out, translate.Run, error) {
	t.Helper()
	return dialecttest.Resume(d, p, input(t, ","+dialecttest.ResumeArray(entries...)), l, func(r *translate.Request) {
		if change != nil {
			change(r)
		}
	})
}

func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	return dialecttest.Input(t, `{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"Clean up."}]`+more+`}`)
}

// frames returns an event stream in which each text is the data of one event.
func frames(data ...string) string { return dialecttest.Stream(data...).Body }

// rules returns the rules of a file whose list of interrupts has the given content.
func rules(t testing.TB, list string) strandsapi.Rules {
	t.Helper()
	if list == "" {
		return strandsapi.Rules{}
	}
	rules, err := strandsapi.ParseRules([]byte(`{"interrupts":[` + list + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
