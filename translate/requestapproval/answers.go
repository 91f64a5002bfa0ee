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

// Answers implements translate.Dialect. It reads the entries of resume. It also reads
// command.resume, which a client sends if it was shown the CUSTOM event that Holdpoint makes. In
// the backend's own form, the answer is a tool message for the call, which Replies reads.
func (*Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	for n := range list {
		alias(&list[n])
	}
	return list, err
}

// alias expands the short forms of a payload: a bare true or false, and {"accepted":b}, which
// clients of agent-framework send in place of {"approved":b}.
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

// Replies implements translate.HistoryReader. It yields the tool messages by which the samples' own
// clients answer. It yields every other native approval as a stray. A tool message counts even if
// the client's copy of the call is missing, because the question is on record.
func (*Dialect) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		pairs := microsoft.Approvals(in, detectedDialect == Name)
		for _, one := range pairs {
			keys := []string{one.Key}
			if one.Keep = one.Key == microsoft.RequestApproval; one.Keep {
				one.Dialect, keys = Name, replyKeys(in.Messages[one.At])
			}
			for _, one.Key = range keys {
				if !yield(one) {
					return
				}
			}
		}
		paired := func(at int) bool {
			_, is := slices.BinarySearchFunc(pairs, at, func(r translate.Reply, at int) int { return r.At - at })
			return is
		}
		for at, m := range in.Messages {
			if m.Role != "tool" || m.ToolCallID == "" || !kit.MayContain(m.JSON, "approved", 'v') || paired(at) {
				continue
			}
			keys := replyKeys(m)
			if keys[0] == "" {
				continue
			}
			for _, key := range keys {
				if !yield(translate.Reply{Dialect: Name, At: at, Key: key}) {
					return
				}
			}
			// The samples' hosts identify the question by the call, and others by approval_id. So
			// if the call is open, this message answers it or is refused.
			if !yield(translate.Reply{Dialect: Name, At: at, Key: m.ToolCallID, Unclear: true}) {
				return
			}
		}
	}
}

// keyOf returns the key by which a tool message names a question: the id of the call and the
// approval id.
func keyOf(call, approval string) string { return call + "\n" + approval }

// replyKeys returns the keys under which the question of a tool message may be found, or a single
// "" if the message does not answer a request. The sample client of the AG-UI SDK reads the
// outcome, so its approval_id may be the published id of an interrupt. That id is then also a key.
func replyKeys(m agui.Message) []string {
	approval, _, ok := fromMessage(m)
	switch {
	case !ok:
		return []string{""}
	case isPublished(approval):
		return []string{keyOf(m.ToolCallID, approval), approval}
	}
	return []string{keyOf(m.ToolCallID, approval)}
}

func isPublished(id string) bool {
	_, is := kit.NativeID(id)
	return is
}

// AnswerIn implements translate.HistoryReader.
func (*Dialect) AnswerIn(m agui.Message, r translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	_, approved, ok := fromMessage(m)
	ok = ok && (r.Key != i.ID || !isPublished(i.ID) || m.ToolCallID == i.ToolCallID())
	return agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(`{"approved":` + approved + `}`)}, ok
}

// fromMessage reads the tool message that answers a call: {"approval_id":A,"approved":b}. approved
// is "true" or "false". ok is false for any other message.
func fromMessage(m agui.Message) (approval, approved string, ok bool) {
	if m.Role != "tool" {
		return "", "", false
	}
	content := kit.ParseText(gjson.GetBytes(m.JSON, "content"))
	id, hasID := singleMember(content, "approval_id")
	said, hasSaid := singleMember(content, "approved")
	return id.Str, said.Raw, hasID && hasSaid && id.Type == gjson.String && said.IsBool()
}

// approves reports whether an answer is an approval. It returns an error if the answer has both a
// yes and a no, has neither, or names another approval_id.
func approves(a agui.Answer, k questionState) (bool, error) {
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
		return false, agui.Errorf(agui.InvalidPayload, textNotDecision, a.ID)
	}
	for _, id := range kit.Members(payload, "approval_id") {
		if id.Type != gjson.String || id.Str != k.Approval {
			return false, agui.Errorf(agui.InvalidPayload, textOtherApproval, a.ID)
		}
	}
	return yes > 0, nil
}
