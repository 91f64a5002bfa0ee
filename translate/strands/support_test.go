package strands

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
)

// A log is a transcript that is good enough for tests: it knows the calls.
type log struct{ calls []agui.Call }

func (l *log) Calls() []agui.Call                  { return l.calls }
func (l *log) Messages() ([]json.RawMessage, bool) { return nil, false }
func (l *log) State() (json.RawMessage, bool)      { return nil, true }

func (l *log) add(ev agui.Event) {
	if ev.Type == agui.CallStart {
		l.calls = append(l.calls, agui.Call{ID: ev.Get("toolCallId").Str, Name: ev.Get("toolCallName").Str})
	}
}

// A played is what an answer came to.
type played struct {
	t       testing.TB
	emitted []agui.Event
	result  translate.Result
	err     error
}

// play gives an answer of a media type to a run. A stream that ends in <cut> breaks off there.
func play(t testing.TB, run translate.Run, l *log, mediaType, answer string) played {
	p := played{t: t}
	d := run.(translate.Decoder)
	answer, cut := strings.CutSuffix(answer, "<cut>")
	end := translate.End{Cut: cut}
	emit := func(ev agui.Event) {
		if end.Event.Type != agui.Unknown {
			return
		}
		if ev.Type.Terminal() {
			end = translate.End{Event: ev.Clone()}
			return
		}
		if err := run.Event(ev, func(ev agui.Event) {
			ev = ev.Clone()
			p.emitted = append(p.emitted, ev)
			l.add(ev)
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, piece := range pieces(d.Framing(mediaType), answer) {
		if p.err = d.Decode(translate.Piece{Data: []byte(piece)}, emit); p.err != nil || end.Event.Type != agui.Unknown {
			break
		}
	}
	var err error
	p.result, err = run.End(end)
	p.err = errors.Join(p.err, err)
	for _, ev := range p.result.Before {
		p.emitted = append(p.emitted, ev.Clone())
	}
	return p
}

func pieces(f translate.Framing, answer string) (list []string) {
	switch f {
	case translate.Frames:
		for block := range strings.SplitSeq(strings.ReplaceAll(answer, "\r\n", "\n"), "\n\n") {
			var data []string
			for line := range strings.SplitSeq(block, "\n") {
				if rest, ok := strings.CutPrefix(line, "data:"); ok {
					data = append(data, strings.TrimPrefix(rest, " "))
				}
			}
			if data != nil {
				list = append(list, strings.Join(data, "\n"))
			}
		}
	case translate.Lines:
		for line := range strings.SplitSeq(answer, "\n") {
			if strings.TrimSpace(line) != "" {
				list = append(list, line)
			}
		}
	case translate.Whole, translate.Text:
		list = []string{answer}
	}
	return list
}

// frames is an event stream of the given data.
func frames(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

// types are the events in short: types, with the text, the name or the reason that they carry.
func (p played) types() string {
	var list []string
	for _, ev := range p.emitted {
		list = append(list, p.short(ev))
	}
	if p.result.Finish.Type != agui.Unknown {
		list = append(list, p.short(p.result.Finish))
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

// asks are the ids of the interrupts, with their reasons and calls.
func (p played) asks() string {
	var list []string
	for _, i := range p.result.Asked.Interrupts {
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

func input(t testing.TB, more string) agui.RunInput {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"Clean up."}]` + more + `}`))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return in
}

// plain plays an ordinary run.
func plain(t testing.TB, d *Dialect, mediaType, answer string) played {
	t.Helper()
	l := &log{}
	in := input(t, "")
	_, run, err := d.Begin(&translate.Request{Input: in, Came: in.Messages, Transcript: l})
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, l, mediaType, answer)
}

const stream = "text/event-stream"

// minted is a pause as proxy keeps it.
func minted(p agui.Pause) agui.Pause {
	p.ID, p.Interrupts = "p1", slices.Clone(p.Interrupts)
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		i.ID = fmt.Sprintf("%s~r%d", i.Native, n+1)
		i.Object = agui.SetString(i.Object, "id", i.ID)
	}
	return p
}

// resume begins a resume. entries are those of the resume array.
func resume(t testing.TB, d *Dialect, p agui.Pause, l *log, change func(*translate.Request), entries ...string) (translate.Out, translate.Run, error) {
	t.Helper()
	in := input(t, `,"resume":[`+strings.Join(entries, ",")+`]`)
	answers, err := d.Answers(in, p)
	if err != nil {
		return translate.Out{}, nil, err
	}
	r := &translate.Request{Input: in, Came: in.Messages, Transcript: l, Pause: p, Answers: answers}
	if change != nil {
		change(r)
	}
	return d.Begin(r)
}

func entry(id, payload string) string {
	if payload == "" {
		return `{"interruptId":` + quoted(id) + `,"status":"cancelled"}`
	}
	return `{"interruptId":` + quoted(id) + `,"status":"resolved","payload":` + payload + `}`
}

// rules are those of a file that has the list.
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
