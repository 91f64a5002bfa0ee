package dialects

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/auto"
)

type noTranscript struct{}

func (noTranscript) Calls() []agui.Call                  { return nil }
func (noTranscript) Messages() ([]json.RawMessage, bool) { return nil, true }
func (noTranscript) State() (json.RawMessage, bool)      { return nil, true }

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
)

// pieceOf has a frame with a piece of text for each backend that does not speak AG-UI. The first
// string is the frame's data, with %s for the text, the second one the frame's name.
var pieceOf = map[string][2]string{
	"langgraph-server": {`[{"type":"AIMessageChunk","id":"m","content":"%s"},{"langgraph_node":"model"}]`, "messages"},
	"strands":          {`{"event": {"contentBlockDelta": {"delta": {"text": "%s"}}}}`, ""},
	"superagent":       {`{"type":"text","timestamp":1788256800500,"data":{"content":"","delta":"%s"}}`, "text"},
}

// BenchmarkRun measures an ordinary run through Begin, Event (or Decode) and End. The dialect has
// nothing to do in it. ns/event is the useful number, and ns/op applies to the whole run.
func BenchmarkRun(b *testing.B) {
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","state":{},"messages":[{"id":"u","role":"user","content":"go"}],"tools":[],"context":[],"forwardedProps":{}}`))
	if err != nil {
		b.Fatal(err)
	}
	request := &translate.Request{Input: in, ClientMessages: in.Messages, Transcript: noTranscript{}}
	text := strings.Repeat("x", 135)
	for _, name := range All().Names() {
		list := All()
		if name != auto.Name { // auto takes only dialects that need no options
			list = ready(b)
		}
		d := made(b, list, name)
		if _, foreign := d.(translate.Foreign); foreign {
			b.Run(name+"/text", func(b *testing.B) {
				piece := pieceOf[name]
				p := translate.Piece{Name: []byte(piece[1]), Data: fmt.Appendf(nil, piece[0], text)}
				benchmarkPieces(b, d, request, p)
			})
			continue
		}
		b.Run(name+"/text", func(b *testing.B) {
			benchmarkEvents(b, d, request, repeated(1000, func(int) []string {
				return []string{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + text + `"}`}
			}))
		})
		b.Run(name+"/calls", func(b *testing.B) { benchmarkEvents(b, d, request, repeated(200, call)) })
	}
}

func benchmarkEvents(b *testing.B, d translate.Dialect, request *translate.Request, body []string) {
	events := []agui.Event{agui.NewEvent([]byte(started))}
	for _, one := range body {
		events = append(events, agui.NewEvent([]byte(one)))
	}
	shown := 0
	emit := func(agui.Event) { shown++ }
	b.ReportAllocs()
	for b.Loop() {
		_, run, err := d.Begin(request)
		if err != nil {
			b.Fatal(err)
		}
		shown = 0
		for _, ev := range events {
			if err := run.Event(ev, emit); err != nil {
				b.Fatal(err)
			}
		}
		res, err := run.End(translate.End{Event: agui.NewEvent([]byte(finished))})
		if err != nil || shown+len(res.HeldEvents) != len(events) || len(res.Asked.Interrupts) > 0 {
			b.Fatalf("%d of %d events, %+v, %v", shown+len(res.HeldEvents), len(events), res, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}

func benchmarkPieces(b *testing.B, d translate.Dialect, request *translate.Request, p translate.Piece) {
	const pieces = 1000
	b.ReportAllocs()
	for b.Loop() {
		_, run, err := d.Begin(request)
		if err != nil {
			b.Fatal(err)
		}
		decoder := streaming(b, run)
		run = decoder
		shown := 0
		for range pieces {
			err := decoder.Decode(p, func(ev agui.Event) {
				shown++
				if err := run.Event(ev, func(agui.Event) {}); err != nil {
					b.Fatal(err)
				}
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		if shown < pieces {
			b.Fatalf("%d of %d events", shown, pieces)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pieces), "ns/event")
}

// emptyThread is a server's state of a thread without messages.
const emptyThread = `{"values":{},"next":[],"tasks":[]}`

// streaming returns the exchange that has the run's stream. The exchanges before it ask about the
// thread, which is empty.
func streaming(b *testing.B, run translate.Run) translate.Decoder {
	for {
		decoder := run.(translate.Decoder)
		switch {
		case decoder.Framing("text/event-stream") == translate.Frames:
			return decoder
		case decoder.Framing("application/json") != translate.Whole:
			b.Fatal("an exchange of the run has neither a stream nor a JSON answer")
		}
		if err := decoder.Decode(translate.Piece{Data: []byte(emptyThread)}, func(agui.Event) {}); err != nil {
			b.Fatal(err)
		}
		res, err := run.End(translate.End{})
		if err != nil || res.Next == nil {
			b.Fatalf("the run has no stream: %+v, %v", res, err)
		}
		run = res.Next.Run
	}
}

func repeated(n int, one func(n int) []string) []string {
	var list []string
	for i := range n {
		list = append(list, one(i)...)
	}
	return list
}

// call returns the events of a tool call that asks nothing, and its result.
func call(n int) []string {
	id := fmt.Sprintf("call-%d", n)
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"search","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"{\"query\":"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":"\"holdpoint\"}"}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"result-` + id + `","toolCallId":"` + id + `","content":"nothing found","role":"tool"}`,
	}
}
