package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A passing Run looks at nothing and says so; a silent one says nothing.
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

// shownBy is what a client gets of a stream, and what the transcript tells of it behind.
func shownBy(t *testing.T, in io.Reader, translation translate.Run, limit int) string {
	t.Helper()
	h := &Handler{opts: Options{MaxFrameBytes: 4 << 10, Dialect: &fakeDialect{}}, log: slog.New(slog.DiscardHandler)}
	r := &run{h: h, log: h.log, ctx: t.Context(), attempt: attempt{transcript: newTranscript(limit, nil, nil)}}
	r.exchange = translate.Exchange{Run: translation}
	b := newBody(r, io.NopCloser(in), translate.Unread)
	b.started = true
	var out bytes.Buffer
	for {
		made, row, _, err := b.pull()
		out.Write(made)
		out.Write(row)
		if err != nil {
			break
		}
	}
	return out.String() + told(r.transcript)
}

// told is all that a transcript tells.
func told(tr *transcript) string {
	var b strings.Builder
	messages, whole := tr.Messages()
	state, known := tr.State()
	fmt.Fprintf(&b, "\nmessages %s %v\nstate %s %v\n", agui.MustMarshal(append([]json.RawMessage{}, messages...)), whole, state, known)
	for _, c := range tr.Calls() {
		fmt.Fprintf(&b, "call %+v\n", c)
	}
	for _, ev := range tr.unclosed() {
		fmt.Fprintf(&b, "open %s\n", ev.JSON)
	}
	return b.String()
}

// FuzzRow: what is told by its beginning comes to what each event alone comes to, for the client and for the transcript, however
// the stream arrives.
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
		f.Add(stream(events...))
	}
	one := stream(piece(text, "a"))
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

// TestFoldedLateAsAtOnce: it makes no difference to what is told whether events are read as they come or much later, joined; and
// over the bound a message is not known at all, or whole.
func TestFoldedLateAsAtOnce(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 5))
		limit := []int{1 << 20, 200, 2000, 100_000}[seed%4]
		late, atOnce := newTranscript(limit, nil, nil), newTranscript(limit, nil, nil)
		for _, ev := range someEvents(random, limit) {
			late.add(agui.NewEvent([]byte(ev)))
			atOnce.add(agui.NewEvent([]byte(ev)))
			atOnce.fold()
		}
		if got, want := told(late), told(atOnce); got != want {
			t.Fatalf("seed %d, limit %d: late\n%.2000s\nat once\n%.2000s", seed, limit, got, want)
		}
	}
}

// someEvents are those of a stream in which everything happens in order, of about as much text as the limit, or far more.
func someEvents(random *rand.Rand, limit int) (events []string) {
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	texts := []string{"word ", `\"quoted\" `, `\\`, `\n`, `\u00e9\u4e2d`, "日本", strings.Repeat("long ", 1+random.IntN(1+limit/20))}
	for m := range 2 + random.IntN(4) {
		add(`{"type":"TEXT_MESSAGE_START","messageId":"m%d","role":"assistant"}`, m)
		for range random.IntN(30) {
			switch random.IntN(12) {
			case 0:
				add(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/k%d","value":%d}]}`, random.IntN(5), m)
			case 1:
				add(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"%s","timestamp":%d}`, m, texts[random.IntN(len(texts))], m)
			case 2:
				add(`{"type":"TEXT_MESSAGE_CONTENT","rawEvent":{"delta":"no","n":%d},"messageId":"m%d","delta":"%s"}`, random.IntN(9), m, texts[random.IntN(len(texts))])
			default:
				add(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"%s"}`, m, texts[random.IntN(len(texts))])
			}
		}
		if random.IntN(3) > 0 {
			add(`{"type":"TEXT_MESSAGE_END","messageId":"m%d"}`, m)
		}
		switch random.IntN(4) {
		case 0:
			add(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"hi"},{"id":"m%d","role":"assistant","content":"so far"}]}`, m)
		case 1:
			add(`{"type":"STATE_SNAPSHOT","snapshot":{"text":"%s"}}`, texts[random.IntN(len(texts))])
		case 2:
			add(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f","parentMessageId":"m%d"}`, m, m)
			for range random.IntN(9) {
				add(`{"type":"TOOL_CALL_ARGS","toolCallId":"c%d","delta":"%s"}`, m, texts[random.IntN(len(texts))])
			}
			add(`{"type":"TOOL_CALL_END","toolCallId":"c%d"}`, m)
			add(`{"type":"TOOL_CALL_RESULT","messageId":"r%d","toolCallId":"c%d","content":"done"}`, m, m)
		}
	}
	return events
}

// TestTextBehindASnapshotIsWhole: what was over the bound is known again from a MESSAGES_SNAPSHOT on, and so is what streams
// behind it.
func TestTextBehindASnapshotIsWhole(t *testing.T) {
	tr := newTranscript(1<<10, nil, nil)
	piece := func(m, s string) {
		tr.add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + m + `","delta":"` + s + `"}`)))
	}
	start := func(m string) {
		tr.add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_START","messageId":"` + m + `","role":"assistant"}`)))
	}
	start("m1")
	for range 1000 {
		piece("m1", strings.Repeat("x", 1000))
	}
	if _, whole := tr.Messages(); whole {
		t.Fatal("a message over the bound is known")
	}
	tr.add(agui.NewEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"assistant","content":"short"}]}`)))
	start("m2")
	piece("m2", "and ")
	piece("m2", "whole")
	list, whole := tr.Messages()
	if !whole || len(list) != 2 || !strings.Contains(string(list[1]), `"and whole"`) {
		t.Errorf("%s, %v", list, whole)
	}
}

// TestEscapesAreCountedAsWhatTheyMean: the bound is one of what is told, not of how the backend writes it.
func TestEscapesAreCountedAsWhatTheyMean(t *testing.T) {
	const limit = 100_000
	tr := newTranscript(limit, nil, nil)
	tr.add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`)))
	for range 400 {
		tr.add(agui.NewEvent([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat(`\u00e9`, 100) + `"}`)))
	}
	list, whole := tr.Messages()
	if !whole || len(list) != 1 || strings.Count(string(list[0]), "é") != 40_000 {
		t.Errorf("80,000 bytes in 240,000 bytes of escapes: %d messages, whole %v", len(list), whole)
	}
}
