package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"holdpoint/internal/agui"
)

// TestConversation: a caller with the right to read must get the last messages of the conversation,
// and other callers must not get them. If the conversation is unknown, the response must leave it
// out.
func TestConversation(t *testing.T) {
	r := withRights(t)
	var messages []string
	for n := range 20 {
		messages = append(messages, fmt.Sprintf(`{"id":"m%d","role":"user","content":"text %d"}`, n, n))
	}
	messages = append(messages,
		`{"id":"a","role":"assistant","toolCalls":[{"id":"c","function":{"name":"refund","arguments":"{}"}}]}`,
		`{"id":"b","role":"tool","toolCallId":"x","content":"a result\u202e"}`,
		`{"id":"c","role":"user","content":[{"type":"text","text":"one"},{"type":"image","source":{}},{"type":"text","text":"two"}]}`,
		`{"id":"d","role":"assistant","content":"`+strings.Repeat("ä", maxTurnText)+`"}`)
	p := pause(1, "refund", `{}`)
	p.Messages = json.RawMessage("[" + strings.Join(messages, ",") + "]")
	r.open(1, p)
	r.open(2, pause(2, "refund", `{}`))
	path := "/v1/approvals/" + id(1)
	got := r.ask(200, "GET", path, as("root")...).Get("conversation").Array()
	if len(got) != maxTurns {
		t.Fatalf("%d messages: %s", len(got), got)
	}
	for n, want := range map[int]string{0: "text 13", 6: "text 19", 7: "a result\u202e", 8: "one\ntwo", 9: strings.Repeat("ä", maxTurnText/2)} {
		if got[n].Get("text").Str != want || got[n].Get("cut").Bool() != (n == 9) || got[n].Get("marks").Exists() != (n == 7) {
			t.Errorf("%d: %.200s", n, got[n])
		}
	}
	if got[7].Get("role").Str != "tool" || got[9].Get("role").Str != "assistant" {
		t.Errorf("roles: %s, %s", got[7].Get("role"), got[9].Get("role"))
	}
	for _, name := range []string{"decider", "reader", "lister", "janitor"} {
		if a := r.ask(200, "GET", path, as(name)...); a.Get("conversation").Exists() || strings.Contains(a.Raw, "text 19") {
			t.Errorf("%s sees %s", name, a.Get("conversation"))
		}
	}
	if l := r.ask(200, "GET", "/v1/approvals", as("root")...); strings.Contains(l.Raw, "text 19") {
		t.Error("it is in the list")
	}
	if a := r.ask(200, "GET", "/v1/approvals/"+id(2), as("root")...); a.Get("conversation").Exists() {
		t.Errorf("of what is not known: %s", a)
	}
	r.ask(200, "DELETE", path, as("root")...)
	if a := r.ask(200, "GET", path, as("root")...); a.Get("conversation").Exists() {
		t.Errorf("when it has ended: %s", a)
	}
}

// TestTurnsOfAnything: a value that is not a list of messages has no turns.
func TestTurnsOfAnything(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "null": 0, "{}": 0, `"x"`: 0, "[]": 0, "[null,1,{}]": 0, `[{"content":{"text":"x"}}]`: 0, `[{"content":[[],"x",{"type":"text","text":7}]}]`: 0, `[{"content":"x"}]`: 1, `[{"content":"` + "\xff" + `x"}]`: 1,
	} {
		list := turns([]byte(text))
		if len(list) != want || want == 1 && (list[0].Text != "x" || !agui.ValidJSON(agui.MustMarshal(list))) {
			t.Errorf("%q: %+v", text, list)
		}
	}
}

// FuzzTurns: reading any messages must end. The number of turns is limited, and each text must be
// valid in a JSON response.
func FuzzTurns(f *testing.F) {
	for _, seed := range []string{`[{"role":"user","content":"x"}]`, `[{"content":[{"type":"text","text":"a"}]}]`, `[{"content":"` + "\xff" + `"}]`, `[`, `{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, messages []byte) {
		list := turns(messages)
		if len(list) > maxTurns {
			t.Errorf("%d turns", len(list))
		}
		for _, one := range list {
			if len(one.Text) > maxTurnText || !utf8.ValidString(one.Text) {
				t.Errorf("%d bytes: %q", len(one.Text), one.Text)
			}
		}
	})
}
