package calls

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
	"holdpoint/translate/yesno"
)

// IsRepeated reports whether the call c, in the run that sends the answers, is one of the answered
// calls. Some backends send an answered call again before they run or drop it. Some models repeat
// ids, so a call in another message is another call, even under the same id.
func (a *AnsweredCalls) IsRepeated(c agui.Call) bool {
	if a == nil {
		return false
	}
	before, answered := a.parents[c.ID]
	return answered && (c.Parent == "" || before == "" || c.Parent == before)
}

// parentsOf returns, for each id in calls, the id of the message that contains the call. If several
// calls have the id, it takes the last one, which the question is about.
func parentsOf(r *translate.Request, calls map[string]bool) map[string]string {
	parents := make(map[string]string, len(calls))
	for call := range calls {
		parents[call] = ""
	}
	if r.Transcript != nil {
		for _, c := range r.Transcript.Calls() {
			if calls[c.ID] {
				parents[c.ID] = c.Parent
			}
		}
	}
	return parents
}

// newOf returns those messages of list that are new. The other messages are already in the history.
func newOf(r *translate.Request, list []agui.Message) []agui.Message {
	isNew := make(map[agui.SeenMessage]bool, len(r.NewMessages))
	for _, m := range r.NewMessages {
		isNew[agui.NewSeenMessage(m)] = true
	}
	return slices.DeleteFunc(list, func(m agui.Message) bool { return !isNew[agui.NewSeenMessage(m)] })
}

// messagesBefore returns the messages that precede the answers in the request. No message may
// follow the answers, because the backend reads answers only at the end. If the backend stores the
// conversation, messagesBefore returns nil.
func (p *Plain) messagesBefore(r *translate.Request, calls map[string]bool) []agui.Message {
	if r.Sessions {
		return nil
	}
	return callsLast(p.withoutEarlier(r.Input, kit.HistoryBefore(r, calls).AtEnd(nil), nil), calls)
}

// callsLast returns the list with the messages that contain the given calls at its end. The results
// of their other calls follow them. A model requires that all results directly follow their calls,
// and some backends read answers only at the end. Other messages of the run are moved before the
// calls. If a user's message follows the calls, the list stays unchanged.
func callsLast(list []agui.Message, calls map[string]bool) []agui.Message {
	first, own := -1, map[string]bool{}
	var before, last []agui.Message
	for at, m := range list {
		ids := kit.CallIDs(m)
		switch {
		case slices.ContainsFunc(ids, func(id string) bool { return calls[id] }):
			for _, id := range ids {
				own[id] = true
			}
			if last = append(last, m); first < 0 {
				first = at
			}
		case first < 0:
		case m.Role == "user":
			return list
		case m.Role == "tool" && own[m.ToolCallID]:
			last = append(last, m)
		default:
			before = append(before, m)
		}
	}
	if len(before) == 0 {
		return list
	}
	return slices.Concat(list[:first], before, last)
}

// withoutEarlier returns the list without the decisions at its end, and without the calls that
// these decisions are about. The new answers are added directly after the list, and the backend
// would read all tool messages at the end as answers. A list ends with old decisions if the client
// sent the history without the current question, and the record could not store the messages. If
// only is not nil, decisions on calls that it does not contain stay.
func (p *Plain) withoutEarlier(in agui.RunInput, list []agui.Message, only map[string]bool) []agui.Message {
	in.Messages = list
	var owners owners      // computed when first needed
	var end []agui.Message // the messages of the end that stay, in reverse order
	for at := len(list) - 1; at >= 0; at-- {
		gone, results := map[string]bool{}, []agui.Message(nil)
		for ; at >= 0 && kit.IsTool(agui.View(list[at].JSON)); at-- {
			results = append(results, list[at])
			m := gjson.ParseBytes(list[at].JSON)
			if p.decision(m) == yesno.Nothing {
				continue
			}
			if owners == nil {
				owners = p.ownersOf(in, true)
			}
			for _, call := range kit.IDsOrNone(m, "toolCallId") {
				if owners[call] == Asks && (only == nil || only[call]) {
					gone[call] = true
				}
			}
		}
		end = append(end, kit.WithoutResultsOf(results, gone)...)
		if len(gone) == 0 {
			list = list[:at+1]
			break
		}
		if at < 0 {
			list = nil
			break
		}
		left, ok := kit.MessageWithoutCalls(list[at], gone)
		if list = list[:at]; ok {
			end = append(end, left)
			break
		}
	}
	slices.Reverse(end)
	return slices.Concat(list, end)
}

// WithoutOldCalls returns the input without the calls that earlier pauses asked about and that have
// no result. Such a pause ended in doubt or with an error, and a model refuses a history with such
// a call. If a call has two results, the message with which Holdpoint sent the answer to the client
// is removed. With ShowNative only withoutExposed applies, because the client manages its history
// itself.
func (p *Plain) WithoutOldCalls(r *translate.Request) agui.RunInput {
	asked, told := map[string]bool{}, map[string]string{}
	for _, ended := range r.EndedPauses {
		for _, i := range ended.Interrupts {
			if call := i.ToolCallID(); p.MadePause(ended.Pause) {
				asked[call], told[i.ID] = true, call
			}
		}
	}
	for _, i := range r.Pause.Interrupts {
		delete(asked, i.ToolCallID())
	}
	if r.Show == translate.ShowNative {
		return p.withoutExposed(r, r.Input, asked)
	}
	in, forgets := withoutSentResults(r.Input, told), p.RemovesCalls && r.Pause.ID == ""
	for {
		if len(asked) > 0 || forgets {
			in = kit.WithoutDangling(in, func(c kit.DanglingCall) bool {
				return asked[c.ID] || forgets && p.Tools.Match(c.Name) && !in.Declares(c.Name)
			})
		}
		out := p.withoutExposed(r, in, asked)
		if len(out.Messages) == len(in.Messages) {
			return in
		}
		in = out // the next round removes the calls whose results are gone
	}
}

// withoutExposed returns the input of a run without answers, without exposed decisions. A decision
// is exposed if it has become the last message because Holdpoint removed the messages after it. The
// backend would read it as a new answer. Only decisions on the calls in asked, which earlier pauses
// asked about, are removed: the backend has received an answer to each of these calls.
func (p *Plain) withoutExposed(r *translate.Request, in agui.RunInput, asked map[string]bool) agui.RunInput {
	list, client := in.Messages, r.ClientMessages
	if r.Pause.ID != "" || len(asked) == 0 || len(list) == 0 || len(client) == 0 || bytes.Equal(list[len(list)-1].JSON, client[len(client)-1].JSON) {
		return in
	}
	if list = p.withoutEarlier(in, list, asked); len(list) == len(in.Messages) {
		return in
	}
	return in.WithMessages(list)
}

// withoutSentResults returns the input without those messages with which Holdpoint sent an answer
// to the client, if the backend sent a result of the same call. The parameter told maps the ids of
// these messages to the ids of their calls.
func withoutSentResults(in agui.RunInput, told map[string]string) agui.RunInput {
	if len(told) == 0 {
		return in
	}
	results := map[string]bool{} // ids of the calls that have a result of the backend
	for _, m := range in.Messages {
		if m.Role == "tool" && told[m.ID] == "" {
			results[m.ToolCallID] = true
		}
	}
	doubled := func(m agui.Message) bool {
		return m.Role == "tool" && m.ID != "" && told[m.ID] == m.ToolCallID && m.ToolCallID != "" && results[m.ToolCallID]
	}
	if !slices.ContainsFunc(in.Messages, doubled) {
		return in
	}
	return in.WithMessages(slices.DeleteFunc(slices.Clone(in.Messages), doubled))
}
