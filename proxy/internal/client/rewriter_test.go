package client

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
)

// readAs returns the events that a client gets if the backend sends these events. line is the kind
// of the client.
func readAs(line *clients.Line, events ...string) []string {
	s := Rewriter{Line: line, NewID: func() string { return "new" }}
	var got []string
	for _, ev := range events {
		s.Send(agui.NewEvent([]byte(ev)), func(ev agui.Event) { got = append(got, string(ev.JSON)) })
	}
	return got
}

// TestReadable checks the streams of clients that fail at some types of events.
func TestReadable(t *testing.T) {
	t.Parallel()
	const (
		chunk    = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"a"}`
		nameless = `{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}`
		begun    = `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`
		a        = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a"}`
		b        = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"b"}`
		ended    = `{"type":"TEXT_MESSAGE_END","messageId":"m1"}`
		finish   = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
		failed   = `{"type":"RUN_ERROR","message":"x"}`
		call     = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"f","parentMessageId":"m2","delta":"{\"x\":"}`
		rest     = `{"type":"TOOL_CALL_CHUNK","delta":"1}"}`
		called   = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f","parentMessageId":"m2"}`
		args     = `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"x\":"}`
		args2    = `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"1}"}`
		done     = `{"type":"TOOL_CALL_END","toolCallId":"c1"}`
		other    = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c2","toolCallName":"g","delta":"{}"}`
		otherOn  = `{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"g"}`
		otherIs  = `{"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{}"}`
		otherUp  = `{"type":"TOOL_CALL_END","toolCallId":"c2"}`
		late     = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","delta":"1}"}`
		result   = `{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"c1","content":"sunny, 20°"}`
		quoted   = `{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"c1","content":"\"sunny, 20°\""}`
		parsed   = `{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"c1","content":"{\"ok\":true}"}`
		empty    = `{"type":"TOOL_CALL_RESULT","messageId":"r1","toolCallId":"c1","content":""}`
		step     = `{"type":"STEP_STARTED","stepName":"s"}`
		raw      = `{"type":"RAW","event":{}}`
		custom   = `{"type":"CUSTOM","name":"x","value":1}`
		thought  = `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m9","delta":"hm"}`
		think    = `{"type":"THINKING_START"}`
		strange  = `{"type":"SOMETHING_NEW"}`
		subrun   = `{"type":"SUBAGENT_STARTED","subagentRunId":"s"}`
		broken   = `{"type":"RUN_FINISHED","type":"RUN_ERROR"}`
	)
	list := func(events ...string) []string { return events }
	for _, test := range []struct {
		name              string
		came, inTree, sdk []string // nil: unchanged
	}{
		{"chunks of a text", list(chunk, nameless, finish), list(begun, a, b, ended, finish), list(begun, a, b, ended, finish)},
		{"chunks of a text that fails", list(chunk, failed), list(begun, a, ended, failed), list(begun, a, ended, failed)},
		{"an empty chunk begins the text", list(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant"}`, finish), list(begun, ended, finish), list(begun, ended, finish)},
		{"a chunk without any id", list(nameless, finish), list(strings.ReplaceAll(begun, "m1", "text-new"), strings.ReplaceAll(b, "m1", "text-new"), strings.ReplaceAll(ended, "m1", "text-new"), finish),
			list(strings.ReplaceAll(begun, "m1", "text-new"), strings.ReplaceAll(b, "m1", "text-new"), strings.ReplaceAll(ended, "m1", "text-new"), finish)},
		{"a text with its own end", list(chunk, ended, finish), list(begun, a, ended, finish), list(begun, a, ended, finish)},
		{"two texts", list(chunk, `{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`), list(begun, a, ended, `{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`),
			list(begun, a, ended, `{"type":"TEXT_MESSAGE_START","messageId":"m2","role":"assistant"}`)},
		{"chunks of a call", list(call, rest, result, finish), list(called, args, args2, done, quoted, finish), list(called, args, args2, done, result, finish)},
		{"a call inside a text", list(chunk, call, rest, nameless, finish), list(begun, a, called, args, args2, b, ended, done, finish), list(begun, a, called, args, args2, b, ended, done, finish)},
		{"two calls", list(call, rest, other, finish), list(called, args, args2, done, otherOn, otherIs, otherUp, finish), list(called, args, args2, otherOn, otherIs, done, otherUp, finish)},
		{"two calls that interleave", list(call, other, late, finish), list(called, args, done, otherOn, otherIs, otherUp, finish), list(called, args, otherOn, otherIs, args2, done, otherUp, finish)},
		{"half of a surrogate pair in a text", list(strings.Replace(chunk, `"a"`, `"\ud83d"`, 1), finish), list(begun, strings.Replace(a, `"a"`, `"\ud83d"`, 1), ended, finish), list(begun, strings.Replace(a, `"a"`, `"\ud83d"`, 1), ended, finish)},
		{"half of a surrogate pair in a call", list(call, strings.Replace(rest, `1}`, `\ude00`, 1), finish), list(called, args, strings.Replace(args2, `1}`, `\ude00`, 1), done, finish), list(called, args, strings.Replace(args2, `1}`, `\ude00`, 1), done, finish)},
		{"a call without a name", list(`{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","delta":"1"}`, finish), list(finish), list(finish)},
		{"results", list(parsed, empty), nil, nil},
		{"what only decorates", list(step, raw, custom, a), list(a), nil},
		{"reasoning", list(thought, a), list(a), nil},
		{"what neither knows", list(think, strange, subrun, a), list(a), list(a)},
		{"what cannot be acted on", list(broken), nil, nil},
		{"a text as it is", list(begun, a, b, ended, finish), nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, reader := range []struct {
				line *clients.Line
				want []string
			}{{clients.InTree, test.inTree}, {clients.SDK, test.sdk}, {clients.Official, nil}, {nil, nil}} {
				want := reader.want
				if want == nil {
					want = test.came
				}
				if got := readAs(reader.line, test.came...); strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("%q got\n%s\nwant\n%s", reader.line, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			if got := readAs(clients.InTreeReasoning, thought); len(got) != 1 {
				t.Error("reasoning is left out although the client reads it")
			}
		})
	}
}

func TestReadableAllocatesNothing(t *testing.T) {
	ev := agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a"}`))
	result := agui.NewEvent([]byte(`{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c","content":"1"}`))
	give := func(agui.Event) {}
	for _, line := range []*clients.Line{nil, clients.Official, clients.SDK, clients.InTree} {
		s := Rewriter{Line: line}
		if n := testing.AllocsPerRun(100, func() { s.Send(ev, give); s.Send(result, give); s.Passes(ev.Type) }); n != 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}

// FuzzReadable checks that, for any stream, a client gets all of the text, and no event of a type
// that it does not know.
func FuzzReadable(f *testing.F) {
	f.Add(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"a"}` + "\n" + `{"type":"TEXT_MESSAGE_CHUNK","delta":"b"}` + "\n" + `{"type":"RUN_FINISHED"}`)
	f.Add(`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","delta":"a"}` + "\n" + `{"type":"TOOL_CALL_RESULT","toolCallId":"c","content":"x"}`)
	f.Add(`{"type":"STEP_STARTED"}` + "\n" + `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}` + "\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		events := strings.Split(text, "\n")
		said := func(events []string) string {
			var all strings.Builder
			for _, ev := range events {
				switch ev := agui.NewEvent([]byte(ev)); ev.Type {
				case agui.TextChunk, agui.TextContent:
					all.WriteString(ev.Get("delta").Str)
				}
			}
			return all.String()
		}
		for _, line := range clients.Lines {
			got := readAs(line, events...)
			for _, ev := range got {
				if !line.Reads(agui.PeekType([]byte(ev))) {
					t.Fatalf("%q got %s", line, ev)
				}
			}
			if a, b := said(events), said(got); a != b {
				t.Fatalf("%q reads %q, want %q", line, b, a)
			}
		}
	})
}
