package requestapproval

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// resumeBody returns the body of the request with the answers. Its messages are the earlier
// messages without the open calls, and then a pair for each question: a message with the request,
// directly followed by its answer.
//
// Each request has a message of its own. If one message had two requests, the wrapper of Agent
// Framework's sample would make two messages with both requests, and the function-invoking client
// would throw an exception because they are repeated. The hosts merge adjacent messages with calls,
// so the answer must be between them. All messages with requests have the same id, because that
// client rebuilds one message of calls for each id, and model providers require all calls of a turn
// in one message, before their results.
func resumeBody(r *translate.Request, asked []questionState, before []agui.Message) ([]byte, error) {
	open := askedCallIDs(asked)
	// A call without a result in these earlier messages can never get a result.
	goes := func(c kit.DanglingCall) bool { return !r.Input.Declares(c.Name) }
	list, _ := cleanHistory(kit.HistoryOf(before, open).WithoutCalls(), goes)
	for n, k := range asked {
		yes, err := approves(r.Answers[n], k)
		if err != nil {
			return nil, err
		}
		list = append(list, pair(asked[0].Parent, r.Pause.Interrupts[n].ID, k, yes)...)
	}
	if takesNew(r) {
		list = append(list, r.NewMessages...)
	}
	body := agui.SetKey(r.Input.Raw, "messages", agui.MessageList(list))
	return kit.BodyWithoutAnswers(r.Input, body), nil
}

func askedCallIDs(asked []questionState) map[string]bool {
	open := make(map[string]bool, len(asked))
	for _, k := range asked {
		open[k.Call] = true
	}
	return open
}

// takesNew reports whether the answers and other new messages are sent in the same request. Up to
// Microsoft.Extensions.AI 10.8.3, the newest version that a sample uses, the function-invoking
// client appends the rebuilt call and its result at the end. So a person's comment on the call
// would precede the call. For this reason new messages are sent in a run of their own. With
// ShowNative they are sent with the answers, because the history of such a client is not known well
// enough to be rewritten.
func takesNew(r *translate.Request) bool { return r.Show == translate.ShowNative }

// pair returns two messages: one with a request, and one with its answer.
func pair(parent, id string, k questionState, approved bool) []agui.Message {
	content := kit.AppendText([]byte{'{'}, "approval_id", k.Approval)
	word := "false"
	if approved {
		word = "true"
	}
	content = append(kit.AppendMember(content, `"approved"`, word), '}')
	request := agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"` // the old host requires a content
		Calls   []any  `json:"toolCalls"`
	}{parent, "assistant", "", []any{agui.CallJSON(k.Call, microsoft.RequestApproval, k.Args)}})
	answer := agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
		Call    string `json:"toolCallId"`
	}{"answer-" + id, "tool", string(content), k.Call})
	return []agui.Message{agui.ParseMessage(request), agui.ParseMessage(answer)}
}

// messagesBefore returns the messages that precede the answers. These are the client's messages
// without the new ones. If the client sends fewer messages than are on record (messages: [] is
// legal), they are those on record.
func messagesBefore(r *translate.Request) []agui.Message {
	list, recorded := kit.MessagesBefore(r)
	if recorded && r.Show == translate.ShowNative {
		return kit.WithoutMessages(r.Input.Messages, r.NewMessages)
	}
	return list
}

// newMessages returns the second request of a resume: an ordinary run with the new messages. The
// backend has already sent the results of the approved calls itself.
func newMessages(r *translate.Request) translate.Out {
	asked, _ := keptOf(r.Pause)
	list, _ := cleanHistory(kit.HistoryAfter(r, askedCallIDs(asked)).AfterCalls(nil), leftOverCalls(r))
	return translate.Out{Body: kit.WithoutAnswers(r.Input, list), TakesNew: true}
}
