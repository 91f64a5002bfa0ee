package history_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/hostile"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
)

// TestHistoryWithManyResults: Holdpoint inserts calls before their results. The time for this must
// grow linearly with the number of results. The test measures only the time of this process.
func TestHistoryWithManyResults(t *testing.T) {
	took := func(results int) time.Duration {
		var messages, calls strings.Builder
		messages.WriteString(`{"threadId":"t","runId":"r","messages":[` + userOne)
		for n := range results {
			fmt.Fprintf(&messages, `,{"role":"tool","toolCallId":"c%d"}`, n)
		}
		messages.WriteString(`,{"id":"w","role":"user","content":"x"}`)
		for n := range 32 {
			fmt.Fprintf(&messages, `,{"role":"tool","toolCallId":"known%d"}`, n)
			fmt.Fprintf(&calls, `,{"id":"known%d","type":"function","function":{"name":"f","arguments":"{}"}}`, n)
		}
		in, _, err := agui.ParseInput([]byte(messages.String() + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		v := viewOf(&in)
		v.Record = &store.Record{Pause: &agui.Pause{
			Messages:     json.RawMessage(`[` + userOne + `,{"id":"a","role":"assistant","toolCalls":[` + calls.String()[1:] + `]}]`),
			SeenMessages: []agui.SeenMessage{agui.NewSeenMessage(in.Messages[0])},
		}}
		least := time.Duration(math.MaxInt64)
		for range 3 {
			begun := hostile.ProcessorTime(t)
			list := history.CompleteMessages(v).Messages
			least = min(least, hostile.ProcessorTime(t)-begun)
			if len(list) != len(in.Messages)+1 {
				t.Fatalf("%d messages became %d", len(in.Messages), len(list))
			}
		}
		return least
	}
	few, many := took(2_000), took(16_000)
	if ratio := float64(many) / float64(max(few, 5*time.Millisecond)); many > 200*time.Millisecond && ratio > 24 {
		t.Errorf("%v for 2,000 and %v for 16,000 results", few, many)
	}
}

// TestResultsThatAClientMadeUp: the answer of a .NET client had no effect, so the client made up a
// result for the call. While the question is open, this result must not be an answer. After the
// question has ended, Holdpoint must remove the result if the call has another result. If the
// client added a message with the call for its result, Holdpoint must remove this message too.
func TestResultsThatAClientMadeUp(t *testing.T) {
	const notFound, denied = `"Error: Requested function \"rm\" not found."`, `"Tool call invocation rejected."`
	for name, c := range map[string]struct {
		content string // the content of a made-up result
		// u: a user message; a:1: call 1; t:1: its result; x:1: a made-up result; |: the question
		list  string
		waits string // what remains while the question is open; "": everything
		ended string // what remains after the question has ended; "": everything
	}{
		"a result":                        {notFound, "u a:1 | x:1 u", "u a:1 u", ""},
		"a denial":                        {denied, "u a:1 | x:1 u", "u a:1 u", ""},
		"a denial as JSON":                {`"\"Tool call invocation rejected.\""`, "u a:1 | x:1 u", "u a:1 u", ""},
		"another text":                    {`"Error: rejected"`, "u a:1 | x:1 u", "", ""},
		"a call and a result":             {notFound, "u a:1 | a:1 x:1 u", "u a:1 u", ""},
		"a call beside another one":       {notFound, "u a:1 | a:1,2 x:1 t:2 u", "u a:1 a:2 t:2 u", ""},
		"a call that the list lacks":      {notFound, "u | x:1 u", "u u", ""},
		"a call that nobody asked about":  {notFound, "u a:1 | a:9 x:9 u", "", ""},
		"behind the real result":          {notFound, "u a:1 | t:1 x:1 u", "u a:1 t:1 u", "u a:1 t:1 u"},
		"in front of the real result":     {notFound, "u a:1 | x:1 t:1 u", "u a:1 t:1 u", "u a:1 t:1 u"},
		"an exchange behind the real one": {notFound, "u a:1 | t:1 a:1 x:1 u", "u a:1 t:1 u", "u a:1 t:1 u"},
		"two results":                     {notFound, "u a:1 | x:1 u x:1", "u a:1 u", "u a:1 u x:1"},
		"two exchanges":                   {notFound, "u a:1 | a:1 x:1 u a:1 x:1", "u a:1 u", "u a:1 u a:1 x:1"},
		"a result and an exchange":        {notFound, "u a:1 | x:1 a:1 x:1 u", "u a:1 u", "u a:1 x:1 u"},
		"the same, and the real result":   {notFound, "u a:1 | x:1 a:1 x:1 t:1 u", "u a:1 t:1 u", "u a:1 t:1 u"},
		"an exchange without the asked":   {notFound, "u | a:1 x:1 u", "u u", ""},
		"one of an earlier, equal call":   {notFound, "u a:1 x:1 u a:1 | u", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before, after, _ := strings.Cut(c.list, "| ")
			list, told := wordsOf(t, before+after, c.content)
			in := agui.RunInput{ThreadID: "t", Messages: list}
			p := &agui.Pause{Interrupts: []agui.Interrupt{{Native: "n1", Object: []byte(`{"toolCallId":"1"}`)}}}
			for _, m := range list[:len(strings.Fields(before))] {
				p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
			}
			for state, record := range map[string]store.Record{"waits": {Pause: p}, "has ended": {Results: []*store.Result{{PauseID: p.ID, Pause: p}}}} {
				v := viewOf(&in)
				v.Record = &record
				want := map[string]string{"waits": c.waits, "has ended": c.ended}[state]
				if got := told(history.CompleteMessages(v).Messages); got != cmp.Or(want, before+after) {
					t.Errorf("the question %s: %s stays, want %s", state, got, cmp.Or(want, before+after))
				}
			}
		})
	}
}

// wordsOf returns the messages that text describes in the notation of TestResultsThatAClientMadeUp.
// It also returns a function that writes messages in this notation.
func wordsOf(t *testing.T, text, madeUp string) ([]agui.Message, func([]agui.Message) string) {
	t.Helper()
	var list []agui.Message
	for n, word := range strings.Fields(text) {
		kind, ids, _ := strings.Cut(word, ":")
		var members string
		switch kind {
		case "u":
			members = `"role":"user","content":"x"`
		case "a":
			var calls []string
			for id := range strings.SplitSeq(ids, ",") {
				calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"rm","arguments":"{}"}}`, id))
			}
			members = `"role":"assistant","toolCalls":[` + strings.Join(calls, ",") + `]`
		case "t":
			members = fmt.Sprintf(`"role":"tool","toolCallId":%q,"content":"gone"`, ids)
		case "x":
			members = fmt.Sprintf(`"role":"tool","toolCallId":%q,"content":%s`, ids, madeUp)
		default:
			t.Fatal(word)
		}
		list = append(list, agui.ParseMessage(fmt.Appendf(nil, `{"id":"m%d",%s}`, n, members)))
	}
	return list, func(list []agui.Message) string {
		var words []string
		for _, m := range list {
			switch content := gjson.GetBytes(m.JSON, "content"); {
			case m.Role == "user":
				words = append(words, "u")
			case m.Role == "assistant":
				words = append(words, "a:"+strings.Join(m.CallIDs(), ","))
			case content.Raw == madeUp:
				words = append(words, "x:"+m.ToolCallID)
			default:
				words = append(words, "t:"+m.ToolCallID)
			}
		}
		return strings.Join(words, " ")
	}
}

// TestResultsInHoldpointsWords: the text of a result is one of Holdpoint's own texts. If the record
// shows that the tool itself gave this result, it must stay. If Holdpoint wrote the result, it must
// be removed. Its call must stay if the backend keeps its thread.
func TestResultsInHoldpointsWords(t *testing.T) {
	result := func(call string) string {
		return fmt.Sprintf(`{"id":"of-%s","role":"tool","toolCallId":%q,"content":%q}`, call, call, words.Approved)
	}
	calls := `{"id":"a","role":"assistant","content":"","toolCalls":[{"id":"asked","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"tools","type":"function","function":{"name":"g","arguments":"{}"}},{"id":"unknown","type":"function","function":{"name":"h","arguments":"{}"}}]}`
	body := `{"threadId":"t","runId":"r","messages":[` + strings.Join([]string{userOne, calls, result("asked"), result("tools"), result("unknown"), userTwo}, ",") + `]}`
	in, _, err := agui.ParseInput([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	v := viewOf(&in)
	v.Record = &store.Record{Pause: &agui.Pause{
		ID: "p", Interrupts: []agui.Interrupt{{ID: "i~id1", Native: "asked", Object: json.RawMessage(`{"id":"i~id1","toolCallId":"asked"}`)}},
		Messages: json.RawMessage(`[` + userOne + `,` + result("tools") + `]`),
	}}
	var got []string
	for _, m := range history.CompleteMessages(v).Messages {
		got = append(got, m.Role+strings.Join(m.CallIDs(), " ")+m.ToolCallID)
	}
	if want := "user|assistantasked tools|tooltools|user"; strings.Join(got, "|") != want {
		t.Errorf("the messages are %s, want %s", strings.Join(got, "|"), want)
	}
}

// TestCallOfAnOwnResult: Holdpoint removes its own result for a call from a history. It must also
// remove the call if the backend gives its model the calls of each request and the question has
// ended. If the backend keeps nothing, it must remove the call while the question is open, too.
func TestCallOfAnOwnResult(t *testing.T) {
	body := `{"threadId":"t","runId":"r","messages":[` + userOne + `,
		{"id":"a","role":"assistant","content":"","toolCalls":[{"id":"k","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"id":"of-k","role":"tool","toolCallId":"k","content":"` + words.Denied + `"},` + userTwo + `]}`
	for name, c := range map[string]struct {
		dialect string
		open    bool
		stays   bool
	}{
		"a backend that keeps its thread":     {"fake", false, true},
		"it is asked again":                   {"fake", true, true},
		"one that reads the calls":            {"reads", false, false},
		"one that reads them, is asked again": {"reads", true, true},
		"one that keeps nothing":              {"stateless", false, false},
		"one that keeps nothing, asked again": {"stateless", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			in, _, err := agui.ParseInput([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			v := viewOf(&in)
			v.Dialect.Stateless = stateless{}
			p := &agui.Pause{ID: "p", Dialect: c.dialect, Interrupts: []agui.Interrupt{{ID: "i~id1", Native: "k", Object: json.RawMessage(`{"id":"i~id1","toolCallId":"k"}`)}}}
			v.Record = &store.Record{Results: []*store.Result{{PauseID: "p", Pause: p, EndKind: store.Finished}}}
			if c.open {
				v.Record = &store.Record{State: store.Open, Pause: p}
			}
			calls := 0
			for _, m := range history.CompleteMessages(v).Messages {
				if calls += len(m.CallIDs()); m.Role == "tool" {
					t.Errorf("the result goes to the backend: %s", m.JSON)
				}
			}
			if stays := calls == 1; stays != c.stays {
				t.Errorf("the call stays: %v", stays)
			}
		})
	}
}

// TestOwnResultTakesTheNearestCall: Holdpoint removes its own result together with the call. Ids of
// some models repeat, so only the nearest earlier call with the same id may be removed.
func TestOwnResultTakesTheNearestCall(t *testing.T) {
	calls := func(message string, ids ...string) string {
		list := make([]string, len(ids))
		for n, id := range ids {
			list[n] = fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id)
		}
		return fmt.Sprintf(`{"id":%q,"role":"assistant","content":"","toolCalls":[%s]}`, message, strings.Join(list, ","))
	}
	result := func(call, content string) string {
		return fmt.Sprintf(`{"id":"of-%s","role":"tool","toolCallId":%q,"content":%q}`, call, call, content)
	}
	own := result("k", words.Approved)
	for name, c := range map[string]struct {
		messages []string
		want     string
	}{
		"an open call before it":         {[]string{calls("a", "k"), calls("b", "k"), own}, "a:k b:"},
		"an open call after it":          {[]string{calls("a", "k"), own, calls("b", "k")}, "a: b:k"},
		"an open call in the same turn":  {[]string{calls("a", "k", "k"), own}, "a:k"},
		"a call beside it":               {[]string{calls("a", "k", "l"), own, result("l", "seen")}, "a:l result:l"},
		"a result of the tool before it": {[]string{calls("a", "k"), result("k", "done"), calls("b", "k"), own}, "a:k result:k b:"},
		"a result of the tool after it":  {[]string{calls("a", "k"), own, calls("b", "k"), result("k", "done")}, "a: b:k result:k"},
		"the same call's real result":    {[]string{calls("a", "k"), own, result("k", "done")}, "a:k result:k"},
		"two of them":                    {[]string{calls("a", "k"), own, calls("b", "k"), own, calls("c", "k")}, "a: b: c:k"},
		"no call before it":              {[]string{own, calls("a", "k")}, "a:k"},
	} {
		t.Run(name, func(t *testing.T) {
			in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + strings.Join(c.messages, ",") + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range history.CompleteMessages(viewOf(&in)).Messages {
				if m.Role == "tool" {
					got = append(got, "result:"+m.ToolCallID)
				} else {
					got = append(got, m.ID+":"+strings.Join(m.CallIDs(), ","))
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("the messages are %s, want %s", strings.Join(got, " "), c.want)
			}
		})
	}
}

// TestOwnResultsByTheirNote: the record notes that Holdpoint made a result. This result must be
// removed, whatever its text is. Another result of the same call must stay, and so must a result of
// another call with the same text.
func TestOwnResultsByTheirNote(t *testing.T) {
	const told = "Words of an older version."
	note, ok := history.OwnNote("p1", []agui.Event{
		agui.NewEvent([]byte(`{"type":"TOOL_CALL_START","toolCallId":"k","toolCallName":"rm"}`)),
		agui.NewEvent([]byte(`{"type":"TOOL_CALL_RESULT","messageId":"result-k","toolCallId":"k","content":"` + told + `"}`)),
	})
	if !ok {
		t.Fatal("there is no note")
	}
	if _, ok := history.OwnNote("p1", nil); ok {
		t.Error("nothing is noted")
	}
	quoted, _ := json.Marshal(told)
	inner, _ := json.Marshal(string(quoted)) // the in-tree client encodes each result as JSON
	for name, c := range map[string]struct {
		call, content string
		noted, goes   bool
	}{
		"it is noted":               {"k", string(quoted), true, true},
		"as JSON":                   {"k", string(inner), true, true},
		"the record has no note":    {"k", string(quoted), false, false},
		"a result of the tool":      {"k", `"gone"`, true, false},
		"another call, these words": {"l", string(quoted), true, false},
	} {
		body := fmt.Sprintf(`{"threadId":"t","runId":"r","messages":[%s,{"id":"a","role":"assistant","content":"","toolCalls":[{"id":%q,"type":"function","function":{"name":"rm","arguments":"{}"}}]},{"id":"x","role":"tool","toolCallId":%q,"content":%s},%s]}`, userOne, c.call, c.call, c.content, userTwo)
		in, _, err := agui.ParseInput([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		v := viewOf(&in)
		v.Record = &store.Record{}
		if c.noted {
			v.Record.Notes = []store.Note{note}
		}
		results := 0
		for _, m := range history.CompleteMessages(v).Messages {
			if m.Role == "tool" {
				results++
			}
		}
		if goes := results == 0; goes != c.goes {
			t.Errorf("%s: it goes: %v", name, goes)
		}
	}
}

// TestMadeUpCallUnderAKnownID: if MEAI makes up a call, the message with the call gets the id of
// the message that asked. The record has this id for a text. If the client is one that omits the
// calls of its questions, Holdpoint must remove the call together with its result. Any other client
// may really have the call, so the call must stay.
func TestMadeUpCallUnderAKnownID(t *testing.T) {
	body := `{"threadId":"t","runId":"r","messages":[` + userOne + `,{"id":"said","role":"assistant","content":"Yes?"},
		{"id":"said","role":"assistant","toolCalls":[{"id":"k","type":"function","function":{"name":"rm","arguments":"{}"}}]},
		{"id":"k","role":"tool","toolCallId":"k","content":"Error: Requested function \"rm\" not found."},` + userTwo + `]}`
	for omits, want := range map[bool]int{true: 0, false: 1} {
		in, _, err := agui.ParseInput([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		v := viewOf(&in)
		v.OmitsCalls = omits
		p := &agui.Pause{ID: "p", Interrupts: []agui.Interrupt{{ID: "i~id1", Native: "k", Object: json.RawMessage(`{"id":"i~id1","toolCallId":"k"}`)}}}
		for _, m := range in.Messages[:2] {
			p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(m))
		}
		v.Record = &store.Record{State: store.Open, Pause: p}
		calls := 0
		for _, m := range history.CompleteMessages(v).Messages {
			if calls += len(m.CallIDs()); m.Role == "tool" {
				t.Errorf("the made-up result stays: %s", m.JSON)
			}
		}
		if calls != want {
			t.Errorf("omits %v: %d calls stay, want %d", omits, calls, want)
		}
	}
}
