package auto_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/auto"
	"holdpoint/translate/standard"
)

// A stub is a dialect that asks by a tool call. It holds calls of the tool "maybe". If the
// arguments of a held call contain "yes", the stub claims the call at the next event of the type in
// the field when. If they contain "no", it releases the call.
type stub struct {
	name string
	when agui.Type
	fed  []string
	err  error
}

func (s *stub) Name() string                                             { return s.name }
func (s *stub) Answers(agui.RunInput, agui.Pause) ([]agui.Answer, error) { return nil, nil }
func (s *stub) Begin(*translate.Request) (translate.Out, translate.Run, error) {
	return translate.Out{Body: []byte("dropped")}, s, s.err
}

func (s *stub) Event(ev agui.Event, emit func(agui.Event)) error {
	s.fed = append(s.fed, string(ev.JSON))
	if ev.Type != agui.CallStart {
		emit(ev)
	}
	return nil
}

func (s *stub) End(e translate.End) (translate.Result, error) {
	s.fed = append(s.fed, string(e.Event.JSON))
	return translate.Result{
		HeldEvents: []agui.Event{agui.NewEvent([]byte(`{"type":"CUSTOM","name":"last"}`))}, Finish: e.Event,
		Asked: translate.AskedPause{Interrupts: []agui.Interrupt{{Native: "n"}}},
	}, nil
}

func (s *stub) SignCall(ev agui.Event, c agui.Call, _ *translate.Request) translate.Verdict {
	switch {
	case ev.Type == s.when && strings.Contains(c.Args, "yes"):
		return translate.Mine
	case strings.Contains(c.Args, "no"):
		return translate.No
	case ev.Type == agui.CallEnd && c.ID == "" && ev.Get("toolCallId").Str == "orphan":
		return translate.Hold
	case c.Name == "maybe" && (ev.Get("toolCallId").Str == c.ID || ev.Type == agui.CallChunk):
		return translate.Hold
	}
	return translate.No
}

func TestHolding(t *testing.T) {
	start := func(id, tool string) string {
		return `{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + tool + `"}`
	}
	args := func(id, delta string) string {
		return `{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"` + delta + `"}`
	}
	end := func(id string) string { return `{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}` }
	chunk := func(id, delta string) string {
		return `{"type":"TOOL_CALL_CHUNK"` + id + `,"delta":"` + delta + `"}`
	}
	result := `{"type":"TOOL_CALL_RESULT","toolCallId":"1","content":"x"}`
	long := strings.Repeat("a", 8<<20)
	half := long[:5<<20]
	a := start("1", "maybe")
	for name, c := range map[string]struct {
		when   agui.Type
		stream []string
		shown  []string // what the client gets, in order
		fed    []string // what the dialect gets if it claims the stream
	}{
		"claimed by its arguments": {
			agui.CallArgs,
			[]string{started, a, args("1", "ye"), text, args("1", "s"), end("1"), finished},
			[]string{started, text, args("1", "ye"), args("1", "s"), end("1"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", "ye"), args("1", "s"), end("1"), finished},
		},
		"claimed at its end": {
			agui.CallEnd,
			[]string{started, a, args("1", "yes"), end("1"), finished},
			[]string{started, args("1", "yes"), end("1"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", "yes"), end("1"), finished},
		},
		"claimed by the terminal event": {
			agui.RunFinished,
			[]string{started, a, args("1", "yes"), text, finished},
			[]string{started, text, args("1", "yes"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", "yes"), finished},
		},
		"claimed by a CUSTOM event": {
			agui.Custom,
			[]string{started, a, args("1", "yes"), `{"type":"CUSTOM","name":"x"}`, text, finished},
			[]string{started, args("1", "yes"), `{"type":"CUSTOM","name":"x"}`, text, `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", "yes"), `{"type":"CUSTOM","name":"x"}`, text, finished},
		},
		"claimed by a snapshot": {
			agui.MessagesSnapshot,
			[]string{started, a, args("1", "yes"), `{"type":"MESSAGES_SNAPSHOT","messages":[]}`, text, finished},
			[]string{started, args("1", "yes"), `{"type":"MESSAGES_SNAPSHOT","messages":[]}`, text, `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", "yes"), `{"type":"MESSAGES_SNAPSHOT","messages":[]}`, text, finished},
		},
		"given up by its arguments": {
			agui.CallArgs,
			[]string{started, a, args("1", "x"), text, args("1", "no"), args("1", "more"), end("1"), finished},
			[]string{started, text, a, args("1", "x"), args("1", "no"), args("1", "more"), end("1")},
			nil,
		},
		"released at its end": {
			agui.CallArgs,
			[]string{started, a, args("1", "x"), text, end("1"), text, finished},
			[]string{started, text, a, args("1", "x"), end("1"), text},
			nil,
		},
		"released at the run's end": {
			agui.CallArgs,
			[]string{started, a, args("1", "x"), text, finished},
			[]string{started, text, a, args("1", "x")},
			nil,
		},
		"released at an error": {
			agui.CallArgs,
			[]string{started, a, args("1", "x"), failed},
			[]string{started, a, args("1", "x")},
			nil,
		},
		"released where the stream ends": {
			agui.CallArgs,
			[]string{started, a, args("1", "x")},
			[]string{started, a, args("1", "x")},
			nil,
		},
		"released before its result": {
			agui.CallEnd,
			[]string{started, a, args("1", "x"), result, finished},
			[]string{started, a, args("1", "x"), result},
			nil,
		},
		"two calls at once, and one is nothing": {
			agui.CallEnd,
			[]string{started, a, start("2", "maybe"), args("2", "x"), args("1", "yes"), end("2"), end("1"), finished},
			[]string{started, start("2", "maybe"), args("2", "x"), end("2"), args("1", "yes"), end("1"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", "yes"), end("1"), finished},
		},
		"two calls at once, and both are claimed": {
			agui.CallEnd,
			[]string{started, a, start("2", "maybe"), args("2", "yes"), args("1", "yes"), end("2"), end("1"), finished},
			[]string{started, args("2", "yes"), args("1", "yes"), end("2"), end("1"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, start("2", "maybe"), args("2", "yes"), args("1", "yes"), end("2"), end("1"), finished},
		},
		"another tool": {
			agui.CallArgs,
			[]string{started, start("1", "other"), args("1", "yes"), end("1"), finished},
			[]string{started, start("1", "other"), args("1", "yes"), end("1")},
			nil,
		},
		"a call in chunks": {
			agui.CallChunk,
			[]string{started, chunk(`,"toolCallId":"1","toolCallName":"maybe"`, "y"), text, chunk("", "es"), finished},
			[]string{started, text, chunk(`,"toolCallId":"1","toolCallName":"maybe"`, "y"), chunk("", "es"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, chunk(`,"toolCallId":"1","toolCallName":"maybe"`, "y"), chunk("", "es"), finished},
		},
		"an end without a start is released by the next event": {
			agui.RunFinished,
			[]string{started, end("orphan"), text, finished},
			[]string{started, end("orphan"), text},
			nil,
		},
		"an end of a call that passed": {
			agui.RunFinished,
			[]string{started, start("orphan", "other"), text, end("orphan"), text, finished},
			[]string{started, start("orphan", "other"), text, end("orphan"), text},
			nil,
		},
		"an end without a start, and then a call": {
			agui.CallArgs,
			[]string{started, end("orphan"), a, args("1", "yes"), end("1"), finished},
			[]string{started, end("orphan"), args("1", "yes"), end("1"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", "yes"), end("1"), finished},
		},
		"two calls too long to hold together": {
			agui.CallEnd,
			[]string{started, a, args("1", half), start("2", "maybe"), args("2", half), end("2"), args("1", "yes"), end("1"), finished},
			[]string{started, start("2", "maybe"), args("2", half), end("2"), args("1", half), args("1", "yes"), end("1"), `{"type":"CUSTOM","name":"last"}`},
			[]string{started, a, args("1", half), args("1", "yes"), end("1"), finished},
		},
		"a call too long to hold": {
			agui.CallEnd,
			[]string{started, a, args("1", long), text, end("1"), finished},
			[]string{started, a, args("1", long), text, end("1")},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := &stub{name: "first", when: "never"}, &stub{name: "second", when: c.when}
			shown, res, err := play(t, auto.New([]translate.Dialect{first, second}, auto.Options{}), agui.Pause{}, c.stream...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ev := range shown {
				if ev.Edited {
					t.Errorf("touched: %s", ev.JSON)
				}
				got = append(got, string(ev.JSON))
			}
			if !slices.Equal(got, c.shown) {
				t.Errorf("shown\n%.300s, want\n%.300s", strings.Join(got, "\n"), strings.Join(c.shown, "\n"))
			}
			if !slices.Equal(second.fed, c.fed) || first.fed != nil {
				t.Errorf("fed\n%s, want\n%s", strings.Join(second.fed, "\n"), strings.Join(c.fed, "\n"))
			}
			if c.fed != nil && res.DetectedDialect != "second" {
				t.Errorf("dialect %q", res.DetectedDialect)
			}
		})
	}
	t.Run("a dialect that cannot begin", func(t *testing.T) {
		s := &stub{name: "s", when: agui.CallArgs, err: errors.New("no")}
		if _, _, err := play(t, auto.New([]translate.Dialect{s}, auto.Options{}), agui.Pause{}, started, a, args("1", "yes")); !errors.Is(err, s.err) {
			t.Error(err)
		}
	})
}

// A waiter is a stub that holds calls of confirm_changes to the end of the run. It claims them if
// the run ends in a RUN_FINISHED without an outcome.
type waiter struct{ stub }

func (w *waiter) SignCall(ev agui.Event, c agui.Call, _ *translate.Request) translate.Verdict {
	switch {
	case c.Name != "confirm_changes" || ev.Type == agui.RunErrored:
		return translate.No
	case ev.Type != agui.RunFinished:
		return translate.HoldToEnd
	case ev.Get("outcome").Exists():
		return translate.No
	}
	return translate.Mine
}

func (w *waiter) Begin(*translate.Request) (translate.Out, translate.Run, error) {
	return translate.Out{}, w, nil
}

// TestWaitingForTheEndOfTheRun checks a call that can be judged only at the end of the run. The
// call and all events that follow it must be held until then, in the backend's order. A stream that
// no dialect claims must be unchanged. If no dialect waits for the end, a confirm_changes without
// arguments must be emitted at once, because ag-ui-adk sends such a call.
func TestWaitingForTheEndOfTheRun(t *testing.T) {
	begins, args, ends := `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"confirm_changes"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"c"}`
	call := []string{begins, args, ends}
	state, result := `{"type":"STATE_SNAPSHOT","snapshot":{}}`, `{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"c","content":"ok"}`
	snapshot := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","toolCalls":[{"id":"w","type":"function","function":{"name":"w","arguments":"{}"}},{"id":"c","type":"function","function":{"name":"confirm_changes","arguments":"{}"}}]}]}`
	approval := `{"type":"CUSTOM","name":"function_approval_request","value":{"id":"w","function_call":{"call_id":"w","name":"w","arguments":{}}}}`
	listed := `{"type":"RUN_FINISHED","threadId":"t","runId":"r","interrupt":[{"id":"w","value":{"type":"function_approval_request","function_call":{"call_id":"w","name":"w","arguments":{}}}}]}`
	adk := outcome(`{"id":"c","reason":"confirm_changes","toolCallId":"c","metadata":{"predict_state":[]}}`)
	for name, c := range map[string]struct {
		behind  []string // the events after the call
		dialect string   // the dialect that claims the stream, if one waits for the end
		dropped bool
		passes  string // the dialect that claims the stream, if none waits
	}{
		"the outcome of another":               {[]string{state, adk}, "agui", false, "agui"},
		"a plain end":                          {[]string{state, finished}, "waiter", true, ""},
		"nothing behind it":                    {[]string{finished}, "waiter", true, ""},
		"an outcome directly behind it":        {[]string{adk}, "agui", false, "agui"},
		"a snapshot":                           {[]string{snapshot, finished}, "waiter", true, ""},
		"a snapshot, and somebody's outcome":   {[]string{snapshot, state, adk}, "agui", false, "agui"},
		"a result":                             {[]string{snapshot, result, finished}, "waiter", true, ""},
		"failed":                               {[]string{snapshot, failed}, "", false, ""},
		"broken off":                           {[]string{snapshot, state}, "", false, ""},
		"an approval behind it":                {[]string{approval, listed}, "agent-framework", false, "agent-framework"},
		"an approval behind a snapshot":        {[]string{snapshot, approval, listed}, "agent-framework", false, "agent-framework"},
		"a second one behind it":               {append(slices.Clone(call), state, finished), "waiter", true, ""},
		"another call without arguments after": {[]string{state, strings.Replace(begins, `"c"`, `"d"`, 1), strings.Replace(ends, `"c"`, `"d"`, 1), finished}, "waiter", true, ""},
	} {
		for _, waits := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/waits %v", name, waits), func(t *testing.T) {
				stream := slices.Concat([]string{started}, call, c.behind)
				af, err := agentframework.New(struct{}{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				list, dialect, early, dropped := []translate.Dialect{af, new(standard.Dialect)}, c.passes, len(stream)-1, false
				if waits {
					list, dialect, early, dropped = append([]translate.Dialect{&waiter{stub{name: "waiter"}}}, list...), c.dialect, 1, c.dropped
				}
				if !agui.NewEvent([]byte(stream[len(stream)-1])).Type.Terminal() && !waits {
					early++
				}
				d := auto.New(list, auto.Options{})
				_, run, err := d.Begin(&translate.Request{Input: parse(t, ""), Transcript: noTranscript{}})
				if err != nil {
					t.Fatal(err)
				}
				var shown []string
				end := translate.End{}
				for _, s := range stream {
					ev := agui.NewEvent([]byte(s))
					if ev.Type.Terminal() {
						end.Event = ev
						break
					}
					if err := run.Event(ev, func(ev agui.Event) { shown = append(shown, string(ev.JSON)) }); err != nil {
						t.Fatal(err)
					}
				}
				asked := slices.Contains(stream, approval)
				if got := len(shown); got != early && !asked {
					t.Errorf("told %d before the end: %q", got, shown)
				}
				res, err := run.End(end)
				if err != nil || res.DetectedDialect != dialect {
					t.Fatalf("found %q %v", res.DetectedDialect, err)
				}
				for _, ev := range res.HeldEvents {
					shown = append(shown, string(ev.JSON))
				}
				if end.Event.Type.Terminal() {
					stream = stream[:len(stream)-1]
				}
				switch {
				case asked: // the client gets the call but not yet the question
					if n := slices.Index(shown, ends); n < 3 || slices.Contains(shown, approval) {
						t.Errorf("told\n%s", strings.Join(shown, "\n"))
					}
				case dropped && slices.Contains(shown, begins), !dropped && !slices.Equal(shown, stream):
					t.Errorf("told\n%s", strings.Join(shown, "\n"))
				}
			})
		}
	}
}
