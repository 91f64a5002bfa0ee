package langgraph

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// withCommand sets forwardedProps.command.resume in the body to value. The values of all other keys
// keep their bytes. It returns an error if forwardedProps or its command is not an object.
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

// withMessages returns the body of the request with messages in place of the client's. If messages
// is nil, it returns the body unchanged.
func withMessages(in agui.RunInput, messages json.RawMessage) []byte {
	if messages == nil {
		return in.Raw
	}
	return agui.SetKey(in.Raw, "messages", messages)
}

// resumeMessages returns the messages that a resume sends to the backend, or nil if the client's
// messages can be sent unchanged. New messages are left out, because Holdpoint sends them in a run
// of their own. If the client sent fewer messages than the backend had, the messages of the stored
// pause are used. Adapters before June 2026 compare the number of messages, and begin a new run if
// the client sends fewer (RAN TS 0.0.17, 0.0.31). Newer adapters do not compare them.
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
