package kit

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A ToolReply is the result of a tool call that Holdpoint writes itself. ID is the id of the tool
// message, Call the id of the call, and Content the result.
//
// Holdpoint sends Message to the backend and Event to the client. The client turns the event into
// the same message and sends it with every later run.
type ToolReply struct{ ID, Call, Content string }

// Message returns the result as a tool message for the backend.
func (t ToolReply) Message() agui.Message {
	return agui.ParseMessage(agui.MustMarshal(struct {
		ID      string `json:"id"`
		Role    string `json:"role"`
		Call    string `json:"toolCallId"`
		Content string `json:"content"`
	}{t.ID, "tool", t.Call, t.Content}))
}

// Event returns the TOOL_CALL_RESULT event for the client. Without it the client's later runs would
// contain the call without a result, and models refuse such a conversation.
func (t ToolReply) Event() agui.Event {
	return agui.MakeEvent(agui.CallResult, "messageId", t.ID, "toolCallId", t.Call, "content", t.Content, "role", "tool")
}

// CallsOf returns the set of the ids of the calls that the replies belong to.
func CallsOf(replies []ToolReply) map[string]bool {
	calls := make(map[string]bool, len(replies))
	for _, t := range replies {
		calls[t.Call] = true
	}
	return calls
}

// ToolMessages returns the tool message of each reply, in the same order.
func ToolMessages(replies []ToolReply) []agui.Message {
	list := make([]agui.Message, len(replies))
	for n, t := range replies {
		list[n] = t.Message()
	}
	return list
}

// MessagesAfter returns the messages of a second exchange with the backend. The second exchange
// sends the messages that the client sent together with its answers. The first exchange sent the
// replies. Each reply is inserted after its call, because a model refuses a call without a result.
// A backend that stores the conversation gets only the new messages.
func MessagesAfter(r *translate.Request, replies []ToolReply) []agui.Message {
	calls := CallsOf(replies)
	if r.Sessions {
		return HistoryOf(r.NewMessages, calls).WithoutCalls()
	}
	return HistoryAfter(r, calls).AfterCalls(ToolMessages(replies))
}
