package agno

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// denied is what the model reads of a no without a note, and what a tool that was no confirmation
// is told in the message's error: an external execution fails then, and user input is refused.
const denied = "rejected by the user"

// said is the content of the tool message that gives an answer. no says that it is a denial.
func said(k kind, a agui.Answer) (content string, no bool, err error) {
	switch {
	case a.Status == agui.Cancelled && k == confirm:
		return `{"accepted":false,"cancelled":true}`, true, nil
	case a.Status == agui.Cancelled && k == external:
		return `{"cancelled":true}`, true, nil
	case a.Status == agui.Cancelled:
		return "", true, agui.Errorf(agui.InvalidPayload, "interrupt %q cannot be cancelled: agno would run the tool with the model's arguments. Answer it, or cancel all that is open", a.ID)
	case k == external:
		return result(a.Payload), false, nil
	}
	payload, ok := clear(k, a.Payload)
	if !ok {
		return "", false, agui.Errorf(agui.InvalidPayload, "payload for interrupt %q is none that agno takes: want %s", a.ID, wants[k])
	}
	return string(payload), k == confirm && gjson.GetBytes(payload, "accepted").Type == gjson.False, nil
}

var wants = map[kind]string{
	confirm: `{"accepted":true} or {"accepted":false,"note":".."}`, input: `{"values":{..}}`, feedback: `{"selections":{"question":["label"]}}`,
}

// result is the result of an external execution: a text as it is, any other value as JSON.
func result(payload json.RawMessage) string {
	value := gjson.ParseBytes(payload)
	switch {
	case !value.Exists():
		return "null"
	case value.Type == gjson.String && !agui.ValidJSON([]byte(value.Str)):
		return value.Str
	}
	return string(agui.AppendCompact(nil, payload))
}

// read is what the content of a tool message says to a question. It reads back what said made.
func read(k kind, content string) (agui.Answer, bool) {
	valid := agui.ValidJSON([]byte(content))
	value := gjson.Parse(content)
	switch {
	case valid && len(value.Map()) == 2 && k == confirm && value.Get("cancelled").Type == gjson.True && value.Get("accepted").Type == gjson.False,
		valid && k == external && len(value.Map()) == 1 && value.Get("cancelled").Type == gjson.True:
		return agui.Answer{Status: agui.Cancelled}, true
	case k == external && !valid:
		return agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(content)}, true
	case !valid:
		return agui.Answer{}, false
	case k == external:
		if content == "null" {
			return agui.Answer{Status: agui.Resolved}, true
		}
		return agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(content)}, true
	}
	payload, ok := clear(k, json.RawMessage(content))
	return agui.Answer{Status: agui.Resolved, Payload: payload}, ok
}

// clear is a payload in the one form that is sent. It returns false for what agno could read in
// another way.
func clear(k kind, payload json.RawMessage) (json.RawMessage, bool) {
	value := gjson.ParseBytes(payload)
	if k == confirm && value.IsBool() {
		return json.RawMessage(`{"accepted":` + value.Raw + `}`), true
	}
	if !value.IsObject() {
		return nil, false
	}
	var of gjson.Result
	note, ok := "", true
	value.ForEach(func(name, v gjson.Result) bool {
		decides := k == confirm && (name.Str == "accepted" || name.Str == "approved" || name.Str == "confirmed") && v.IsBool()
		fills := k == input && name.Str == "values" && v.IsObject() || k == feedback && name.Str == "selections" && isSelection(v)
		switch {
		case (decides || fills) && !of.Exists():
			of = v
		case k == confirm && name.Str == "note" && v.Type == gjson.String && note == "":
			note = v.Raw
		default:
			ok = false
		}
		return ok
	})
	if !ok || !of.Exists() {
		return nil, false
	}
	key := map[kind]string{confirm: `"accepted"`, input: `"values"`, feedback: `"selections"`}[k]
	out := kit.AppendMember([]byte{'{'}, key, string(agui.AppendCompact(nil, []byte(of.Raw))))
	if note != "" {
		out = kit.AppendMember(out, `"note"`, note)
	}
	return append(out, '}'), true
}

func isSelection(v gjson.Result) bool {
	if !v.IsObject() {
		return false
	}
	ok := true
	v.ForEach(func(_, labels gjson.Result) bool {
		ok = labels.IsArray()
		return ok
	})
	return ok
}
