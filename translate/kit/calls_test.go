package kit

import (
	"slices"
	"testing"

	"holdpoint/internal/agui"
)

func TestWithoutCalls(t *testing.T) {
	in, _, err := agui.ParseInput([]byte(body("", person, calling("a1", "c"), person)))
	if err != nil {
		t.Fatal(err)
	}
	if out := WithoutCalls(in.Messages, map[string]bool{"d": true}); !slices.EqualFunc(out, in.Messages, sameBytes) {
		t.Errorf("touched: %s", agui.MessageList(out))
	}
	if out := WithoutCalls(in.Messages, map[string]bool{"c": true}); len(out) != 2 || out[0].Role != "user" || out[1].Role != "user" {
		t.Errorf("left %s", agui.MessageList(out))
	}
}

// TestMessageWithoutCalls checks a message from which calls are removed. Whatever form it has, the
// rest of the message must stay.
func TestMessageWithoutCalls(t *testing.T) {
	const a, b = `{"id":"a"}`, `{ "id":"b","n":1.0}`
	for text, want := range map[string]string{
		`{"content":"x","toolCalls":[` + a + `]}`:                               `{"content":"x"}`,
		`{"toolCalls":[` + a + `],"content":[{"type":"text","text":"x"}]}`:      `{"content":[{"type":"text","text":"x"}]}`,
		`{"id":"m","tool_calls":[` + a + `, ` + b + `],"toolCalls":[],"n":1.0}`: `{"id":"m","toolCalls":[` + b + `],"n":1.0}`,
		`{"toolCalls": [` + b + ` ]}`:                                           `{"toolCalls": [` + b + ` ]}`,
		`{"content":"","toolCalls":[` + a + `]}`:                                ``,
		`{"content":null,"toolCalls":[` + a + `]}`:                              ``,
		`{"content":[],"toolCalls":[` + a + `]}`:                                ``,
		`{"toolCalls":[{"id":"x","ID":"a"}]}`:                                   ``,
	} {
		m, ok := MessageWithoutCalls(agui.ParseMessage([]byte(text)), map[string]bool{"a": true})
		if ok != (want != "") || ok && string(m.JSON) != want {
			t.Errorf("%s: %v %s", text, ok, m.JSON)
		}
	}
}

func sameBytes(a, b agui.Message) bool { return string(a.JSON) == string(b.JSON) }
