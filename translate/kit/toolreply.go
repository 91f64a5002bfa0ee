package kit

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A ToolReply is the result of a call in a tool message that Holdpoint makes for the backend. ID is
// the id of the message.
//
// Message is sent to the backend and Event to the client. The client turns the event into the same
// message and sends it with every later run.
type ToolReply struct{ ID, Call, Content string }

// Message returns the tool message.
func (t ToolReply) Message() agui.Message {
	return agui.ParseMessage(agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Call    string `json:"toolCallId"`
		Content string `json:"content"`
	}{t.ID, "tool", t.Call, t.Content}))
}

// Event returns the event that gives the client the result. Without the result, later runs would
// contain the call without a result, which models refuse.
func (t ToolReply) Event() agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type    agui.Type `json:"type"`
		ID      string    `json:"messageId"`
		Call    string    `json:"toolCallId"`
		Content string    `json:"content"`
		Role    string    `json:"role"`
	}{agui.CallResult, t.ID, t.Call, t.Content, "tool"}))
}

// CallsOf returns the ids of the calls of some replies.
func CallsOf(replies []ToolReply) map[string]bool {
	calls := make(map[string]bool, len(replies))
	for _, t := range replies {
		calls[t.Call] = true
	}
	return calls
}

// ToolMessages returns the messages of some replies.
func ToolMessages(replies []ToolReply) []agui.Message {
	list := make([]agui.Message, len(replies))
	for n, t := range replies {
		list[n] = t.Message()
	}
	return list
}

// MessagesAfter returns the messages of a second exchange, which sends the messages that arrived
// together with the replies of the first exchange. Each reply follows its call, because a model
// refuses a call without a result. A backend that stores the conversation gets only the new
// messages.
func MessagesAfter(r *translate.Request, replies []ToolReply) []agui.Message {
	calls := CallsOf(replies)
	if r.Sessions {
		return HistoryOf(r.NewMessages, calls).WithoutCalls()
	}
	return HistoryAfter(r, calls).AfterCalls(ToolMessages(replies))
}
