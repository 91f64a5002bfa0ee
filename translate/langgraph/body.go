package langgraph

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// withCommand sets forwardedProps.command.resume; every other key keeps its bytes.
func withCommand(body []byte, value json.RawMessage) ([]byte, error) {
	props := gjson.GetBytes(body, "forwardedProps")
	command := props.Get("command")
	for _, v := range []gjson.Result{props, command} {
		if v.Exists() && v.Type != gjson.Null && !v.IsObject() {
			return nil, agui.Errorf(agui.InvalidPayload, "the answer cannot be handed on: forwardedProps and forwardedProps.command must be objects")
		}
	}
	c := agui.SetKey(objectOrEmpty(command), "resume", value)
	p := agui.SetKey(objectOrEmpty(props), "command", c)
	return agui.SetKey(body, "forwardedProps", p), nil
}

func objectOrEmpty(v gjson.Result) []byte {
	if v.IsObject() {
		return []byte(v.Raw)
	}
	return []byte("{}")
}

// bodyWithoutCommand takes out of body the answer that the client gave in command.resume.
func bodyWithoutCommand(in agui.RunInput, body []byte) []byte {
	props := gjson.GetBytes(body, "forwardedProps")
	in.Raw, in.ForwardedProps = body, rawOf(props)
	return in.WithoutCommand().Raw
}

// unanswered is the body of a run without an answer, with the given messages.
func unanswered(in agui.RunInput, messages json.RawMessage) []byte {
	body := bodyWithoutCommand(in, in.Raw)
	body = agui.DeleteKey(agui.DeleteKey(body, "resume"), "protocolVersion")
	return agui.SetKey(body, "messages", messages)
}

// withMessages replaces the messages; nil leaves them.
func withMessages(in agui.RunInput, messages json.RawMessage) []byte {
	if messages == nil {
		return in.Raw
	}
	return agui.SetKey(in.Raw, "messages", messages)
}

// resumeMessages are the messages beside the answers: the client's without the new ones, which go in a run of their
// own, or the record's where the client sends fewer than the backend had. Adapters of before June 2026 compare the
// numbers first and, instead of resuming, begin anew (RAN TS 0.0.17, 0.0.31); newer ones look at neither. nil: as sent.
func resumeMessages(r translate.Request) json.RawMessage {
	old := without(r.Input.Messages, r.New)
	var kept []agui.Message
	gjson.ParseBytes(r.Pause.Messages).ForEach(func(_, m gjson.Result) bool {
		if m.IsObject() {
			kept = append(kept, agui.ParseMessage([]byte(m.Raw)))
		}
		return true
	})
	switch {
	case conversation(old) < conversation(kept):
		return r.Pause.Messages
	case len(old) < len(r.Input.Messages):
		return agui.MessageList(old)
	}
	return nil
}

// conversation counts what LangGraph has of a list of messages.
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

// without is list less some of its members.
func without(list, some []agui.Message) []agui.Message {
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

// knownMessages are all messages that the client has been shown, without those that did not go to the backend yet.
func knownMessages(r translate.Request) (json.RawMessage, bool) {
	if r.Transcript == nil {
		return nil, false
	}
	raw, ok := r.Transcript.Messages()
	if !ok {
		return nil, false
	}
	var list []agui.Message
	for _, m := range raw {
		list = append(list, agui.ParseMessage(m))
	}
	return agui.MessageList(withoutSeen(list, r.New)), true
}

// withoutSeen is without for messages that may have been written anew.
func withoutSeen(list, some []agui.Message) []agui.Message {
	gone := make(map[agui.SeenMessage]bool, len(some))
	for _, m := range some {
		gone[agui.See(m)] = true
	}
	var rest []agui.Message
	for _, m := range list {
		if !gone[agui.See(m)] {
			rest = append(rest, m)
		}
	}
	return rest
}

// newMessages is the second exchange of a resume: an ordinary run that brings what came beside the answers.
func (d *Dialect) newMessages(r translate.Request) translate.Out {
	messages, ok := knownMessages(r)
	if ok {
		messages = append(messages[:len(messages)-1], afterComma(messages, agui.MessageList(r.New))...)
	} else {
		messages = agui.MessageList(r.Input.Messages)
	}
	return translate.Out{Body: unanswered(r.Input, messages), TakesNew: true}
}

// afterComma is the rest of a list after what list has, from the comma on.
func afterComma(list, more json.RawMessage) []byte {
	if len(list) == len("[]") {
		return more[1:]
	}
	return append([]byte{','}, more[1:]...)
}
