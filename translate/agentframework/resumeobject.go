package agentframework

import (
	"encoding/json"

	"holdpoint/internal/agui"
)

// workflowDenied is what a workflow of 1.0.0rc7 gets for a cancelled question, because it knows no
// cancel. If the value does not fit the type that the workflow asks for, the question is
// given up.
const workflowDenied = "false"

// byObject answers a workflow of 1.0.0rc7. It takes an object for resume, and answers an
// array with HTTP 422.
func byObject(res *resumption, replies []reply) ([]byte, error) {
	type one struct {
		ID    string          `json:"id"`
		Value json.RawMessage `json:"value"`
	}
	list := make([]one, len(replies))
	for n, r := range replies {
		value := r.answer.Payload
		if r.answer.Status == agui.Cancelled {
			value = json.RawMessage(workflowDenied)
			if schema := r.interrupt.Schema(); schema == nil || res.r.Valid == nil || res.r.Valid(schema, value) != nil {
				return nil, agui.Errorf(agui.InvalidPayload, textNoCancel, r.answer.ID)
			}
		}
		list[n] = one{r.ID, value}
	}
	resume := agui.MustMarshal(map[string][]one{"interrupts": list})
	return agui.SetKey(res.body(res.conversation(replies)), "resume", resume), nil
}
