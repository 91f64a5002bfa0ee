package kit

import (
	"fmt"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// calling returns an assistant's message that calls the tool "rm" once for each id.
func calling(message string, ids ...string) string {
	list := ""
	for n, id := range ids {
		if n > 0 {
			list += ","
		}
		list += `{"id":"` + id + `","type":"function","function":{"name":"rm","arguments":"{}"}}`
	}
	return `{"id":"` + message + `","role":"assistant","toolCalls":[` + list + `]}`
}

func resultOf(id string) string {
	return `{"id":"r-` + id + `","role":"tool","toolCallId":"` + id + `","content":"ok"}`
}

func TestWithoutDangling(t *testing.T) {
	const later = `{"id":"u2","role":"user","content":"And?"}`
	text := `{"id":"a9","role":"assistant","content":"Well.","toolCalls":[{"id":"c9","type":"function","function":{"name":"rm","arguments":"{\"n\":1.0}"}}]}`
	for name, c := range map[string]struct {
		body, want, seen string
	}{
		"no call":                                {body("", person), body("", person), ""},
		"a call with its result":                 {body("", person, calling("a1", "c"), resultOf("c"), later), "", ""},
		"one without":                            {body("", person, calling("a1", "c")), body("", person), "c false"},
		"a user's message behind it":             {body("", person, calling("a1", "c"), later), body("", person, later), "c true"},
		"one of two":                             {body("", person, calling("a1", "c", "d"), resultOf("d")), body("", person, calling("a1", "d"), resultOf("d")), "c false"},
		"an id again, the older one unanswered":  {body("", calling("a1", "c"), later, calling("a2", "c"), resultOf("c")), body("", later, calling("a2", "c"), resultOf("c")), "c true"},
		"an id again, the newer one unanswered":  {body("", calling("a1", "c"), resultOf("c"), calling("a2", "c")), body("", calling("a1", "c"), resultOf("c")), "c false"},
		"an id twice in one message":             {body("", person, calling("a1", "c", "c"), resultOf("c"), later), "", ""},
		"an id twice, and another without":       {body("", calling("a1", "c", "d", "c"), resultOf("c")), body("", calling("a1", "c", "c"), resultOf("c")), "d false"},
		"text beside it stays":                   {body("", text), body("", `{"id":"a9","role":"assistant","content":"Well."}`), "c9 false"},
		"keys in another spelling":               {body("", `{"id":"a1","role":"assistant","tool_calls":[{"id":"c","function":{"name":"rm"}}]}`, `{"id":"r","role":"tool","tool_call_id":"c","content":""}`), "", ""},
		"what came before the call is no answer": {body("", resultOf("c"), calling("a1", "c")), body("", resultOf("c")), "c false"},
	} {
		t.Run(name, func(t *testing.T) {
			in := parsedInput(t, c.body)
			seen := ""
			got := WithoutDangling(in, func(d DanglingCall) bool {
				seen += fmt.Sprint(d.ID, " ", d.Abandoned)
				return d.Name == "rm"
			})
			if c.want == "" {
				c.want = c.body
			}
			if string(got.Raw) != c.want || seen != c.seen {
				t.Errorf("asked of %q\ngot  %s\nwant %s", seen, got.Raw, c.want)
			}
			if kept := WithoutDangling(in, func(DanglingCall) bool { return false }); string(kept.Raw) != c.body {
				t.Errorf("nothing goes, and the body is %s", kept.Raw)
			}
		})
	}
}

func parsedInput(t *testing.T, body string) agui.RunInput {
	t.Helper()
	in, ok, err := agui.ParseInput([]byte(body))
	if !ok || err != nil {
		t.Fatalf("no run (%v): %s", err, body)
	}
	return in
}

// TestNewMessagesComeLast: in the client's list, the new message precedes another message, and the
// transcript is incomplete. The second exchange must still end with the new message. Otherwise the
// agent's message would be the last one.
func TestNewMessagesComeLast(t *testing.T) {
	in := parsedInput(t, `{"threadId":"t","runId":"r","messages":[{"id":"u1","role":"user","content":"new"},{"id":"a1","role":"assistant","content":"asks"}]}`)
	r := &translate.Request{Input: in, NewMessages: in.Messages[:1]}
	got := agui.MessageList(WithNewMessages(r))
	const want = `[{"id":"a1","role":"assistant","content":"asks"},{"id":"u1","role":"user","content":"new"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := agui.MessageList(in.Messages); string(again) == want {
		t.Error("the request was changed")
	}
}

// TestClientResults: some models use an id for several calls. A result before the last call with
// its id must count as the result of an earlier call.
func TestClientResults(t *testing.T) {
	for name, c := range map[string]struct {
		messages []string
		want     string
	}{
		"behind its call":            {[]string{person, calling("a1", "c"), resultOf("c")}, "r-c"},
		"of an earlier call":         {[]string{calling("a1", "c"), resultOf("c"), calling("a2", "c")}, ""},
		"of the last one of two":     {[]string{calling("a1", "c"), `{"id":"old","role":"tool","toolCallId":"c","content":""}`, calling("a2", "c", "d"), resultOf("c"), resultOf("d")}, "r-c"},
		"whose call is not there":    {[]string{person, resultOf("c")}, "r-c"},
		"none":                       {[]string{person, calling("a1", "c")}, ""},
		"a call in another spelling": {[]string{resultOf("c"), `{"id":"a1","role":"assistant","tool_calls":[{"id":"c"}]}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := parsedInput(t, body("", c.messages...))
			r := &translate.Request{Input: in}
			got, err := ClientResults(r, []string{"c"}, true)
			if (err == nil) != (c.want != "") || err == nil && (len(got) != 1 || got[0].ID != c.want) {
				t.Errorf("%v %v, want %q", got, err, c.want)
			}
			if _, err := ClientResults(r, []string{"c"}, false); err != nil {
				t.Error(err)
			}
		})
	}
}
