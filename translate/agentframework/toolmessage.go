package agentframework

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// byToolMessage returns a request that sends the answer as a tool message. For an approval it is
// {"accepted":b} for the call itself. For a predicted state it is {"accepted":b,"steps":[..]} for
// the confirm_changes call. The backend does not read the key approved. The history must not have
// the confirm_changes call. If it had, the adapter would look for a tool of that name, find none,
// and call the model again (RAN 1.0.0rc7 to 1.7.0).
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
	answer := sentResult{res.answerID(), string(content)}.message(to)
	return res.body(append(res.conversation(replies), answer)), nil
}

// steps returns the steps that the person selected, from the payload of the answer.
func (r reply) steps() json.RawMessage {
	if s := gjson.GetBytes(r.answer.Payload, "steps"); s.IsArray() {
		return json.RawMessage(s.Raw)
	}
	return json.RawMessage("[]")
}

// refuseEdits returns an error if an approval changes arguments. The backend would ignore the
// changes and run the call with the original arguments, which the person did not approve.
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
	return agui.Errorf(agui.InvalidPayload, textNoEdits, r.answer.ID, agui.Shorten(edited))
}
