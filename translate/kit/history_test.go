package kit

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// conversationOf draws a list of messages with calls and results in any order. Their keys have any
// spelling that some backend accepts.
func conversationOf(t *rapid.T, name string) []agui.Message {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	var list []agui.Message
	for n := range rapid.IntRange(0, 12).Draw(t, name) {
		var text string
		switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); kind {
		case 0:
			text = fmt.Sprintf(`{"id":"u%d","role":"user","content":"x"}`, n)
		case 1, 2, 3:
			calls := ""
			for i, call := range rapid.SliceOfN(id, 1, 3).Draw(t, "calls") {
				if i > 0 {
					calls += ","
				}
				calls += fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{\"n\":%d}"}}`, call, n)
			}
			key := rapid.SampledFrom([]string{"toolCalls", "toolCalls", "tool_calls"}).Draw(t, "key")
			text = fmt.Sprintf(`{"id":"m%d","role":"assistant","content":%q,%q:[%s]}`, n, rapid.SampledFrom([]string{"", "I do."}).Draw(t, "says"), key, calls)
		case 4, 5, 6:
			text = fmt.Sprintf(`{"id":"t%d","role":"tool","toolCallId":%q,"content":"r%d"}`, n, id.Draw(t, "of"), n)
		default:
			odd := rapid.SampledFrom([]string{
				`{"id":"t%d","Role":"Tool","toolCallId":%q,"content":"odd"}`, `{"id":"t%d","role":"tool","tool_call_id":%q,"content":"odd"}`,
				`{"id":"t%d","role":"tool","toolCallId":"d","toolCallId":%q,"content":"odd"}`,
				`{"id":"t%d","role":"tool","toolCallId":%q,"toolCallId":"d","content":"odd"}`, `{"id":"t%d","role":"user","toolCallId":%q,"content":"odd"}`,
			}).Draw(t, "odd")
			text = fmt.Sprintf(odd, n, id.Draw(t, "of"))
		}
		list = append(list, parsedMessage(text))
	}
	return list
}

// parsedMessage parses a message as a part of a request.
func parsedMessage(text string) agui.Message {
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + text + `],"tools":[],"context":[]}`))
	if err != nil {
		panic(err)
	}
	return in.Messages[0]
}

func hasCall(m agui.Message, call string) bool {
	return slices.ContainsFunc(Calls(gjson.ParseBytes(m.JSON)), func(c gjson.Result) bool { return slices.Contains(Texts(c, "id"), call) })
}

// rest returns the messages without the given calls and their results, as JSON. The methods of
// History must not change this part.
func rest(list []agui.Message, calls map[string]bool) string {
	return string(agui.MessageList(withoutExchanges(list, calls)))
}

// exchanges finds the results of a call in a list in which the call may appear several times. Its
// first element contains the results before the first such call. Each further element contains the
// results after one of these calls, up to the next.
func exchanges(list []agui.Message, call string) [][]agui.Message {
	all := [][]agui.Message{nil}
	for _, m := range list {
		if hasCall(m, call) {
			all = append(all, nil)
		}
		if isOn(m, map[string]bool{call: true}) {
			all[len(all)-1] = append(all[len(all)-1], m)
		}
	}
	return all
}

// inPlace returns true if only tool messages are between the parameter answer and the message with
// its call.
func inPlace(list []agui.Message, call string, answer agui.Message) bool {
	at := slices.IndexFunc(list, func(m agui.Message) bool { return sameBytes(m, answer) })
	for at--; at >= 0 && list[at].Role == "tool"; at-- {
	}
	return at >= 0 && hasCall(list[at], call)
}

// TestHistory checks each call that asked. It must either be removed or be followed by exactly one
// answer, and nothing else may change.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := conversationOf(t, "messages")
		calls := map[string]bool{}
		var told []ToolReply
		for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID[string]).Draw(t, "asked") {
			calls[id] = true
			told = append(told, ToolReply{ID: id + "~r", Call: id, Content: `{"approved":false}`})
		}
		replies := ToolMessages(told)
		before := string(agui.MessageList(list))
		behind, last, without := HistoryOf(list, calls).AfterCalls(replies), HistoryOf(list, calls).AtEnd(replies), HistoryOf(list, calls).WithoutCalls()
		if string(agui.MessageList(list)) != before {
			t.Fatal("the caller's messages changed")
		}
		for name, out := range map[string][]agui.Message{"Behind": behind, "Last": last, "Without": without} {
			if got, want := rest(out, calls), rest(list, calls); got != want {
				t.Fatalf("%s: the rest is\n%s, was\n%s", name, got, want)
			}
		}
		if got := string(agui.MessageList(without)); got != rest(list, calls) {
			t.Fatalf("Without leaves %s", got)
		}
		if end := last[len(last)-len(replies):]; !slices.EqualFunc(end, replies, sameBytes) {
			t.Fatalf("Last ends in %s", agui.MessageList(end))
		}
		for n, reply := range replies {
			call := told[n].Call
			for name, out := range map[string][]agui.Message{"Behind": behind, "Last": last} {
				found := exchanges(out, call)
				if len(found) == 1 { // the messages do not contain the call
					if name == "Behind" && len(found[0]) > 0 || name == "Last" && (len(found[0]) != 1 || !sameBytes(found[0][0], reply)) {
						t.Fatalf("%s: no call %s, and results %s", name, call, agui.MessageList(found[0]))
					}
					continue
				}
				if len(found[0]) > 0 {
					t.Fatalf("%s: results before the call %s: %s", name, call, agui.MessageList(found[0]))
				}
				for i, answers := range found[1:] {
					asked := i == len(found)-2
					if len(answers) != 1 || asked && !sameBytes(answers[0], reply) || gjson.GetBytes(answers[0].JSON, "content").Str == "odd" {
						t.Fatalf("%s: of the call %s: %s\nin %s", name, call, agui.MessageList(answers), agui.MessageList(out))
					}
					if !(asked && name == "Last") && !inPlace(out, call, answers[0]) {
						t.Fatalf("%s: elsewhere: %s\nin %s", name, answers[0].JSON, agui.MessageList(out))
					}
				}
			}
			// The question was about the last call with this id, so this call must stay.
			at := lastWith(list, call)
			if now := lastWith(behind, call); (at < 0) != (now < 0) || at >= 0 && list[at].ID != behind[now].ID {
				t.Fatalf("the call %s was asked about in %d, and stands in %d: %s", call, at, now, agui.MessageList(behind))
			}
		}
	})
}

func lastWith(list []agui.Message, call string) int {
	for at := len(list) - 1; at >= 0; at-- {
		if hasCall(list[at], call) {
			return at
		}
	}
	return -1
}

// TestHistoryTwice checks that nothing changes if the same answers are added to a history again.
func TestHistoryTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := conversationOf(t, "messages")
		told := []ToolReply{{ID: "a~r", Call: "a", Content: "no"}, {ID: "b~r", Call: "b", Content: "yes"}}
		once := HistoryOf(list, CallsOf(told)).AfterCalls(ToolMessages(told))
		twice := HistoryOf(once, CallsOf(told)).AfterCalls(ToolMessages(told))
		if got, want := string(agui.MessageList(twice)), string(agui.MessageList(once)); got != want {
			t.Fatalf("%s\nthen %s", want, got)
		}
	})
}

// TestToolReplyReadsBackAsItWasSent checks that the event and the message of a ToolReply have the
// same id, call and content, whatever characters these contain.
func TestToolReplyReadsBackAsItWasSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reply := ToolReply{rapid.String().Draw(t, "id"), rapid.String().Draw(t, "call"), rapid.String().Draw(t, "content")}
		ev, m := reply.Event(), reply.Message()
		if ev.Type != agui.CallResult || !ev.Valid() || m.Role != "tool" {
			t.Fatalf("%s %s", ev.JSON, m.JSON)
		}
		content := gjson.GetBytes(m.JSON, "content").Str
		told := ToolReply{ev.Get("messageId").Str, ev.Get("toolCallId").Str, ev.Get("content").Str}
		if back := (ToolReply{m.ID, m.ToolCallID, content}); back != reply || told != reply {
			t.Fatalf("%q was sent as %q and told as %q", reply, back, told)
		}
	})
}

// A shownList is a transcript of which all messages are known.
type shownList []agui.Message

func (shownList) Calls() []agui.Call             { return nil }
func (shownList) State() (json.RawMessage, bool) { return nil, false }
func (l shownList) Messages() (list []json.RawMessage, ok bool) {
	for _, m := range l {
		list = append(list, m.JSON)
	}
	return list, true
}

func TestAfter(t *testing.T) {
	const user, asks = `{"id":"u","role":"user","content":"x"}`, `{"id":"m","role":"assistant","toolCalls":[{"id":"a"},{"id":"d"}]}`
	of := func(id, call, content string) string {
		return string(ToolReply{id, call, content}.Message().JSON)
	}
	reply := ToolReply{"a~r", "a", "yes"}
	ours, front, result, other := string(reply.Message().JSON), of("f", "a", "approved"), of("r", "a", "paid"), of("o", "d", "seen")
	twice := `{"id":"r","role":"tool","toolCallId":"a","toolCallId":"d","content":"x"}`
	next := `{"id":"n","role":"user","content":"next"}`
	for name, c := range map[string]struct{ sent, shown, want []string }{
		"the reply was told":          {[]string{user, asks}, []string{user, asks, ours, other}, []string{user, asks, ours, other}},
		"it was not":                  {[]string{user, asks}, []string{user, asks, other}, []string{user, asks, ours, other}},
		"the backend told a result":   {[]string{user, asks}, []string{user, asks, ours, result, other}, []string{user, asks, result, other}},
		"and before the reply":        {[]string{user, asks}, []string{user, asks, result, ours, other}, []string{user, asks, result, other}},
		"and nobody the reply":        {[]string{user, asks}, []string{user, asks, result, other}, []string{user, asks, result, other}},
		"a front end wrote of it":     {[]string{user, asks, front}, []string{user, asks, front, ours, other}, []string{user, asks, ours, other}},
		"and of a call that is done":  {[]string{asks, front, user, asks}, []string{asks, front, user, asks, ours, other}, []string{asks, front, user, asks, ours, other}},
		"the result is not in place":  {[]string{user, asks}, []string{user, asks, user, result}, []string{user, asks, ours, user}},
		"the call is not there":       {[]string{user}, []string{user, result}, []string{user}},
		"it can be read in two ways":  {[]string{user, asks}, []string{user, asks, twice}, []string{user, asks, ours}},
		"what was shown is not known": {[]string{user, asks, next}, nil, []string{user, asks, ours}},
	} {
		t.Run(name, func(t *testing.T) {
			list := func(texts []string) (list []agui.Message) {
				for _, text := range texts {
					list = append(list, parsedMessage(text))
				}
				return list
			}
			fresh := parsedMessage(next)
			r := &translate.Request{Input: agui.RunInput{Messages: list(c.sent)}, NewMessages: []agui.Message{fresh, parsedMessage(of("s", "a", "again"))}}
			if c.shown != nil {
				r.Transcript = shownList(list(c.shown))
			}
			got := HistoryAfter(r, CallsOf([]ToolReply{reply})).AfterCalls(ToolMessages([]ToolReply{reply}))
			if want := append(list(c.want), fresh); !slices.EqualFunc(got, want, sameBytes) {
				t.Errorf("%s\nwant %s", agui.MessageList(got), agui.MessageList(want))
			}
		})
	}
}
