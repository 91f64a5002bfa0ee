package agui

import (
	"strings"
	"testing"
)

const rawNulls = `"rawEvent":{"authorName":null,"contents":[{"annotations":null}],"createdAt":null}`

// nullEvents are events of Agent Framework's .NET hosting of August 2026, and other events with
// nulls. want is the event without the nulls, or "" if the event must stay unchanged.
var nullEvents = map[string]struct{ event, want string }{
	"a start":                {`{"type":"RUN_STARTED","threadId":"t","runId":"r","parentRunId":null,"input":null,"timestamp":null,"rawEvent":null,"metadata":null}`, `{"type":"RUN_STARTED","threadId":"t","runId":"r","rawEvent":null}`},
	"a run of null":          {`{"type":"RUN_STARTED","threadId":"t","runId":null,"timestamp":null}`, `{"type":"RUN_STARTED","threadId":"t","runId":null}`},
	"a text":                 {`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"null","timestamp":null,` + rawNulls + `,"metadata":null}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"null",` + rawNulls + `}`},
	"a call":                 {`{"type":"TOOL_CALL_START","parentMessageId":null,"toolCallId":"c","toolCallName":"f",` + rawNulls + `}`, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f",` + rawNulls + `}`},
	"a result":               {`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"x","role":null,"timestamp":null,"rawEvent":null,"metadata":null}`, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"x","rawEvent":null}`},
	"an end":                 {`{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":{"type":"success"},"usage":null,"timestamp":null}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":{"type":"success"}}`},
	"a question":             {`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","message":"m","toolCallId":"c","responseSchema":{"default":null},"expiresAt":null,"metadata":null}]},"usage":null}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","message":"m","toolCallId":"c","responseSchema":{"default":null}}]}}`},
	"only inside it":         {`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","expiresAt":null}]}}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}}`},
	"any value":              {`{"type":"CUSTOM","name":"x","value":null,"rawEvent":null}`, ""},
	"a state":                {`{"type":"STATE_SNAPSHOT","snapshot":null}`, ""},
	"no type":                {`{"type":"X","timestamp":null}`, ""},
	"a member of no event's": {`{"type":"TEXT_MESSAGE_END","messageId":"m","other":null}`, ""},
	"no null":                {`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"null null"}`, ""},
	"inside only":            {`{"type":"TEXT_MESSAGE_END","messageId":"m",` + rawNulls + `}`, ""},
	"no JSON":                {`{"type":"TEXT_MESSAGE_END","timestamp":null,"messageId":x}`, ""},
	"white space":            {`{ "type":"TEXT_MESSAGE_END" , "timestamp" : null, "messageId": "m" }`, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`},
	"escapes":                {`{"type":"RAW","event":{},"s\u006furce":null}`, `{"type":"RAW","event":{}}`},
	"every letter escaped":   {`{"type":"STATE_DELTA","delta":[],"\u0073\u0075\u0062\u0061\u0067\u0065\u006e\u0074\u0052\u0075\u006e\u0049\u0064":null}`, `{"type":"STATE_DELTA","delta":[]}`},
	"typed names inside":     {`{"type":"RAW","event":{"source":null,"metadata":null,"m":"\"source\":null"},"source":"x"}`, ""},
	"between objects":        {`{"type":"RAW","event":{"a":{}},"source":null,"rawEvent":{"source":null}}`, `{"type":"RAW","event":{"a":{}},"rawEvent":{"source":null}}`},
}

func TestWithoutNulls(t *testing.T) {
	for name, c := range nullEvents {
		t.Run(name, func(t *testing.T) {
			ev := NewEvent([]byte(c.event))
			got := ev.WithoutNulls()
			if c.want == "" {
				if string(got.JSON) != c.event || got.Edited {
					t.Errorf("touched: %s", got.JSON)
				}
				if n := testing.AllocsPerRun(10, func() { ev.WithoutNulls() }); n > 0 && !strings.Contains(name, "JSON") {
					t.Errorf("%v allocations", n)
				}
				return
			}
			if string(got.JSON) != c.want || !got.Edited {
				t.Errorf("%s, want %s", got.JSON, c.want)
			}
		})
	}
}

// BenchmarkWithoutNulls measures events that stay unchanged: a piece of text, and RAW events as
// LangGraph's adapter sends them. Most of the RAW events have members that are null, deep in them.
func BenchmarkWithoutNulls(b *testing.B) {
	words := strings.Repeat("The number of reports in full would be annulled until noon. ", 16)
	nulls := strings.Repeat(`{"id":null,"name":null,"usage_metadata":null,"content":"The number of reports"},`, 12)
	chunk := strings.Repeat(`{"type":"ai","content":"The number of reports","tool_calls":[],"n":12},`, 14)
	for _, c := range []struct{ name, value string }{
		{"words 1 KB", `"` + words + `"`},
		{"chunk 1 KB", `[` + chunk + `0]`},
		{"nulls 1 KB", `[` + nulls + `0]`},
		{"nulls 1 MB", `[` + strings.Repeat(nulls, 1000) + `0]`},
		{"chunk 1 MB", `[` + strings.Repeat(chunk, 1000) + `0]`},
	} {
		b.Run(c.name, func(b *testing.B) {
			ev := NewEvent([]byte(`{"type":"RAW","event":{"event":"on_chain_stream","data":{"chunk":` + c.value + `}},"source":"langgraph"}`))
			b.SetBytes(int64(len(ev.JSON)))
			b.ReportAllocs()
			for b.Loop() {
				if ev.WithoutNulls().Edited {
					b.Fatal("edited")
				}
			}
		})
	}
}

// FuzzWithoutNulls: the result must be the same as that of a simple version, which parses every
// event.
func FuzzWithoutNulls(f *testing.F) {
	for _, one := range nullEvents {
		f.Add(one.event)
	}
	for n := range 80 { // puts the null at each position of a block
		gap := strings.Repeat("x", n*blockSize/64)
		f.Add(`{"type":"TEXT_MESSAGE_END","a":"` + gap + `","metadata" : null,"messageId":"m"}`)
		f.Add(`{"type":"RAW","event":{"a":1},"b":"` + gap + `:","source":` + strings.Repeat(" ", n*8) + `null}`)
	}
	f.Fuzz(func(t *testing.T, event string) {
		ev := NewEvent([]byte(event))
		want, got := ev, ev.WithoutNulls()
		if ev.Type != Unknown {
			object := withoutNulls(ev.JSON, ev.Type.hasTypedMember)
			if ev.Type == RunFinished && object != nil {
				object = withoutNullsOfInterrupts(object)
			}
			if object != nil && len(object) != len(ev.JSON) {
				want = ev.WithJSON(object)
			}
		}
		if string(got.JSON) != string(want.JSON) || got.Edited != want.Edited || got.Type != want.Type {
			t.Errorf("%s\n%s, want %s", event, got.JSON, want.JSON)
		}
	})
}
