package kit

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A ToolReply is what a backend is told of a call, as a tool message. ID is the message's.
//
// Message goes to the backend and Event to the client. A client makes of the event what Message
// says, and sends it with every later run. So both are made here.
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

// Event tells it to a client. Without it a later run brings the call without a result, which models
// refuse.
func (t ToolReply) Event() agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type    agui.Type `json:"type"`
		ID      string    `json:"messageId"`
		Call    string    `json:"toolCallId"`
		Content string    `json:"content"`
		Role    string    `json:"role"`
	}{agui.CallResult, t.ID, t.Call, t.Content, "tool"}))
}

// CallsOf returns the calls of some replies.
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

// MessagesBehind returns the messages of a second exchange, for what was said beside the replies of
// the first one. Each reply follows its call, because a model refuses a call without one. A backend
// that keeps the conversation gets the new messages alone.
func MessagesBehind(r *translate.Request, replies []ToolReply) []agui.Message {
	calls := CallsOf(replies)
	if r.Sessions {
		return HistoryOf(r.New, calls).Without()
	}
	return After(r, calls).Behind(ToolMessages(replies))
}
