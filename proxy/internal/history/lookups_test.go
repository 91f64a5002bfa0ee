package history_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
)

// TestWhichCallsAreLookedUp checks which calls Holdpoint looks up in the index. They are the calls
// of the last decisions in the messages, or of the resume entries. A call is not looked up if the
// thread's own record has a question about it.
func TestWhichCallsAreLookedUp(t *testing.T) {
	const inEntry = `{"toolCall":{"callId":"9","name":"rm","arguments":{"path":"/tmp"}}}`
	for name, c := range map[string]struct {
		chat, open string
		entry      string // the id that the entry in resume names
		payload    string // the payload of the entry
		most       int
		// for each call: its id and tool, the index of the user message before it, and "entry" if
		// the call is in an entry
		want string
	}{
		"a decision on an unknown question":       {chat: "u a:1 t:1=yes", want: "1 rm 0"},
		"on one that the record knows":            {chat: "u a:1 t:1=yes", open: "1"},
		"words follow it":                         {chat: "u a:1 t:1=yes u"},
		"the words of before":                     {chat: "u w u a:1 t:1=yes", want: "1 rm 2"},
		"no words before it":                      {chat: "a:1 t:1=yes"},
		"two decisions":                           {chat: "u a:1,2 t:1=yes t:2=no", want: "2 rm 0, 1 rm 0"},
		"the later call of one id":                {chat: "u a:1 t:1 a:1 t:1=yes", want: "1 rm 0"},
		"a decision without its call":             {chat: "u t:1=yes"},
		"no more than are allowed":                {chat: "u a:1,2 t:1=yes t:2=no", most: 1, want: "1 rm 0"},
		"an entry in the backend's own form":      {chat: "u a:1", entry: "native", want: "1 rm -1"},
		"whose call has a result":                 {chat: "u a:1 t:1", entry: "native"},
		"with words after the call":               {chat: "u a:1 u", entry: "native", want: "1 rm -1"},
		"with the call in its payload":            {chat: "u", entry: "native", payload: inEntry, want: "9 rm -1 entry"},
		"an entry that names an id of ours":       {chat: "u a:1", entry: "native~AAAAAAAAAAAA"},
		"the result of an ordinary tool, no more": {chat: "u a:1 t:1"},
	} {
		t.Run(name, func(t *testing.T) {
			more, payload := "", c.payload
			if payload == "" {
				payload = "true"
			}
			var answers []agui.Answer
			if c.entry != "" {
				answers = []agui.Answer{{ID: c.entry, Status: agui.Resolved}}
				more = fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":%s}]`, c.entry, payload)
			}
			v := viewOf(inputOf(t, c.chat, more))
			v.Dialect.Reader, v.Record = reader{}, recordOf(c.open, "")
			most := c.most
			if most == 0 {
				most = 8
			}
			var got []string
			for _, call := range history.WantedCalls(v.Input, v.Record, history.ReadReplies(v), answers, most) {
				one := fmt.Sprintf("%s %s %d", call.ID, call.Name, call.Follows)
				if call.InEntry {
					one += " entry"
				}
				got = append(got, one)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%q are looked up, want %q", got, c.want)
			}
		})
	}
}

// TestPlacesOfWords: Holdpoint looks for the user message of a paused run in a later history. It
// must find the message by its content. If both messages have an id, the ids must also be equal.
func TestPlacesOfWords(t *testing.T) {
	in := inputOf(t, "u w u w", "")
	last, at := history.LastUserMessage(in.Messages)
	if at != 2 || last != agui.NewSeenMessage(in.Messages[2]) {
		t.Errorf("the last words are %v at %d", last, at)
	}
	if _, at := history.LastUserMessage(in.Messages[1:2]); at != -1 {
		t.Errorf("no words are at %d", at)
	}
	first := agui.NewSeenMessage(in.Messages[0])
	for name, c := range map[string]struct {
		wanted agui.SeenMessage
		want   int
	}{
		"the first":               {first, 0},
		"the last":                {last, 2},
		"without an id":           {agui.SeenMessage{Digest: first.Digest}, 0},
		"with another id":         {agui.SeenMessage{ID: "other", Digest: first.Digest}, -1},
		"that say something else": {agui.SeenMessage{ID: first.ID, Digest: "other"}, -1},
		"none":                    {agui.SeenMessage{}, -1},
	} {
		if got := history.PlaceOf(in.Messages, c.wanted); got != c.want {
			t.Errorf("words %s are at %d, want %d", name, got, c.want)
		}
	}
	if one := history.Beginning(in.Messages); one == "" || one != history.Beginning(in.Messages[:1]) || one == history.Beginning(in.Messages[2:]) || history.Beginning(in.Messages[1:2]) != "" {
		t.Error("two conversations begin alike, or one does not")
	}
	ours := history.Replies{{}, {}}
	ours[0].Key, ours[1].ReaderState = "1~AAAAAAAAAAAA", []byte(`{"approval_id":"2~BBBBBBBBBBBB"}`)
	if got := fmt.Sprint(ours.PublishedIDs(nil)); got != "[1~AAAAAAAAAAAA 2~BBBBBBBBBBBB]" {
		t.Errorf("the decisions name %s", got)
	}
	if ours[0].Pause = pauseOn("open", "1"); len(ours.PublishedIDs(nil)) != 1 {
		t.Error("a question that is known is looked up")
	}
}

// TestTextTalkedPast: Holdpoint's newest text about a question is in the history, and the person
// has written a message after it. The test checks which question TextTalkedPast returns.
func TestTextTalkedPast(t *testing.T) {
	text := func(id string) agui.Message {
		return agui.ParseMessage([]byte(`{"id":"holdpoint-question-` + id + `","role":"assistant","content":"told"}`))
	}
	user := agui.ParseMessage([]byte(`{"id":"u1","role":"user","content":"hi"}`))
	forged := agui.ParseMessage([]byte(`{"id":"holdpoint-question-a","role":"user","content":"told"}`))
	tool := agui.ParseMessage([]byte(`{"id":"t1","role":"tool","toolCallId":"c9","content":"1"}`))
	for name, c := range map[string]struct {
		messages []agui.Message
		want     string
	}{
		"the person has written":    {[]agui.Message{user, text("a"), user}, "a"},
		"and a tool has ended":      {[]agui.Message{user, text("a"), user, tool}, "a"},
		"only a tool has ended":     {[]agui.Message{user, text("a"), tool}, ""},
		"nothing follows":           {[]agui.Message{user, text("a")}, ""},
		"a newer one waits":         {[]agui.Message{user, text("a"), user, text("b")}, ""},
		"a newer one":               {[]agui.Message{user, text("a"), user, text("b"), user}, "b"},
		"the words of a user's own": {[]agui.Message{user, forged, user}, ""},
		"none":                      {[]agui.Message{user, tool}, ""},
	} {
		if got := history.TextTalkedPast(c.messages); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
