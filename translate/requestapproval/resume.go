package requestapproval

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// resumeBody returns the request that carries the answers: the messages before them without the
// open calls, and behind these the pairs.
//
// Each request has a message of its own, with its answer behind it: of two requests in one message
// the wrapper of Agent Framework's sample makes two messages with both, and the function-invoking
// client throws at the repetition (the hosts merge neighbouring messages with calls, so the answer
// stands between). All have one id, for that client rebuilds one message of calls for each id, and
// model providers want all calls of a turn in one, before their results.
func resumeBody(r *translate.Request, asked []questionState, before []agui.Message) ([]byte, error) {
	open := callsAsked(asked)
	// What is put behind a call without a result makes it one that never gets any.
	goes := func(c kit.DanglingCall) bool { return !r.Input.Declares(c.Name) }
	list, _ := cleanHistory(kit.HistoryOf(before, open).Without(), goes)
	for n, k := range asked {
		yes, err := approves(r.Answers[n], k)
		if err != nil {
			return nil, err
		}
		list = append(list, pair(asked[0].Parent, r.Pause.Interrupts[n].ID, k, yes)...)
	}
	if takesNew(r) {
		list = append(list, r.New...)
	}
	body := agui.SetKey(r.Input.Raw, "messages", agui.MessageList(list))
	return kit.BodyWithoutAnswers(r.Input, body), nil
}

func callsAsked(asked []questionState) map[string]bool {
	open := make(map[string]bool, len(asked))
	for _, k := range asked {
		open[k.Call] = true
	}
	return open
}

// takesNew reports whether the new messages beside the answers go with them. The function-invoking
// client puts the rebuilt call and its result behind everything up to Microsoft.Extensions.AI
// 10.8.3, which no sample has reached: what a person says about a call would stand before it. So
// they go in a run of their own, but for the backend's own client, whose history is not known well
// enough to be written by others.
func takesNew(r *translate.Request) bool { return r.Show == translate.ShowNative }

// pair returns the request and its answer.
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
		Content string `json:"content"` // the old host wants one
		Calls   []any  `json:"toolCalls"`
	}{parent, "assistant", "", []any{toolCall(k.Call, microsoft.RequestApproval, k.Args)}})
	answer := agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Content string `json:"content"`
		Call    string `json:"toolCallId"`
	}{"answer-" + id, "tool", string(content), k.Call})
	return []agui.Message{agui.ParseMessage(request), agui.ParseMessage(answer)}
}

// messagesBefore returns the messages before the answers: the client's without the new ones, or the
// record's where the client sends fewer (messages: [] is legal).
func messagesBefore(r *translate.Request) []agui.Message {
	list, recorded := kit.MessagesBefore(r)
	if recorded && r.Show == translate.ShowNative {
		return kit.WithoutMessages(r.Input.Messages, r.New)
	}
	return list
}

// newMessages returns the second exchange: an ordinary run with the messages beside the answers.
// The backend tells the results of what it was asked about itself.
func newMessages(r *translate.Request) translate.Out {
	asked, _ := keptOf(r.Pause)
	list, _ := cleanHistory(kit.After(r, callsAsked(asked)).Behind(nil), isLeftOver(r))
	return translate.Out{Body: kit.Unanswered(r.Input, list), TakesNew: true}
}
