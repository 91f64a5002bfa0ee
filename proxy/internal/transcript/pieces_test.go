package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// TestPairInTwoPieces: a backend may cut a text between the halves of a surrogate pair. The
// transcript must contain the same text as the client, whether or not it joins the events.
func TestPairInTwoPieces(t *testing.T) {
	const want = `a😀b`
	for name, events := range map[string][]string{
		"a text": {`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\ud83d"%s}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ude00b"%s}`},
		"chunks of a text": {`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"a\ud83d"%s}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"\ude00b"%s}`},
		"reasoning": {`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}`,
			`{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"a\ud83d"%s}`, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":"\ude00b"%s}`},
		"arguments": {`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"a\ud83d"%s}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"\ude00b"%s}`},
		"chunks of arguments": {`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","parentMessageId":"m","delta":"a\ud83d"%s}`,
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","delta":"\ude00b"%s}`},
	} {
		for what, between := range map[string]string{"": "", ", and something between": `{"type":"STEP_STARTED","stepName":"s"}`} {
			for _, member := range []string{"", `,"timestamp":1`} {
				t.Run(name+what+member, func(t *testing.T) {
					tr := New(1<<20, nil, nil)
					for n, one := range events {
						if n == len(events)-1 && between != "" {
							tr.Add(agui.NewEvent([]byte(between)))
							tr.Calls() // folds the events
						}
						if strings.Contains(one, "%s") {
							one = fmt.Sprintf(one, member)
						}
						tr.Add(agui.NewEvent([]byte(one)))
					}
					list, _ := tr.Messages()
					m := gjson.ParseBytes(list[0])
					if got := m.Get("content").Str + m.Get("toolCalls.0.function.arguments").Str; got != want {
						t.Errorf("%s", list[0])
					}
				})
			}
		}
	}
}

// TestHalfOfAnotherCall: a call that begins again under the same id begins a new text.
func TestHalfOfAnotherCall(t *testing.T) {
	tr := New(1<<20, nil, nil)
	for _, one := range []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"a\ud83d"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"g"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"\ude00b"}`,
	} {
		tr.Add(agui.NewEvent([]byte(one)))
	}
	if asked, _ := tr.AskedCall("c"); asked.Args != "\ufffdb" {
		t.Errorf("%q", asked.Args)
	}
}
