package proxy

import (
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/translate"
	"holdpoint/translate/dialects"
)

// BenchmarkPassedFrame measures the cost of a frame that is forwarded unchanged, without the
// network.
func BenchmarkPassedFrame(b *testing.B) {
	frame := streamOf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat("x", 135) + `"}`)
	h := &Handler{opts: Options{MaxFrameBytes: defaultFrameBytes, Dialect: &fakeDialect{}}}
	r := loneRun(b.Context(), h, "/", &agui.RunInput{})
	r.client.transcript = transcript.New(defaultTranscriptBytes, nil, nil)
	_, translation, err := (&fakeDialect{}).Begin(&translate.Request{})
	if err != nil {
		b.Fatal(err)
	}
	r.exchange.Run = translation
	body := bodyOver(r, io.NopCloser(&forever{frame: []byte(frame)}), translate.Unread)
	body.started = true
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	read := 0
	for b.Loop() {
		for read < len(frame) {
			n, err := readFrom(body)
			if err != nil {
				b.Fatal(err)
			}
			read += n
		}
		read -= len(frame)
	}
}

// BenchmarkOrdinaryRun measures a whole run of usual length without the network. The dialect is
// "auto". The measurement includes the cost of keeping the messages for snapshots.
func BenchmarkOrdinaryRun(b *testing.B) {
	text := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat("x", 135) + `"}`
	benchmarkRun(b, 10_000, strings.Repeat(streamOf(text), 10_000))
}

// BenchmarkRunWithRequests measures a run of 10,000 frames. Each 200 frames contain two calls of
// request_approval and their results.
func BenchmarkRunWithRequests(b *testing.B) {
	text := strings.Repeat(streamOf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"`+strings.Repeat("x", 135)+`"}`), 96)
	var block strings.Builder
	for n := range 100 {
		id := strconv.Itoa(n)
		block.WriteString(text + streamOf(
			`{"type":"TOOL_CALL_START","toolCallId":"call-`+id+`","toolCallName":"request_approval","parentMessageId":"m1"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"call-`+id+`","delta":"{\"request\":{\"approval_id\":\"call-`+id+`\",\"function_name\":\"delete_report\",\"function_arguments\":{\"path\":\"/reports/`+id+`\",\"recursive\":true},\"message\":\"Approve?\"}}"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"call-`+id+`"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"result-call-`+id+`","toolCallId":"call-`+id+`","content":"deleted","role":"tool"}`,
		))
	}
	benchmarkRun(b, 10_000, block.String())
}

// BenchmarkRunWithTurns measures a long run. Its agent sends a message, a call and the result of
// the call again and again.
func BenchmarkRunWithTurns(b *testing.B) { benchmarkRun(b, 400*27, someTurns(400)) }

// BenchmarkRunWithRaw measures a run with the events of LangGraph's adapter: text with its
// rawEvent, and RAW events of 1 to 100 KB.
func BenchmarkRunWithRaw(b *testing.B) {
	message := func(length int) string {
		return `{"type":"ai","id":null,"content":"` + strings.Repeat("The agent reads what it was told, and answers in small pieces. ", length/63) + `","additional_kwargs":{},"response_metadata":{"model_name":"m"},"tool_calls":[],"usage_metadata":null}`
	}
	raw := func(messages int) string {
		return `{"type":"RAW","event":{"event":"on_chain_stream","run_id":"r","data":{"chunk":{"messages":[` + strings.Repeat(message(800)+",", messages) + `{}]}},"metadata":{"langgraph_step":1,"langgraph_checkpoint_ns":"a:1"}},"source":"langgraph"}`
	}
	text := `{"type":"TEXT_MESSAGE_CONTENT","rawEvent":{"event":"on_chat_model_stream","data":{"chunk":` + message(63) + `},"metadata":{"langgraph_step":1,"langgraph_checkpoint_ns":"a:1"}},"messageId":"m1","delta":"a word "}`
	block := strings.Repeat(streamOf(text, text, text, raw(1), raw(1)), 20) + streamOf(raw(10), raw(10), raw(100))
	benchmarkRun(b, 103, block)
}

// BenchmarkFold measures how long it takes to make messages from the events of the run that
// BenchmarkRunWithTurns measures.
func BenchmarkFold(b *testing.B) {
	var events []agui.Event
	for one := range strings.SplitSeq(strings.TrimSpace(someTurns(400)), "\n\n") {
		events = append(events, framed(strings.TrimPrefix(one, dataPrefix)))
	}
	b.ReportAllocs()
	for b.Loop() {
		t := transcript.New(defaultTranscriptBytes, nil, nil)
		for _, ev := range events {
			t.Add(ev)
		}
		if n := len(t.Calls()); n != 400 {
			b.Fatalf("%d calls", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/frame")
}

func someTurns(turns int) string {
	var block strings.Builder
	for n := range turns {
		id := strconv.Itoa(n)
		block.WriteString(streamOf(`{"type":"TEXT_MESSAGE_START","messageId":"m-` + id + `","role":"assistant"}`))
		block.WriteString(strings.Repeat(streamOf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m-`+id+`","delta":"`+strings.Repeat("x", 135)+`"}`), 20))
		block.WriteString(streamOf(
			`{"type":"TEXT_MESSAGE_END","messageId":"m-`+id+`"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c-`+id+`","toolCallName":"search","parentMessageId":"m-`+id+`"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c-`+id+`","delta":"{\"query\":"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c-`+id+`","delta":"\"holdpoint\"}"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"c-`+id+`"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"r-`+id+`","toolCallId":"c-`+id+`","content":"nothing found","role":"tool"}`,
		))
	}
	return block.String()
}

// A failing is a log writer. It fails the benchmark when something is logged, because the runs of
// the benchmark must not fail.
type failing struct{ b *testing.B }

func (f failing) Write(line []byte) (int, error) {
	f.b.Errorf("%s", line)
	return len(line), nil
}

// benchmarkRun measures a run with the dialect "auto". inside is the part of the stream between the
// start and the end of its text message. frames is the number of frames in inside.
func benchmarkRun(b *testing.B, frames int, inside string) {
	finished := `{"type":"RUN_FINISHED","threadId":"t","runId":"r1"}`
	whole := streamOf(started, `{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`) + inside + streamOf(`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`, finished)
	in, _, err := agui.ParseInput([]byte(input("t", "r1", "")))
	if err != nil {
		b.Fatal(err)
	}
	d, err := dialects.All().New("auto", nil)
	if err != nil {
		b.Fatal(err)
	}
	h := &Handler{opts: Options{Dialect: &fakeDialect{}, MaxFrameBytes: defaultFrameBytes, TranscriptBytes: defaultTranscriptBytes}, refuser: refuser{log: slog.New(slog.NewTextHandler(failing{b}, &slog.HandlerOptions{Level: slog.LevelError}))}}
	b.SetBytes(int64(len(whole)))
	b.ReportAllocs()
	for b.Loop() {
		r := loneRun(b.Context(), h, "/", &in)
		r.client.transcript = transcript.New(defaultTranscriptBytes, in.Messages, in.State)
		_, translation, err := d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: r.client.transcript})
		if err != nil {
			b.Fatal(err)
		}
		r.exchange.Run = translation
		body := bodyOver(r, io.NopCloser(strings.NewReader(whole)), translate.Unread)
		read := 0
		for {
			n, err := readFrom(body)
			read += n
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if read < len(whole)/10*9 {
			b.Fatalf("%d of %d bytes", read, len(whole))
		}
		r.client.transcript.Drop() // the end of a run does the same
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
}
