package langgraph

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// withCommand sets forwardedProps.command.resume. Every other key keeps its bytes.
func withCommand(body []byte, value json.RawMessage) ([]byte, error) {
	props := gjson.GetBytes(body, "forwardedProps")
	command := props.Get("command")
	for _, v := range []gjson.Result{props, command} {
		if v.Exists() && v.Type != gjson.Null && !v.IsObject() {
			return nil, agui.Errorf(agui.InvalidPayload, textNotObjects)
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

// withMessages replaces the messages. nil leaves them as they are.
func withMessages(in agui.RunInput, messages json.RawMessage) []byte {
	if messages == nil {
		return in.Raw
	}
	return agui.SetKey(in.Raw, "messages", messages)
}

// resumeMessages returns the messages of a resume, nil for those that the client sent. They are the
// client's without the new ones, which go in a run of their own. If the client sends fewer than the
// backend had, they are the record's. Adapters of before June 2026 compare the numbers first, and
// begin anew in place of resuming (RAN TS 0.0.17, 0.0.31). Newer ones look at neither.
func resumeMessages(r *translate.Request) json.RawMessage {
	list, recorded := kit.MessagesBefore(r)
	switch {
	case recorded:
		return r.Pause.Messages
	case len(list) < len(r.Input.Messages):
		return agui.MessageList(list)
	}
	return nil
}
