package agentframework

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// byToolMessage answers by a tool message: {"accepted":b} on the call itself, or
// {"accepted":b,"steps":[..]} on the confirm_changes call of a predicted state. `approved` is not
// understood. That call must not be in the history: there it is taken for the real one, which is
// not registered, and the model is asked again (RAN 1.0.0rc7 to 1.7.0).
func byToolMessage(res *resumption, replies []reply) ([]byte, error) {
	one := replies[0]
	to := one.Call
	content := []byte(`{"accepted":false}`)
	if one.yes {
		content = []byte(`{"accepted":true}`)
	}
	if one.Kind == confirm {
		to, content = one.Confirm, agui.SetKey(content, "steps", one.steps())
	} else if err := one.refuseEdits(); err != nil {
		return nil, err
	}
	answer := toldResult{res.answerID(), string(content)}.message(to)
	return res.body(append(res.conversation(replies), answer)), nil
}

// steps of a plan, as the person left them.
func (r reply) steps() json.RawMessage {
	if s := gjson.GetBytes(r.answer.Payload, "steps"); s.IsArray() {
		return json.RawMessage(s.Raw)
	}
	return json.RawMessage("[]")
}

// refuseEdits refuses changed arguments where the backend runs a call only with those that it asked
// about: to run it unchanged would not be what was approved.
func (r reply) refuseEdits() error {
	if !r.yes {
		return nil
	}
	args := gjson.Parse(r.arguments())
	var edited string
	gjson.ParseBytes(r.answer.Payload).ForEach(func(k, v gjson.Result) bool {
		argument := false
		args.ForEach(func(name, _ gjson.Result) bool {
			argument = argument || name.Str == k.Str
			return true
		})
		if k.Str == "editedArgs" && v.IsObject() || argument && k.Str != "accepted" && k.Str != "approved" {
			edited = k.Str
		}
		return true
	})
	if edited == "" {
		return nil
	}
	return agui.Errorf(agui.InvalidPayload, textNoEdits, r.answer.ID, agui.Cut(edited))
}
