package agentframework

import (
	"encoding/json"

	"holdpoint/internal/agui"
)

// workflowDenied is the value that a workflow of 1.0.0rc7 gets when its question is cancelled,
// because this version does not support a cancel. If the value does not fit the type of the
// question, the client's cancel is refused.
const workflowDenied = "false"

// byObject returns a request that sends the answers to a workflow of 1.0.0rc7. The workflow
// requires an object in resume. If it gets an array, it responds with HTTP status 422.
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
