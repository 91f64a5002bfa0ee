package agui

import (
	"strings"
	"testing"
)

// TestWithoutNulls uses events of Agent Framework's .NET hosting of August 2026.
func TestWithoutNulls(t *testing.T) {
	const raw = `"rawEvent":{"authorName":null,"contents":[{"annotations":null}],"createdAt":null}`
	for name, c := range map[string]struct{ event, want string }{
		"a start":                {`{"type":"RUN_STARTED","threadId":"t","runId":"r","parentRunId":null,"input":null,"timestamp":null,"rawEvent":null,"metadata":null}`, `{"type":"RUN_STARTED","threadId":"t","runId":"r","rawEvent":null}`},
		"a run of null":          {`{"type":"RUN_STARTED","threadId":"t","runId":null,"timestamp":null}`, `{"type":"RUN_STARTED","threadId":"t","runId":null}`},
		"a text":                 {`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"null","timestamp":null,` + raw + `,"metadata":null}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"null",` + raw + `}`},
		"a call":                 {`{"type":"TOOL_CALL_START","parentMessageId":null,"toolCallId":"c","toolCallName":"f",` + raw + `}`, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f",` + raw + `}`},
		"a result":               {`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"x","role":null,"timestamp":null,"rawEvent":null,"metadata":null}`, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"x","rawEvent":null}`},
		"an end":                 {`{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":{"type":"success"},"usage":null,"timestamp":null}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":{"type":"success"}}`},
		"a question":             {`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","message":"m","toolCallId":"c","responseSchema":{"default":null},"expiresAt":null,"metadata":null}]},"usage":null}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","message":"m","toolCallId":"c","responseSchema":{"default":null}}]}}`},
		"only inside it":         {`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","expiresAt":null}]}}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}}`},
		"any value":              {`{"type":"CUSTOM","name":"x","value":null,"rawEvent":null}`, ""},
		"a state":                {`{"type":"STATE_SNAPSHOT","snapshot":null}`, ""},
		"no type":                {`{"type":"X","timestamp":null}`, ""},
		"a member of no event's": {`{"type":"TEXT_MESSAGE_END","messageId":"m","other":null}`, ""},
		"no null":                {`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"null null"}`, ""},
		"inside only":            {`{"type":"TEXT_MESSAGE_END","messageId":"m",` + raw + `}`, ""},
		"no JSON":                {`{"type":"TEXT_MESSAGE_END","timestamp":null,"messageId":x}`, ""},
		"white space":            {`{ "type":"TEXT_MESSAGE_END" , "timestamp" : null, "messageId": "m" }`, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`},
	} {
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
