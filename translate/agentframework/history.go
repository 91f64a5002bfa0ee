package agentframework

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

// Replies implements translate.HistoryReader. It yields tool messages, function_approvals, and
// every other native approval. Providers repeat the ids of their calls, and an old answer must not
// count for a new question. So these messages answer a question only if they follow the last
// assistant message. The id of a confirm_changes call is unique, so an answer to it counts at any
// position (see AnswerIn).
//
// Replies yields each tool message, because a workflow reads any text as the answer to its request.
// The package proxy ignores replies that name no question. If the route is known to speak this
// dialect, a decision on a call counts as an answer even if no question is on record, unless the
// request declares the call's tool. If a user's message follows the decision, Replies leaves the
// message to Begin, which changes it so that the backend does not read a decision. The message may
// be the result of a tool, and the model must not lose it.
func (*Dialect) Replies(in agui.RunInput, detectedDialect string) iter.Seq[translate.Reply] {
	return func(yield func(translate.Reply) bool) {
		last := len(in.Messages)
		for last > 0 && in.Messages[last-1].Role != "assistant" {
			last--
		}
		words := last
		for at := last; at < len(in.Messages); at++ {
			if in.Messages[at].Role == "user" {
				words = at
			}
		}
		native := microsoft.Approvals(in, detectedDialect == Name)
		if detectedDialect == Name {
			for _, one := range native {
				if !yield(one) {
					return
				}
			}
		}
		var claims *kit.ClaimedCalls // made when the first decision is read
		for at, m := range in.Messages {
			if m.Role != "tool" || m.ToolCallID == "" {
				continue
			}
			one := translate.Reply{Dialect: Name, At: at, Key: m.ToolCallID, TooLate: at < last, Replaces: true}
			if detectedDialect == Name && at >= words && isDecision(gjson.GetBytes(m.JSON, "content"), nil) {
				if claims == nil {
					claims = kit.ClaimsOf(in)
				}
				own, _ := claims.Own(m.ToolCallID)
				one.Decides, one.CallID = !own, m.ToolCallID
			}
			if !yield(one) {
				return
			}
		}
		for _, form := range native {
			if form.Key != microsoft.FunctionApprovals {
				continue
			}
			for _, f := range givenApprovals(in.Messages[form.At]) {
				for _, key := range []string{f.Get("id").Str, f.Get("call_id").Str} {
					one := form
					one.Dialect, one.Key, one.ReaderState = Name, key, json.RawMessage(f.Get("approved").Raw)
					one.TooLate, one.Replaces = form.At < last, true
					if key != "" && !yield(one) {
						return
					}
				}
			}
		}
	}
}

// givenApprovals returns the function_approvals of the message whose "approved" is a boolean.
func givenApprovals(m agui.Message) []gjson.Result {
	return slices.DeleteFunc(gjson.GetBytes(m.JSON, microsoft.FunctionApprovals).Array(), func(f gjson.Result) bool {
		return !f.Get("approved").IsBool()
	})
}

// AnswerIn implements translate.HistoryReader. It returns the answer that the message m gives to
// the question i.
func (*Dialect) AnswerIn(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	if m.Role == "tool" {
		return toolAnswer(m, reply, i)
	}
	if reply.TooLate {
		return agui.Answer{}, false
	}
	payload := agui.SetKey([]byte(`{}`), "approved", reply.ReaderState)
	return alias(&i, agui.Answer{Status: agui.Resolved, Payload: payload}), true
}

// toolAnswer returns the answer that the tool message m gives to the question i. If i is a
// workflow's request, any content is an answer. Otherwise m must have a decision on the call of i,
// or on its confirm_changes call.
func toolAnswer(m agui.Message, reply translate.Reply, i agui.Interrupt) (agui.Answer, bool) {
	asked, _ := askOf(i)
	if reply.TooLate && (asked.Confirm == "" || asked.Confirm != reply.Key) {
		return agui.Answer{}, false
	}
	content := gjson.GetBytes(m.JSON, "content")
	value := content
	if content.Type == gjson.String && agui.ValidJSON([]byte(content.Str)) {
		value = gjson.Parse(content.Str)
	}
	switch {
	case asked.Kind == request:
		if gjson.GetBytes(i.Schema(), "type").Str == "string" {
			value = content
		}
		return agui.Answer{Status: agui.Resolved, Payload: kit.Payload(value)}, true
	case isDecision(value, i.Schema()):
		return alias(&i, agui.Answer{Status: agui.Resolved, Payload: withoutSteps(value, i.Schema())}), true
	}
	return agui.Answer{}, false
}

// withoutSteps returns the decision without its member steps, unless the schema has steps. Front
// ends for confirm_changes send steps with every decision.
func withoutSteps(value gjson.Result, schema json.RawMessage) json.RawMessage {
	if gjson.GetBytes(schema, "properties.steps").Exists() || !value.IsObject() {
		return kit.Payload(value)
	}
	return kit.WithoutMembers(value, "steps")
}

// withKeys sets the Keys of each interrupt: the ids under which a message may name it.
func withKeys(list []agui.Interrupt) []agui.Interrupt {
	for n := range list {
		i := &list[n]
		asked, _ := askOf(*i)
		for _, key := range []string{i.Native, i.ToolCallID(), asked.Confirm} {
			if key != "" && !slices.Contains(i.Keys, key) {
				i.Keys = append(i.Keys, key)
			}
		}
	}
	return list
}
