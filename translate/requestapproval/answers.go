package requestapproval

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect: the entries of resume, and command.resume of clients that
// were shown the CUSTOM event that Holdpoint makes. The backend's own form is a tool message on the
// call, see Replies.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		alias(&list[n])
	}
	return list, err
}

// alias reads the short forms: true and false, and accepted, agent-framework's word, where approved
// is missing.
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

// Replies implements translate.HistoryReader: the tool messages by which the samples' own clients
// answer, and every other native approval, which is a stray here. A client's copy of the call need
// not be there: what is asked stands in the record.
func (*Dialect) Replies(in agui.RunInput, spoken string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		pairs := microsoft.Approvals(in, spoken == Name)
		for _, one := range pairs {
			if one.Kept = one.Key == microsoft.RequestApproval; one.Kept {
				one.Dialect, one.Key = Name, replyKey(in.Messages[one.At])
			}
			if !yield(one) {
				return
			}
		}
		paired := func(at int) bool {
			_, is := slices.BinarySearchFunc(pairs, at, func(r translate.Reply, at int) int { return r.At - at })
			return is
		}
		for at, m := range in.Messages {
			if m.Role != "tool" || m.ToolCallID == "" || !kit.MaySay(m.JSON, "approved", 'v') || paired(at) {
				continue
			}
			key := replyKey(m)
			if key == "" {
				continue
			}
			if !yield(translate.Reply{Dialect: Name, At: at, Key: key}) {
				return
			}
			// On an open call it is an answer, or it is refused: the samples' hosts go by the call,
			// others by approval_id.
			if !yield(translate.Reply{Dialect: Name, At: at, Key: m.ToolCallID, Unclear: true}) {
				return
			}
		}
	}
}

// keyOf is what an answer names.
func keyOf(call, approval string) string { return call + "\n" + approval }

// replyKey is what a tool message names, "" if it is no answer to a request.
func replyKey(m agui.Message) string {
	if approval, _, ok := fromMessage(m); ok {
		return keyOf(m.ToolCallID, approval)
	}
	return ""
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(m agui.Message, _ translate.Reply, _ agui.Interrupt) (agui.Answer, bool) {
	_, approved, ok := fromMessage(m)
	return agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":` + approved + `}`)}, ok
}

// fromMessage reads a tool message on a call: {"approval_id":A,"approved":b}.
func fromMessage(m agui.Message) (approval, approved string, ok bool) {
	if m.Role != "tool" {
		return "", "", false
	}
	content := kit.ParseText(gjson.GetBytes(m.JSON, "content"))
	id, hasID := only(content, "approval_id")
	said, hasSaid := only(content, "approved")
	return id.Str, said.Raw, hasID && hasSaid && id.Type == gjson.String && said.IsBool()
}

// approves says whether an answer is a yes. What says two things, or approves what was not asked,
// is refused.
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
