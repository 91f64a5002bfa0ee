package kit

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// WithoutMessages returns list without the messages in some. Messages are compared by their bytes.
func WithoutMessages(list, some []agui.Message) []agui.Message {
	gone := make(map[string]int, len(some))
	for _, m := range some {
		gone[string(m.JSON)]++
	}
	var rest []agui.Message
	for _, m := range list {
		if gone[string(m.JSON)] > 0 {
			gone[string(m.JSON)]--
			continue
		}
		rest = append(rest, m)
	}
	return rest
}

// MessagesBefore returns the conversation that precedes the answers of a resume: the request's
// messages without the new ones. A client may send fewer messages, or none. So if the record has a
// longer conversation, MessagesBefore returns that one, and recorded is true.
func MessagesBefore(r *translate.Request) (list []agui.Message, recorded bool) {
	old := WithoutMessages(r.Input.Messages, r.NewMessages)
	var kept []agui.Message
	gjson.ParseBytes(r.Pause.Messages).ForEach(func(_, m gjson.Result) bool {
		if m.IsObject() {
			kept = append(kept, agui.ParseMessage([]byte(m.Raw)))
		}
		return true
	})
	if conversation(old) < conversation(kept) {
		return kept, true
	}
	return old, false
}

// conversation returns the number of messages of a user, the assistant or a tool. A backend stores
// these messages as its conversation.
func conversation(list []agui.Message) int {
	n := 0
	for _, m := range list {
		switch m.Role {
		case "user", "assistant", "tool":
			n++
		}
	}
	return n
}

// KnownMessages returns all messages that the client has seen, except the new messages of the
// request, which the backend does not have yet. It returns false if some of the messages are
// unknown.
func KnownMessages(r *translate.Request) ([]agui.Message, bool) {
	if r.Transcript == nil {
		return nil, false
	}
	raw, ok := r.Transcript.Messages()
	if !ok {
		return nil, false
	}
	gone := make(map[agui.SeenMessage]bool, len(r.NewMessages))
	for _, m := range r.NewMessages {
		// not compared by bytes, because the message may have been rewritten
		gone[agui.NewSeenMessage(m)] = true
	}
	var rest []agui.Message
	for _, raw := range raw {
		if m := agui.ParseMessage(raw); !gone[agui.NewSeenMessage(m)] {
			rest = append(rest, m)
		}
	}
	return rest, true
}

// WithoutAnswers returns the body of a run with these messages and without answers. It also removes
// protocolVersion, because the caller's backend does not support it.
func WithoutAnswers(in agui.RunInput, messages []agui.Message) []byte {
	return agui.SetKey(BodyWithoutAnswers(in, in.Raw), "messages", agui.MessageList(messages))
}

// BodyWithoutAnswers returns the body without resume, without the answer in forwardedProps.command,
// and without protocolVersion.
func BodyWithoutAnswers(in agui.RunInput, body []byte) []byte {
	body = BodyWithoutCommand(in, body)
	return agui.DeleteKey(agui.DeleteKey(body, "resume"), "protocolVersion")
}

// BodyWithoutCommand returns body without the client's answer in forwardedProps.command.
func BodyWithoutCommand(in agui.RunInput, body []byte) []byte {
	props := gjson.GetBytes(body, "forwardedProps")
	in.Raw, in.ForwardedProps = body, nil
	if props.Exists() {
		in.ForwardedProps = json.RawMessage(props.Raw)
	}
	return in.WithoutCommand().Raw
}

// NewMessages returns the request of the second exchange of a resume, if the first exchange could
// not send the new messages with the answers. It is an ordinary run with all messages that the
// client has seen, followed by the new messages.
func NewMessages(r *translate.Request) translate.Out {
	return translate.Out{Body: WithoutAnswers(r.Input, WithNewMessages(r)), TakesNew: true}
}

// WithNewMessages returns the messages that the client has seen, followed by the new messages. The
// new messages are always last, wherever the client has them. Otherwise an answer could be the last
// message, and the backend would read it again. The caller owns the list.
func WithNewMessages(r *translate.Request) []agui.Message {
	return slices.Concat(ShownMessages(r), r.NewMessages)
}

// ShownMessages returns the messages that the client has seen. If these are unknown, it returns the
// request's messages without the new ones.
func ShownMessages(r *translate.Request) []agui.Message {
	if list, ok := KnownMessages(r); ok {
		return list
	}
	return WithoutMessages(r.Input.Messages, r.NewMessages)
}

// SentInput returns the input with all messages that the client sent. The package proxy may have
// removed calls without a result from the messages for the backend (translate.Continuer); they are
// included here.
func SentInput(r *translate.Request) agui.RunInput {
	if len(r.ClientMessages) == 0 {
		return r.Input
	}
	return r.Input.WithMessages(r.ClientMessages)
}

// A DanglingCall is a call in the history that has no result.
type DanglingCall struct {
	ID, Name string
	// Abandoned is true if a user's message follows the call. Then the conversation continued
	// without the call's result.
	Abandoned bool
}

// WithoutDangling returns the input without those calls that have no result and for which the
// function goes returns true. A message that had only such calls is removed too. A result counts
// for the last message before it that has the call, because ids may repeat.
func WithoutDangling(in agui.RunInput, goes func(DanglingCall) bool) agui.RunInput {
	results, user, changed := map[string]bool{}, false, false
	var kept []agui.Message // in reverse order
	for at := len(in.Messages) - 1; at >= 0; at-- {
		m, ok := in.Messages[at], true
		object := gjson.ParseBytes(m.JSON)
		gone, calls := map[string]bool{}, Calls(object)
		for _, c := range calls {
			d := DanglingCall{ID: agui.IDText(first(c, "id")), Name: first(first(c, "function"), "name").Str, Abandoned: user}
			if !results[d.ID] && goes(d) {
				gone[d.ID] = true
			}
		}
		for _, c := range calls {
			delete(results, agui.IDText(first(c, "id")))
		}
		switch {
		case IsTool(object):
			results[agui.IDText(first(object, "toolCallId"))] = true
		case m.Role == "user":
			user = true
		}
		if len(gone) > 0 {
			changed = true
			m, ok = MessageWithoutCalls(m, gone)
		}
		if ok {
			kept = append(kept, m)
		}
	}
	if !changed {
		return in
	}
	slices.Reverse(kept)
	return in.WithMessages(kept)
}
