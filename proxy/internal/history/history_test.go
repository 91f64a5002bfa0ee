package history_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
)

const (
	userOne = `{"id":"u1","role":"user","content":"Go."}`
	userTwo = `{"id":"u9","role":"user","content":"And then?"}`
)

// viewOf returns a View of a request whose thread has an empty record.
func viewOf(in *agui.RunInput) *history.View {
	return &history.View{Input: in, Record: &store.Record{}, Memory: memory{}}
}

// A memory implements history.Memory by functions. A method whose function is nil returns zero
// values.
type memory struct {
	kept     func(at store.Moment) json.RawMessage
	passed   func(call string, own bool) bool
	leftOpen func(history.CallKey) bool
	wasAsked func(agui.Call) (here, somewhere bool, err error)
}

func (m memory) Snapshots(_ string, at store.Moment, _ int) store.Snapshots {
	if m.kept == nil {
		return store.Snapshots{}
	}
	return store.Snapshots{Messages: m.kept(at)}
}

func (m memory) IsLeftToClient(call string, own bool) bool {
	return m.passed != nil && m.passed(call, own)
}

func (m memory) LeftOpen(key history.CallKey) bool { return m.leftOpen != nil && m.leftOpen(key) }

func (m memory) WasAsked(c agui.Call) (here, somewhere bool, err error) {
	if m.wasAsked == nil {
		return false, false, nil
	}
	return m.wasAsked(c)
}

// inputOf returns a request with the messages of a chat. chat is a list of words, and each word is
// one message:
//
//	u           a message of the user
//	u:1=yes     a message of the user that is also a decision on call 1; see reader
//	n           a message of the user without an id
//	w           a text of the assistant
//	a:1,2       the calls 1 and 2 of the assistant, both of the tool rm
//	t:1         the result of call 1
//	t:1=yes     a tool message on call 1 that says yes; see reader
//
// more contains further members of the request.
func inputOf(t *testing.T, chat, more string) *agui.RunInput {
	t.Helper()
	var list []string
	for n, word := range strings.Fields(chat) {
		kind, rest, _ := strings.Cut(word, ":")
		switch kind {
		case "n":
			list = append(list, `{"role":"user","content":"words without an id"}`)
		case "u":
			if call, says, decides := strings.Cut(rest, "="); decides {
				list = append(list, fmt.Sprintf(`{"id":"m%d","role":"user","toolCallId":%q,"content":%q}`, n, call, says))
				break
			}
			list = append(list, fmt.Sprintf(`{"id":"m%d","role":"user","content":"words %d"}`, n, n))
		case "w":
			list = append(list, fmt.Sprintf(`{"id":"m%d","role":"assistant","content":"Well."}`, n))
		case "q":
			list = append(list, `{"id":"holdpoint-question-i1","role":"assistant","content":"The agent asks."}`)
		case "a":
			var calls []string
			for id := range strings.SplitSeq(rest, ",") {
				calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"rm","arguments":"{}"}}`, id))
			}
			list = append(list, fmt.Sprintf(`{"id":"m%d","role":"assistant","toolCalls":[%s]}`, n, strings.Join(calls, ",")))
		case "t":
			call, says, answers := strings.Cut(rest, "=")
			if !answers {
				says = "gone"
			}
			list = append(list, fmt.Sprintf(`{"id":"m%d","role":"tool","toolCallId":%q,"content":%q}`, n, call, says))
		default:
			t.Fatalf("no such word: %s", word)
		}
	}
	in, _, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[` + strings.Join(list, ",") + `]` + more + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return &in
}

// chatOf returns messages in the notation of inputOf.
func chatOf(list []agui.Message) string {
	var words []string
	for _, m := range list {
		says := gjson.GetBytes(m.JSON, "content").Str
		switch {
		case m.Role == "user" && m.ID == "":
			words = append(words, "n")
		case m.Role == "user":
			words = append(words, "u")
		case m.Role == "tool" && says == "gone":
			words = append(words, "t:"+m.ToolCallID)
		case m.Role == "tool":
			words = append(words, "t:"+m.ToolCallID+"="+says)
		case strings.HasPrefix(m.ID, "holdpoint-question-"):
			words = append(words, "q")
		case m.CallIDs() != nil:
			words = append(words, "a:"+strings.Join(m.CallIDs(), ","))
		default:
			words = append(words, "w")
		}
	}
	return strings.Join(words, " ")
}

// A reader is a dialect that reads tool messages as decisions on their calls. The content of a
// message is yes or no. Flags may follow, which say how the reader reads the message:
//
//	+kept +past +replaces +unclear      sets Keep, TooLate, Replaces or Unclear of translate.Reply
//	+calls      the call is removed together with the message
//	+rest       the message also contains something else
//	+ifknown +unlessresult +unlessleft  the message is a decision only on that condition
type reader struct{}

func (reader) Replies(in agui.RunInput, _ string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		for at, m := range in.Messages {
			if m.ToolCallID == "" {
				continue
			}
			says, flags, _ := strings.Cut(gjson.GetBytes(m.JSON, "content").Str, "+")
			has := func(flag string) bool { return slices.Contains(strings.Split(flags, "+"), flag) }
			conditional := has("ifknown") || has("unlessresult") || has("unlessleft")
			one := translate.Reply{
				Dialect: "fake", At: at, Key: m.ToolCallID, CallID: "rm",
				Decides: (says == "yes" || says == "no") && !conditional, DecidesIfKnown: has("ifknown"), DecidesUnlessResult: has("unlessresult"), DecidesUnlessLeft: has("unlessleft"),
				Unclear: has("unclear"), TooLate: has("past"), Replaces: has("replaces"), Keep: has("kept"),
			}
			if has("calls") {
				one.Calls = []string{m.ToolCallID}
			}
			if has("rest") {
				rest := agui.ParseMessage(agui.SetString(m.JSON, "content", "rest"))
				one.Rest = &rest
			}
			if !yield(one) {
				return
			}
		}
	}
}

func (reader) AnswerIn(m agui.Message, one translate.Reply, _ agui.Interrupt) (agui.Answer, bool) {
	says, _, _ := strings.Cut(gjson.GetBytes(m.JSON, "content").Str, "+")
	return answerOf("", says), (says == "yes" || says == "no") && !one.TooLate
}

// answerOf returns an answer to the question about a call. It is a no if says is "no", and a yes
// otherwise.
func answerOf(call, says string) agui.Answer {
	a := agui.Answer{ID: "i" + call, Status: agui.Resolved, Payload: json.RawMessage(`{"approved":true}`)}
	if says == "no" {
		a.Payload = json.RawMessage(`{"approved":false}`)
	}
	return a
}

// pauseOn returns a pause with a question about each of calls. The question about call 1 has the id
// i1.
func pauseOn(id string, calls ...string) *agui.Pause {
	p := &agui.Pause{ID: id, Dialect: "fake"}
	for _, c := range calls {
		p.Interrupts = append(p.Interrupts, agui.Interrupt{
			ID: "i" + c, Native: c, Keys: []string{c}, Object: fmt.Appendf(nil, `{"id":"i%s","toolCallId":%q}`, c, c),
			Calls: []agui.AskedCall{{ID: c, Name: "rm", Args: "{}"}},
		})
	}
	indexed := p.Indexed()
	return &indexed
}

// endedWith returns the result of an ended pause with these answers. An answer such as "1=yes" is a
// yes to the question about call 1.
func endedWith(answers ...string) *store.Result {
	var calls, ids []string
	var digests []store.AnswerDigest
	for _, one := range answers {
		call, says, _ := strings.Cut(one, "=")
		calls, ids = append(calls, call), append(ids, "i"+call)
		digests = append(digests, store.AnswerDigest{Question: "i" + call, Digest: contract.DigestOf(answerOf(call, says))})
	}
	return &store.Result{PauseID: "ended", IDs: ids, Pause: pauseOn("ended", calls...), EndKind: store.Finished, Digest: store.MarshalAnswers(digests)}
}

// recordOf returns the record of a thread. open lists the calls that its open pause asks about.
// ended lists the answers to its ended pause. Each may be "".
func recordOf(open, ended string) *store.Record {
	rec := &store.Record{}
	if open != "" {
		rec.Pause = pauseOn("open", strings.Fields(open)...)
	}
	if ended != "" {
		rec.Results = []*store.Result{endedWith(strings.Fields(ended)...)}
	}
	return rec
}
