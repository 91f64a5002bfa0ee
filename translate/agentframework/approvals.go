package agentframework

import (
	"encoding/json"

	"holdpoint/internal/agui"
)

// byApprovals returns the request that sends all answers in one user message with
// function_approvals. 1.0.0rc7 reads it. In this form a request can approve some calls and deny
// others.
func byApprovals(res *resumption, replies []reply) ([]byte, error) {
	for _, r := range replies {
		if err := r.refuseEdits(); err != nil {
			return nil, err
		}
	}
	return res.body(append(res.conversation(replies), approvalsMessage(res.answerID(), replies, reply.exactArgs))), nil
}

func approvalsMessage(id string, replies []reply, args func(reply) json.RawMessage) agui.Message {
	type one struct {
		ID       string          `json:"id"`
		Call     string          `json:"call_id"`
		Name     string          `json:"name"`
		Approved bool            `json:"approved"`
		Args     json.RawMessage `json:"arguments"`
	}
	list := make([]one, len(replies))
	for n, r := range replies {
		list[n] = one{r.ID, r.Call, r.Name, r.yes, args(r)}
	}
	return agui.ParseMessage(agui.MustMarshal(struct {
		ID        string `json:"id"`
		Role      string `json:"role"`
		Content   string `json:"content"`
		Approvals []one  `json:"function_approvals"`
	}{id, "user", "", list}))
}

// exactArgs returns the call's arguments exactly as the backend wrote them.
func (r reply) exactArgs() json.RawMessage {
	if len(r.Args) == 0 {
		return json.RawMessage("{}")
	}
	return r.Args
}
