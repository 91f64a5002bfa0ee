package langgraph

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
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

// withMessages replaces the messages; nil leaves them.
func withMessages(in agui.RunInput, messages json.RawMessage) []byte {
	if messages == nil {
		return in.Raw
	}
	return agui.SetKey(in.Raw, "messages", messages)
}

// resumeMessages are the messages beside the answers: the client's without the new ones, which go
// in a run of their own, or the record's where the client sends fewer than the backend had.
// Adapters of before June 2026 compare the numbers first and, instead of resuming, begin anew (RAN
// TS 0.0.17, 0.0.31); newer ones look at neither. nil: as sent.
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
