package kit

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// WithoutMessages is list less some of its members.
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

// MessagesBefore returns the conversation that a resume goes on with: the request's messages
// without those beside the answers. Where the client sends fewer (messages: [] is legal) it is the
// record's messages, and recorded is true.
func MessagesBefore(r *translate.Request) (list []agui.Message, recorded bool) {
	old := WithoutMessages(r.Input.Messages, r.New)
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

// conversation counts what a backend has of a list of messages.
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

// KnownMessages returns all messages that the client has been shown. Those beside the answers are
// left out, for they did not go to the backend yet. It is false if they are not all known.
func KnownMessages(r *translate.Request) ([]agui.Message, bool) {
	if r.Transcript == nil {
		return nil, false
	}
	raw, ok := r.Transcript.Messages()
	if !ok {
		return nil, false
	}
	gone := make(map[agui.SeenMessage]bool, len(r.New))
	for _, m := range r.New {
		gone[agui.See(m)] = true // not by its bytes: it may have been written anew
	}
	var rest []agui.Message
	for _, raw := range raw {
		if m := agui.ParseMessage(raw); !gone[agui.See(m)] {
			rest = append(rest, m)
		}
	}
	return rest, true
}

// Unanswered returns the body of a run with the given messages, and without an answer in any form.
// It has no protocolVersion either, for a backend that is older than that.
func Unanswered(in agui.RunInput, messages []agui.Message) []byte {
	return agui.SetKey(BodyWithoutAnswers(in, in.Raw), "messages", agui.MessageList(messages))
}

// BodyWithoutAnswers is body without resume, without an answer in forwardedProps.command, and
// without protocolVersion.
func BodyWithoutAnswers(in agui.RunInput, body []byte) []byte {
	body = BodyWithoutCommand(in, body)
	return agui.DeleteKey(agui.DeleteKey(body, "resume"), "protocolVersion")
}

// BodyWithoutCommand takes out of body the answer that the client gave in forwardedProps.command.
func BodyWithoutCommand(in agui.RunInput, body []byte) []byte {
	props := gjson.GetBytes(body, "forwardedProps")
	in.Raw, in.ForwardedProps = body, nil
	if props.Exists() {
		in.ForwardedProps = json.RawMessage(props.Raw)
	}
	return in.WithoutCommand().Raw
}

// NewMessages returns the second exchange of a resume that could not carry the messages beside the
// answers: an ordinary run that brings them, behind all that the client has been shown.
func NewMessages(r *translate.Request) translate.Out {
	return translate.Out{Body: Unanswered(r.Input, WithNewMessages(r)), TakesNew: true}
}

// WithNewMessages returns the messages of that exchange; the list is the caller's own. The new ones
// stand last, wherever the client has them: an answer that stood last would be taken again.
func WithNewMessages(r *translate.Request) []agui.Message { return slices.Concat(Shown(r), r.New) }

// Shown returns the messages that the client has been shown, or its own where that is not known.
func Shown(r *translate.Request) []agui.Message {
	if list, ok := KnownMessages(r); ok {
		return list
	}
	return WithoutMessages(r.Input.Messages, r.New)
}

// AsSent returns the input with all messages that the client sent. A call without a result may have
// been taken out of those that go to the backend (translate.Continuer).
func AsSent(r *translate.Request) agui.RunInput {
	if len(r.Came) == 0 {
		return r.Input
	}
	return r.Input.WithMessages(r.Came)
}

// A DanglingCall is a tool call of the assistant in the history that no result answers.
type DanglingCall struct {
	ID, Name string
	// Abandoned says that a user's message stands behind it: the conversation went on without its
	// result.
	Abandoned bool
}

// WithoutDangling returns the input without calls that have no result, if goes says so of the call.
// A message that has nothing else goes too. Ids may repeat, so a result counts for the nearest call
// before it only.
func WithoutDangling(in agui.RunInput, goes func(DanglingCall) bool) agui.RunInput {
	results, user, changed := map[string]bool{}, false, false
	var kept []agui.Message // from the last to the first
	for at := len(in.Messages) - 1; at >= 0; at-- {
		m, ok := in.Messages[at], true
		object := gjson.ParseBytes(m.JSON)
		gone := map[string]bool{}
		for _, c := range Calls(object) {
			d := DanglingCall{ID: first(c, "id").Str, Name: first(first(c, "function"), "name").Str, Abandoned: user}
			if !results[d.ID] && goes(d) {
				gone[d.ID] = true
			}
			delete(results, d.ID)
		}
		switch {
		case IsTool(object):
			results[first(object, "toolCallId").Str] = true
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
