package requestapproval

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect: the entries of resume; command.resume of clients that were shown the CUSTOM event
// that Holdpoint makes; else the backend's own form, a tool message on the call. Where there are entries no tool message
// is read: CopilotKit adds one with the payload.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	if err != nil {
		return nil, err
	}
	for n := range list {
		alias(&list[n])
	}
	if len(list) > 0 || p.ID == "" || p.Dialect != Name {
		return list, nil
	}
	return fromMessages(in, p)
}

// alias reads the short forms: true and false, and accepted, agent-framework's word, where approved is missing.
func alias(a *agui.Answer) {
	if s := string(a.Payload); s == "true" || s == "false" {
		a.Payload = json.RawMessage(`{"approved":` + s + `}`)
		return
	}
	payload := gjson.ParseBytes(a.Payload)
	if accepted := kit.Members(payload, "accepted"); len(accepted) == 1 && accepted[0].IsBool() &&
		payload.Get("accepted").Exists() && len(kit.Members(payload, "approved")) == 0 {
		a.Payload = agui.SetKey(agui.DeleteKey(slices.Clone(a.Payload), "accepted"), "approved", []byte(accepted[0].Raw))
	}
}

// fromMessages reads the tool messages by which the samples' own clients answer. The client's copy of the call is not
// looked at: what is asked stands in the record.
func fromMessages(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	asked, ok := keptOf(p)
	if !ok {
		return nil, nil
	}
	said := map[string][]agui.Message{} // by the call
	for _, m := range in.Messages {
		if m.Role == "tool" {
			said[m.ToolCallID] = append(said[m.ToolCallID], m)
		}
	}
	var list []agui.Answer
	places := map[string]int{} // in it, by the ids
	for n, k := range asked {
		for _, m := range said[k.Call] {
			a, ok := fromMessage(m, k)
			if !ok || k.Repeats && p.Knows(a.Message) {
				continue
			}
			switch {
			case a.ID == "":
				a.ID = p.Interrupts[n].ID
			case p.Named(a.ID) != nil: // the samples' hosts go by the call, others by approval_id
				return nil, agui.Errorf(agui.InvalidPayload, "the tool message on call %q has the approval_id of another request", agui.Cut(k.Call))
			}
			if at, twice := places[a.ID]; !twice {
				places[a.ID] = len(list)
				list = append(list, a)
			} else if string(list[at].Payload) != string(a.Payload) {
				return nil, agui.Errorf(agui.ResumeConflict, "two tool messages answer interrupt %q, and say different things", agui.Cut(a.ID))
			}
		}
	}
	return list, nil
}

// fromMessage reads a tool message: {"approval_id":A,"approved":b}, on the call. Another approval's id comes back in the
// answer: nobody asked for that one here.
func fromMessage(m agui.Message, k kept) (agui.Answer, bool) {
	if m.Role != "tool" || m.ToolCallID != k.Call {
		return agui.Answer{}, false
	}
	content := kit.ParseText(gjson.GetBytes(m.JSON, "content"))
	id, hasID := only(content, "approval_id")
	approved, hasApproved := only(content, "approved")
	if !hasID || !hasApproved || id.Type != gjson.String || !approved.IsBool() {
		return agui.Answer{}, false
	}
	a := agui.Answer{
		Status: agui.Resolved, Payload: json.RawMessage(`{"approved":` + approved.Raw + `}`), Native: true, Message: agui.See(m),
	}
	if id.Str != k.Approval {
		a.ID = id.Str
	}
	return a, true
}

// approves says whether an answer is a yes. What says two things, or approves what was not asked, is refused.
func approves(a agui.Answer, k kept) (bool, error) {
	if a.Status == agui.Cancelled {
		return false, nil
	}
	payload := gjson.ParseBytes(a.Payload)
	said := append(kit.Members(payload, "approved"), kit.Members(payload, "accepted")...)
	yes, no := 0, 0
	for _, v := range said {
		switch v.Type {
		case gjson.True:
			yes++
		case gjson.False:
			no++
		}
	}
	if yes+no != len(said) || (yes > 0) == (no > 0) {
		return false, agui.Errorf(agui.InvalidPayload, "payload for interrupt %q does not say yes or no in approved", a.ID)
	}
	for _, id := range kit.Members(payload, "approval_id") {
		if id.Type != gjson.String || id.Str != k.Approval {
			return false, agui.Errorf(agui.InvalidPayload, "payload for interrupt %q has another approval_id", a.ID)
		}
	}
	for _, edited := range kit.Members(payload, "editedArgs") {
		if yes > 0 && edited.Type != gjson.Null {
			return false, agui.Errorf(agui.InvalidPayload, "payload for interrupt %q edits the arguments, which this backend does not take", a.ID)
		}
	}
	return yes > 0, nil
}
