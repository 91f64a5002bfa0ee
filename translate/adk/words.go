package adk

import (
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// cancelled is what a long-running tool is told of a cancelled question. The words are ADK's own
// (ag_ui_adk adk_agent.py _CANCELLED_TOOL_RESULT).
const cancelled = `{"status":"cancelled","cancelled":true}`

// heard is an answer in the words of the question, if it can be said in those. What it says reads
// back from what said makes of it.
func heard(k kind, a agui.Answer) agui.Answer {
	if a.Status != agui.Resolved {
		return a
	}
	switch k {
	case confirm, confirmNode, changes:
		if payload, ok := decision(k, a.Payload); ok {
			a.Payload = payload
		}
	case job:
		if string(agui.Canonical(a.Payload)) == string(agui.Canonical([]byte(cancelled))) {
			a.Status, a.Payload = agui.Cancelled, nil
		}
	}
	return a
}

// said returns the content of the tool message that gives an answer to a question.
func said(asked kept, a agui.Answer) (string, error) {
	k := asked.Kind
	switch {
	case a.Status == agui.Cancelled && !k.hasCancel():
		return "", withoutCancel(a.ID)
	case k == input:
		return inputValue(a.Payload), nil
	case k == credential:
		return credentialValue(asked.Args, a)
	case k == job && a.Status == agui.Cancelled:
		return cancelled, nil
	case k == job:
		return result(a.Payload), nil
	case k == changes && a.Status == agui.Cancelled:
		return `{"accepted":false,"cancelled":true}`, nil
	case a.Status == agui.Cancelled:
		return `{"confirmed":false}`, nil
	}
	payload, ok := decision(k, a.Payload)
	if !ok {
		return "", agui.Errorf(agui.InvalidPayload, "payload for interrupt %q is no {%q: true or false}, and ADK takes anything else for a yes", a.ID, k.word())
	}
	return string(payload), nil
}

// withoutCancel is the error of a cancel that ADK has no word for. If all is cancelled, proxy gives
// the pause up.
func withoutCancel(interrupt string) error {
	return agui.Errorf(agui.InvalidPayload, "interrupt %q cannot be cancelled alone: ADK would take the cancel for the answer. Answer it, or cancel all that is open", interrupt)
}

// read is what the content of a tool message says to a question.
func read(k kind, content string) (agui.Answer, bool) {
	value := gjson.Parse(content)
	takesValue := k == job || k == input || k == credential
	if !agui.ValidJSON([]byte(content)) {
		if !takesValue {
			return agui.Answer{}, false
		}
		return agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(content)}, true // ADK takes it for a text
	}
	if takesValue {
		payload := json.RawMessage(value.Raw)
		if value.IsObject() && len(value.Map()) == 1 && value.Get("result").Exists() {
			payload = json.RawMessage(value.Get("result").Raw)
			if text := value.Get("result"); k == input && text.Type == gjson.String && readsAsJSON(text.Str) {
				payload = json.RawMessage(text.Str) // as ADK reads it
			}
		}
		if string(payload) == "null" {
			payload = nil
		}
		return heard(k, agui.Answer{Status: agui.Resolved, Payload: payload}), true
	}
	if k == changes && value.Get("cancelled").Bool() && value.Get("accepted").Type == gjson.False && len(value.Map()) == 2 {
		return agui.Answer{Status: agui.Cancelled}, true
	}
	payload, ok := decision(k, json.RawMessage(content))
	return agui.Answer{Status: agui.Resolved, Payload: payload}, ok
}

// result is a payload as ADK takes the result of a tool, which must be an object. A lone member
// result is what another value is put into, so it is put in too.
func result(payload json.RawMessage) string {
	value := gjson.ParseBytes(payload)
	if value.IsObject() && (len(value.Map()) != 1 || !value.Get("result").Exists()) {
		return string(agui.AppendCompact(nil, payload))
	}
	if !value.Exists() {
		return `{"result":null}`
	}
	return `{"result":` + string(agui.AppendCompact(nil, payload)) + `}`
}

// word is the member by which the package reads a decision.
func (k kind) word() string {
	if k == changes {
		return "accepted"
	}
	return "confirmed"
}

// decision is a payload in the one form that is sent. It returns false for what does not say one
// clear yes or no.
func decision(k kind, payload json.RawMessage) (json.RawMessage, bool) {
	value := gjson.ParseBytes(payload)
	yes, beside, ok := "", "", true
	say := func(v gjson.Result) {
		if ok = v.IsBool() && yes == ""; ok {
			yes = strconv.FormatBool(v.Bool())
		}
	}
	switch {
	case value.IsBool():
		say(value)
	case value.IsObject():
		value.ForEach(func(name, v gjson.Result) bool {
			switch {
			case name.Str == "confirmed", name.Str == "approved", name.Str == "accepted" && k == changes:
				say(v)
			case name.Str == "payload" && k != changes && beside == "":
				beside = v.Raw
			default:
				ok = false
			}
			return ok
		})
	}
	if !ok || yes == "" {
		return nil, false
	}
	out := kit.AppendMember([]byte{'{'}, strconv.Quote(k.word()), yes)
	if beside != "" {
		out = kit.AppendMember(out, `"payload"`, string(agui.AppendCompact(nil, []byte(beside))))
	}
	return append(out, '}'), true
}
