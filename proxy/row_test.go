package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/translate"
)

// A passing is a Run that forwards all events unchanged, and says so by its method Passes. A silent
// forwards the same, but has no method Passes.
type passing struct{ silent }

type silent struct{}

func (passing) Passes(t agui.Type) bool { return t == agui.TextContent || t == agui.CallArgs }

func (silent) Event(ev agui.Event, emit func(agui.Event)) error {
	emit(ev)
	return nil
}

func (silent) End(e translate.End) (translate.Result, error) {
	return translate.Result{Finish: e.Event}, nil
}

// shownBy returns the stream that the client gets, followed by the contents of the transcript.
func shownBy(t *testing.T, in io.Reader, translation translate.Run, limit int) string {
	t.Helper()
	h := &Handler{opts: Options{MaxFrameBytes: 4 << 10, Dialect: &fakeDialect{}}, refuser: refuser{log: slog.New(slog.DiscardHandler)}}
	r := loneRun(t.Context(), h, "/", &agui.RunInput{})
	r.client.transcript = transcript.New(limit, nil, nil)
	r.exchange.Run = translation
	b := bodyOver(r, io.NopCloser(in), translate.Unread)
	b.started = true
	var out bytes.Buffer
	for {
		made, row, _, err := b.nextOutput()
		out.Write(made)
		out.Write(row)
		if err != nil {
			break
		}
	}
	return out.String() + told(r.client.transcript)
}

// told returns the contents of a transcript as text.
func told(tr *transcript.Transcript) string {
	var b strings.Builder
	messages, whole := tr.Messages()
	state, known := tr.State()
	fmt.Fprintf(&b, "\nmessages %s %v\nstate %s %v\n", agui.MustMarshal(append([]json.RawMessage{}, messages...)), whole, state, known)
	for _, c := range tr.Calls() {
		fmt.Fprintf(&b, "call %+v\n", c)
	}
	for _, ev := range tr.ClosingEvents(false) {
		fmt.Fprintf(&b, "open %s\n", ev.JSON)
	}
	return b.String()
}

// FuzzRow: Holdpoint judges a row of similar events by its first event. The client and the
// transcript must get the same as if each event was judged alone, however the stream is split.
func FuzzRow(f *testing.F) {
	const text, args = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"%s"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"%s"}`
	begin := `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`
	piece := func(shape, s string) string { return fmt.Sprintf(shape, s) }
	for _, events := range [][]string{
		{begin, piece(text, "a"), piece(text, "b"), piece(text, `\"c\\`), piece(text, `\\\\`), piece(text, ""), piece(text, `\u00e9`)},
		{`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"}`, piece(args, `{\"a\":`), piece(args, `1}`), piece(args, ` `)},
		{begin, piece(text, "a"), `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"}`, piece(args, "x"), piece(text, "b"), piece(args, "y"), piece(args, "z"), piece(text, "c"), piece(text, "d")},
		{begin, piece(text, "a"), `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"b","x":"c"}`, piece(text, "d")},
		{begin, piece(text, "a"), `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"b","type":"RUN_FINISHED"}`, piece(text, "d")},
		{begin, piece(text, "a"), `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":7}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":""}`},
		{begin, piece(text, "a"), piece(text, "b"), `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, piece(text, "late")},
		{piece(text, "a"), piece(text, "b"), `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"assistant","content":"x"}]}`, piece(text, "c")},
	} {
		f.Add(streamOf(events...))
	}
	one := streamOf(piece(text, "a"))
	f.Add(one + strings.ReplaceAll(one, "\n", "\r\n") + one + "data: [DONE]\n\n" + one)
	f.Add(one + strings.Replace(one, "data: ", "data:", 1) + one + ": c\n" + one + "id: 1\n" + one)
	f.Add(one + strings.Replace(one, `"a"`, "\"a\n\ndata: [DONE]\n\n\"", 1) + one)
	f.Add(one + strings.Replace(one, `"a"`, "\"a\ndata: b\"", 1) + one + one[:len(one)-1])
	f.Add(one + strings.Replace(one, `a`, strings.Repeat("a", 5<<10), 1) + one)
	f.Fuzz(func(t *testing.T, in string) {
		const limit = 1 << 20
		want := shownBy(t, strings.NewReader(in), silent{}, limit)
		for name, cut := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "one byte": iotest.OneByteReader, "half": iotest.HalfReader, "error with data": iotest.DataErrReader,
		} {
			if got := shownBy(t, cut(strings.NewReader(in)), passing{}, limit); got != want {
				t.Fatalf("%s: of %q\n%s\nwant\n%s", name, in, got, want)
			}
		}
	})
}
