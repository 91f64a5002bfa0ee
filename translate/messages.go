package translate

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
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

// KnownMessages are all messages that the client has been shown, without those beside the answers, which did not go to
// the backend yet; false if they are not all known.
func KnownMessages(r Request) ([]agui.Message, bool) {
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

// Unanswered is the body of a run without an answer in any form, with the given messages; without protocolVersion too,
// for a backend that predates it.
func Unanswered(in agui.RunInput, messages []agui.Message) []byte {
	return agui.SetKey(BodyWithoutAnswers(in, in.Raw), "messages", agui.MessageList(messages))
}

// BodyWithoutAnswers is body without resume, without an answer in forwardedProps.command, and without protocolVersion.
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

// NewMessages is the second exchange of a resume that could not carry the messages beside the answers: an ordinary run
// that brings them, behind all that the client has been shown.
func NewMessages(r Request) Out {
	messages, ok := KnownMessages(r)
	if ok {
		messages = append(messages, r.New...)
	} else {
		messages = r.Input.Messages
	}
	return Out{Body: Unanswered(r.Input, messages), TakesNew: true}
}
