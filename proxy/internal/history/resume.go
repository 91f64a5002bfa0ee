package history

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
)

// ResumeMessages returns the messages that a resume of p goes on with: those that the record keeps,
// and those of the request that it does not have. A resume may come with fewer (messages: [] is
// legal) or with new ones. An answer to an earlier question is not new: the record has left it out.
// whole reports that no message is missing that the record knows of. ours reports that the request
// is Holdpoint's own.
func ResumeMessages(in *agui.RunInput, p *agui.Pause, replies Replies, ours bool) (list []agui.Message, whole bool) {
	known := MessagesIn(p.Messages)
	ids := map[string]bool{}
	for _, m := range known {
		ids[m.ID] = true
	}
	list = known
	type answered struct {
		message agui.SeenMessage
		call    string
	}
	settled := map[answered]bool{}
	for n := range replies {
		if d := &replies[n]; d.WasAnswer && len(known) > 0 {
			settled[answered{d.Answer.Message, d.Call}] = true
		}
	}
	for _, m := range in.Messages {
		if len(known) > 0 && (m.ID == "" || len(settled) > 0) {
			switch seen := agui.See(m); {
			case m.ID == "" && p.Knows(seen):
				continue
			case settled[answered{seen, m.ToolCallID}] && (m.ID == "" || !ids[m.ID]): // it would follow the question
				ids[m.ID] = true
				continue
			}
		}
		if m.ID == "" || !ids[m.ID] {
			list = append(list, m)
			ids[m.ID] = true
		}
	}
	if len(known) > 0 || ours {
		return list, true // what is kept is whole, but for answers that were taken out
	}
	return list, !slices.ContainsFunc(p.Seen, func(s agui.SeenMessage) bool { return s.ID != "" && !ids[s.ID] })
}

// MessagesIn returns the messages of a JSON array.
func MessagesIn(array json.RawMessage) []agui.Message {
	var list []agui.Message
	gjson.ParseBytes(array).ForEach(func(_, m gjson.Result) bool {
		list = append(list, agui.ParseMessage(json.RawMessage(m.Raw)))
		return true
	})
	return list
}

// ResumeState returns the state that a resume of p goes on with: the request's, if it has members.
func ResumeState(in *agui.RunInput, p *agui.Pause) json.RawMessage {
	if len(gjson.ParseBytes(in.State).Map()) == 0 && len(p.State) > 0 {
		return p.State
	}
	return in.State
}

// WithAnswers reports whether a list of stored messages holds all that the request has, and returns
// it. A message of the request that only answers may be missing: it came too late, or is on record.
// But it is put in if its call would be left without a result: some backends refuse such a history.
func WithAnswers(list []json.RawMessage, request []agui.Message, onlyAnswers func(agui.Message) bool) (with []json.RawMessage, whole bool) {
	held, answered, places := map[agui.SeenMessage]bool{}, map[string]bool{}, map[string]int{}
	for n, raw := range list {
		m := agui.ParseMessage(raw)
		held[agui.Identity(m)] = true
		if m.Role == "tool" {
			answered[m.ToolCallID] = true
			continue
		}
		for _, call := range gjson.GetBytes(raw, "toolCalls").Array() {
			places[call.Get("id").Str] = n
		}
	}
	after := map[int][]json.RawMessage{} // what is put in, by the place that it follows
	for _, m := range request {
		if held[agui.Identity(m)] {
			continue
		}
		if !onlyAnswers(m) {
			return list, false
		}
		if at, called := places[m.ToolCallID]; called && m.ToolCallID != "" && !answered[m.ToolCallID] {
			answered[m.ToolCallID] = true
			after[at] = append(after[at], json.RawMessage(m.JSON))
		}
	}
	if len(after) == 0 {
		return list, true
	}
	for n, raw := range list {
		with = append(append(with, raw), after[n]...)
	}
	return with, true
}

// OnlyAnswers returns a function that reports whether a message of the request answers a question
// of the view and says nothing else. declared are the calls whose tools the request declares: the
// result of one is not an answer where the record does not know the question.
func OnlyAnswers(v *View, c *contract.Case, declared func() map[string]bool) func(agui.Message) bool {
	pauses := v.pauses()
	known := c.OnlyAnswers(pauses...)
	asked := map[string]bool{}
	for _, p := range pauses {
		for _, i := range p.Interrupts {
			asked[i.ID] = true
		}
	}
	if !slices.ContainsFunc(v.Input.Resume, func(e agui.ResumeEntry) bool { return !asked[e.InterruptID] }) {
		return known
	}
	forgotten, own := c.OnlyAnswers(nil), declared()
	return func(m agui.Message) bool { return known(m) || forgotten(m) && !own[m.ToolCallID] }
}

// CatchUp returns the messages of a chat that has missed the end of its question: before are those
// that the record knows of that end, and all are the same with the new messages after them. The
// backend would take the chat's own history for what is. known is false if the record does not keep
// what was said.
func CatchUp(shown store.Snapshots, newMessages []agui.Message) (before, all []agui.Message, known bool) {
	before = MessagesIn(shown.Messages)
	return before, slices.Concat(before, newMessages), len(before) > 0
}

// NewAmong returns those of list that are among the new messages of a request, in the form that
// they have in list.
func NewAmong(list, newMessages []agui.Message) []agui.Message {
	if len(newMessages) == 0 {
		return nil
	}
	wanted := make(map[agui.SeenMessage]bool, len(newMessages))
	for _, m := range newMessages {
		wanted[agui.See(m)] = true
	}
	var found []agui.Message
	for _, m := range list {
		if wanted[agui.See(m)] {
			found = append(found, m)
		}
	}
	return found
}
