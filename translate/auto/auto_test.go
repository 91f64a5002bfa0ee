package auto_test

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
	"holdpoint/translate/auto"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/standard"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	failed   = `{"type":"RUN_ERROR","message":"kaput"}`
	text     = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`
	idA      = "95b93ade5d71718992515f7daf83c1ce"
	custom   = `{"type":"CUSTOM","name":"on_interrupt","value":"What?","rawEvent":{"id":"` + idA + `","value":"What?"}}`
	suspend  = `{"type":"CUSTOM","name":"on_interrupt","value":"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c\",\"runId\":\"r\"}"}`
	crew     = `{"type":"CUSTOM","name":"on_interrupt","value":{"id":"t","reason":"crewai:human_feedback"}}`
)

func outcome(interrupts string) string {
	return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[` + interrupts + `]}}`
}

func parse(t testing.TB, more string) agui.RunInput {
	t.Helper()
	body := `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]`
	if more != "" {
		body += "," + more
	}
	in, ok, err := agui.ParseInput([]byte(body + "}"))
	if !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	return in
}

type noTranscript struct{}

func (noTranscript) Calls() []agui.Call                  { return nil }
func (noTranscript) Messages() ([]json.RawMessage, bool) { return nil, true }
func (noTranscript) State() (json.RawMessage, bool)      { return nil, true }
func (noTranscript) Streamed() bool                      { return false }

// both returns an auto of two real dialects, LangGraph's before the standard one.
func both(t testing.TB, warn func(string, ...any)) *auto.Dialect {
	t.Helper()
	lg, err := langgraph.New(langgraph.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return auto.New([]translate.Dialect{lg, new(standard.Dialect)}, auto.Options{Warn: warn})
}

// play plays a stream to a run. It returns the events that the client gets, without the terminal
// event.
func play(t testing.TB, d translate.Dialect, p agui.Pause, stream ...string) (shown []agui.Event, res translate.Result, err error) {
	t.Helper()
	_, run, err := d.Begin(&translate.Request{Input: parse(t, ""), Transcript: noTranscript{}, Pause: p})
	if err != nil {
		return nil, res, err
	}
	var end translate.End
	for _, s := range stream {
		ev := agui.Event{Type: agui.PeekType([]byte(s)), JSON: []byte(s), Frame: []byte("data: " + s + "\n\n")}
		if ev.Type.Terminal() {
			end.Event = ev
			break
		}
		err := run.Event(ev, func(ev agui.Event) { shown = append(shown, ev.Clone()) })
		if err != nil {
			return shown, res, err
		}
		copy(ev.JSON, strings.Repeat("x", len(ev.JSON))) // the event is valid only during the call
		copy(ev.Frame, strings.Repeat("x", len(ev.Frame)))
	}
	res, err = run.End(end)
	return append(shown, res.HeldEvents...), res, err
}

func jsons(list []agui.Event) []string {
	var out []string
	for _, ev := range list {
		if ev.Edited || string(ev.Frame) != "data: "+string(ev.JSON)+"\n\n" {
			out = append(out, "TOUCHED ")
		}
		out = append(out, string(ev.JSON))
	}
	return out
}

func TestFinding(t *testing.T) {
	for name, c := range map[string]struct {
		stream  []string
		dialect string
		shown   []string
	}{
		"an ordinary run":                            {[]string{started, text, finished}, "", []string{started, text}},
		"an error":                                   {[]string{started, text, failed}, "", []string{started, text}},
		"no end":                                     {[]string{started, text}, "", []string{started, text}},
		"LangGraph's CUSTOM event":                   {[]string{started, text, custom, text, finished}, "langgraph", []string{started, text, text}},
		"LangGraph's outcome":                        {[]string{started, text, outcome(`{"id":"x","reason":"r","metadata":{"langgraph":{"raw":1}}}`)}, "langgraph", []string{started, text}},
		"ids of 32 hex digits are anybody's":         {[]string{started, outcome(`{"id":"` + idA + `","reason":"r"}`)}, "agui", []string{started}},
		"any other outcome":                          {[]string{started, text, outcome(`{"id":"x","reason":"r"}`)}, "agui", []string{started, text}},
		"Mastra with the outcome":                    {[]string{started, suspend, outcome(`{"id":"r::c","reason":"mastra:tool_suspend"}`)}, "agui", []string{started}},
		"CrewAI with the outcome":                    {[]string{started, crew, outcome(`{"id":"t","reason":"crewai:human_feedback"}`)}, "agui", []string{started}},
		"Mastra without":                             {[]string{started, suspend, finished}, "agui", []string{started}},
		"CrewAI without":                             {[]string{started, crew, finished}, "agui", []string{started}},
		"a CUSTOM event of LangGraph, then an error": {[]string{started, custom, failed}, "", []string{started}},
	} {
		t.Run(name, func(t *testing.T) {
			shown, res, err := play(t, both(t, nil), agui.Pause{}, c.stream...)
			if err != nil {
				t.Fatal(err)
			}
			if got := jsons(shown); !slices.Equal(got, c.shown) {
				t.Errorf("shown\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(c.shown, "\n"))
			}
			if asks := len(res.Asked.Interrupts) > 0; asks != (c.dialect != "") || asks && res.DetectedDialect != c.dialect {
				t.Errorf("found %+v, want %q", res.Asked, c.dialect)
			}
			if last := c.stream[len(c.stream)-1]; c.dialect == "" && agui.PeekType([]byte(last)).Terminal() && string(res.Finish.JSON) != last {
				t.Errorf("finish %s", res.Finish.JSON)
			}
		})
	}
}

func TestBegin(t *testing.T) {
	d := both(t, nil)
	begin := func(more string, p agui.Pause, answers ...agui.Answer) (translate.Out, error) {
		out, run, err := d.Begin(&translate.Request{Input: parse(t, more), Transcript: noTranscript{}, Pause: p, Answers: answers})
		if (run == nil) == (err == nil) {
			t.Errorf("run %v, error %v", run, err)
		}
		return out, err
	}
	answer := agui.Answer{ID: "a", Status: agui.Resolved, Payload: json.RawMessage("1")}
	interrupt := agui.Interrupt{ID: "a", Native: idA, Object: json.RawMessage(`{"id":"a","reason":"r"}`)}
	if out, err := begin("", agui.Pause{}); err != nil || out.Body != nil {
		t.Errorf("a plain run: %+v %v", out, err)
	}
	if out, err := begin("", agui.Pause{Dialect: "agui"}); err != nil || out.Body != nil {
		t.Errorf("a plain run on a route of agui: %+v %v", out, err)
	}
	if out, err := begin("", agui.Pause{Dialect: "langgraph"}); err != nil || strings.Contains(string(out.Body), "protocolVersion") || out.Body == nil {
		t.Errorf("a plain run on a route of LangGraph: %s %v", out.Body, err)
	}
	resume := `"resume":[{"interruptId":"a","status":"resolved","payload":1}]`
	out, err := begin(resume, agui.Pause{ID: "p", Dialect: "langgraph", Interrupts: []agui.Interrupt{interrupt}}, answer)
	if got := gjson.GetBytes(out.Body, "forwardedProps.command.resume").Raw; err != nil || got != `{"`+idA+`":1}` {
		t.Errorf("a resume of LangGraph: %s %v", out.Body, err)
	}
	out, err = begin(resume, agui.Pause{ID: "p", Dialect: "agui", Interrupts: []agui.Interrupt{interrupt}}, answer)
	if got := gjson.GetBytes(out.Body, "resume.0.interruptId").Str; err != nil || got != idA {
		t.Errorf("a resume of agui: %s %v", out.Body, err)
	}
	_, err = begin(resume, agui.Pause{ID: "p", Dialect: "martian", Interrupts: []agui.Interrupt{interrupt}}, answer)
	var refused *agui.RunError
	if !errors.As(err, &refused) || refused.Code != agui.StoreUnavailable {
		t.Errorf("a resume of nobody: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	d := both(t, nil)
	mastra := `"forwardedProps":{"command":{"resume":1,"interruptEvent":"{\"type\":\"mastra_suspend\"}"}}`
	hitl := agui.Pause{
		ID: "p", Interrupts: []agui.Interrupt{{ID: "a", Native: "x", Object: json.RawMessage(`{}`), Private: json.RawMessage(`{"n":0}`)}},
		Private: json.RawMessage(`{"natives":[{"id":"x","shape":"hitl","value":{"action_requests":[{"name":"f"}]}}]}`),
	}
	as := func(dialect string) agui.Pause { p := hitl; p.Dialect = dialect; return p }
	for name, c := range map[string]struct {
		more  string
		pause agui.Pause
		want  string
	}{
		"no answer":                          {``, agui.Pause{}, ``},
		"no pause: the first that finds any": {`"forwardedProps":{"command":{"resume":1}}`, agui.Pause{}, `[: 1]`},
		"Mastra's, nobody's":                 {mastra, agui.Pause{}, `[: 1]`},
		"Mastra's on a route of LangGraph":   {mastra, agui.Pause{Dialect: "langgraph"}, `[: 1]`},
		"Mastra's on a route of agui":        {mastra, agui.Pause{Dialect: "agui"}, `[: 1]`},
		"the pause's dialect":                {`"resume":[{"interruptId":"a","status":"resolved","payload":true}]`, as("langgraph"), `[a: {"approved":true}]`},
		"another dialect's reading":          {`"resume":[{"interruptId":"a","status":"resolved","payload":true}]`, as("agui"), `[a: true]`},
		"of a dialect that nobody knows":     {`"resume":[{"interruptId":"a","status":"resolved","payload":7}]`, as("martian"), `[a: 7]`},
	} {
		t.Run(name, func(t *testing.T) {
			answers, err := d.Answers(parse(t, c.more), c.pause)
			var got []string
			for _, a := range answers {
				got = append(got, fmt.Sprintf("%s: %s", a.ID, a.Payload))
			}
			want := c.want
			if s := fmt.Sprint(got); err != nil || s != want && !(want == "" && got == nil) {
				t.Errorf("answers %s (%v), want %s", s, err, want)
			}
		})
	}
}

// TestPassingEventsDoNotAllocate checks that an event that no dialect examines costs no allocation.
func TestPassingEventsDoNotAllocate(t *testing.T) {
	_, run, err := both(t, nil).Begin(&translate.Request{Input: parse(t, ""), Transcript: noTranscript{}})
	if err != nil {
		t.Fatal(err)
	}
	var events []agui.Event
	for _, s := range []string{
		text, `{"type":"STATE_DELTA","delta":[]}`, `{"type":"RAW","event":{}}`, `{"type":"STEP_STARTED","stepName":"x"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"f"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"1","delta":"x"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"1"}`, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
	} {
		events = append(events, agui.NewEvent([]byte(s)))
	}
	n := 0
	emit := func(agui.Event) { n++ }
	allocs := testing.AllocsPerRun(100, func() {
		for _, ev := range events {
			if err := run.Event(ev, emit); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocs != 0 || n == 0 {
		t.Errorf("%v allocations for %d events", allocs, len(events))
	}
}

// FuzzEvents checks that no stream causes a panic, and that every event that no dialect held is
// emitted. The events of each call must be emitted in order.
func FuzzEvents(f *testing.F) {
	f.Add(strings.Join([]string{started, text, custom, finished}, "\n"))
	f.Add(strings.Join([]string{started, suspend, outcome(`{"id":"x","reason":"r","message":null}`)}, "\n"))
	f.Add(strings.Join([]string{started, `{"type":"TOOL_CALL_START","toolCallId":"1","toolCallName":"maybe"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"1","delta":"no"}`, `{"type":"TOOL_CALL_END","toolCallId":"orphan"}`, text, `{"type":"TOOL_CALL_CHUNK","delta":"yes"}`, failed}, "\n"))
	f.Fuzz(func(t *testing.T, stream string) {
		lines := strings.Split(stream, "\n")
		if _, _, err := play(t, both(t, nil), agui.Pause{}, lines...); err != nil {
			t.Fatal(err)
		}
		shown, _, err := play(t, auto.New([]translate.Dialect{&stub{name: "s", when: "never"}}, auto.Options{}), agui.Pause{}, lines...)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, l := range lines {
			if agui.PeekType([]byte(l)).Terminal() {
				break
			}
			want = append(want, l)
		}
		got := jsons(shown)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("shown %q, want %q", got, want)
		}
	})
}

// FuzzAnswers checks that no request to a pause of any dialect causes a panic. A refusal must be an
// *agui.RunError, and the output must be JSON.
func FuzzAnswers(f *testing.F) {
	for _, more := range []string{
		``, `"resume":[{"interruptId":"a","status":"resolved","payload":true}]`, `"resume":[{"interruptId":"a","status":"cancelled"}]`,
		`"forwardedProps":{"command":{"resume":{"a":true}}}`, `"forwardedProps":{"command":{"resume":1,"interruptEvent":"{\"type\":\"mastra_suspend\"}"}}`,
		`"forwardedProps":7,"resume":[{"interruptId":"a","status":"cancelled"}]`,
	} {
		for _, name := range []string{"", "agui", "langgraph", "martian"} {
			f.Add(more, name)
		}
	}
	f.Fuzz(func(t *testing.T, more, name string) {
		body := `{"threadId":"t","runId":"r","messages":[]`
		if more != "" {
			body += "," + more
		}
		body += "}"
		if !json.Valid([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		d := both(t, nil)
		p := agui.Pause{ID: "p", Dialect: name, Interrupts: []agui.Interrupt{{ID: "a", Native: idA, Object: json.RawMessage(`{"id":"a","reason":"r"}`)}}}
		for _, pause := range []agui.Pause{{}, {Dialect: name}, p} {
			answers, err := d.Answers(in, pause)
			refused := func(err error) bool {
				var e *agui.RunError
				return errors.As(err, &e)
			}
			if err != nil && !refused(err) {
				t.Fatal(err)
			}
			if pause.ID == "" || len(answers) != 1 || answers[0].ID != "a" {
				continue
			}
			out, _, err := d.Begin(&translate.Request{Input: in, Transcript: noTranscript{}, Pause: pause, Answers: answers})
			if err != nil && !refused(err) || err == nil && (!json.Valid(out.Body) || !out.Resumes) {
				t.Fatalf("%s %v", out.Body, err)
			}
		}
	})
}
