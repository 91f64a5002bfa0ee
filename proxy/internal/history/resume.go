package history

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
)

// ResumeMessages returns the messages for a run that resumes p: the record's messages, followed by
// those messages of the request that the record does not contain. The request may have fewer
// messages (messages: [] is legal) or new ones. An answer to an earlier question is not new; the
// record omits it on purpose. A result on record is not new under another id either. whole is true
// if no message of the conversation is missing. ours is true if Holdpoint itself sent the request.
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
	repeats := sync.OnceValue(func() func(agui.Message) bool { return repeatsResultIn(known, in.Messages) })
	for _, m := range in.Messages {
		if len(known) > 0 && m.Role == "tool" && (m.ID == "" || !ids[m.ID]) && repeats()(m) {
			continue
		}
		if len(known) > 0 && (m.ID == "" || len(settled) > 0) {
			switch seen := agui.NewSeenMessage(m); {
			case m.ID == "" && p.HasMessage(seen):
				continue
			// otherwise this answer would be added after the question
			case settled[answered{seen, m.ToolCallID}] && (m.ID == "" || !ids[m.ID]):
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
		return list, true // the record lacks only answers that were removed on purpose
	}
	return list, !slices.ContainsFunc(p.SeenMessages, func(s agui.SeenMessage) bool { return s.ID != "" && !ids[s.ID] })
}

// MessagesIn parses the messages of a JSON array.
func MessagesIn(array json.RawMessage) []agui.Message {
	var list []agui.Message
	gjson.ParseBytes(array).ForEach(func(_, m gjson.Result) bool {
		list = append(list, agui.ParseMessage(json.RawMessage(m.Raw)))
		return true
	})
	return list
}

// ResumeState returns the state for a run that resumes p. If the state of the request has members,
// it is the request's, and otherwise the record's.
func ResumeState(in *agui.RunInput, p *agui.Pause) json.RawMessage {
	if len(gjson.ParseBytes(in.State).Map()) == 0 && len(p.State) > 0 {
		return p.State
	}
	return in.State
}

// WithAnswers compares the stored messages in list with those of the request. whole is true if list
// contains all messages of the request. A message that contains only an answer may be missing from
// list, because the answer was too late or is on record. with is list with such messages added if
// their call would otherwise be left without a result, which some backends refuse.
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
			places[agui.IDText(call.Get("id"))] = n
		}
	}
	after := map[int][]json.RawMessage{} // maps an index to the messages to insert after it
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

// OnlyAnswers returns a function. That function reports whether a message of the request answers a
// question of the view and contains nothing else. declared returns the calls whose tools the
// request declares. A result of such a call is not an answer if the question is not on record.
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

// CatchUp returns the messages for a chat that has missed the end of its question. before are the
// messages that the record has of that end. all are these and the new messages. They replace the
// chat's own history, because the backend would believe that history. known is false if the record
// does not contain those messages.
func CatchUp(snapshots store.Snapshots, newMessages []agui.Message) (before, all []agui.Message, known bool) {
	before = MessagesIn(snapshots.Messages)
	return before, slices.Concat(before, newMessages), len(before) > 0
}

// RecordedResults returns a function that reports whether a message repeats a result in the
// messages that the record has of the end ended, or of the open pause if ended is nil.
func RecordedResults(v *View, ended *store.Result) func(agui.Message) bool {
	if ended != nil {
		return repeatsResultIn(MessagesIn(v.endedMessages(ended)), v.Input.Messages)
	}
	return repeatsResultIn(MessagesIn(v.askedMessages()), v.Input.Messages)
}

// repeatsResultIn returns a function that reports whether a message of the request repeats a result
// in the list. It may have another id: the client of the .NET SDK uses the id of the call. Some
// models repeat the ids of calls. So the last call with the id must have a result, or a result must
// have the same text. If the request has more results with the id than the list, the last ones are
// new, whatever their text is.
func repeatsResultIn(list, request []agui.Message) func(agui.Message) bool {
	answered, results := map[string]bool{}, map[callResult]bool{}
	for _, m := range list {
		if m.Role == "tool" && m.ToolCallID != "" {
			answered[m.ToolCallID], results[resultOf(m)] = true, true
			continue
		}
		for _, id := range m.CallIDs() {
			answered[id] = false
		}
	}
	further := furtherResults(list, request)
	return func(m agui.Message) bool {
		return m.Role == "tool" && (answered[m.ToolCallID] || results[resultOf(m)]) && !further[string(m.JSON)]
	}
}

// furtherResults returns the JSON of those results of the request that go beyond the number of
// results that the list has with the same id of a call.
func furtherResults(list, request []agui.Message) map[string]bool {
	known := map[string]int{}
	eachResult(list, func(m agui.Message, count int) { known[m.ToolCallID] = count })
	further := map[string]bool{}
	eachResult(request, func(m agui.Message, count int) {
		if count > known[m.ToolCallID] {
			further[string(m.JSON)] = true
		}
	})
	return further
}

// eachResult calls do with each result in the list, and with the number of results with its call id
// up to this one. Results with the same id in a row of tool messages count as one, because they are
// copies.
func eachResult(list []agui.Message, do func(m agui.Message, count int)) {
	counts, rows, row := map[string]int{}, map[string]int{}, 1
	for _, m := range list {
		if m.Role != "tool" {
			row++
			continue
		}
		if rows[m.ToolCallID] != row {
			rows[m.ToolCallID] = row
			counts[m.ToolCallID]++
		}
		do(m, counts[m.ToolCallID])
	}
}

// NewAmong returns the messages of list that are also in newMessages. They have the form that they
// have in list.
func NewAmong(list, newMessages []agui.Message) []agui.Message {
	if len(newMessages) == 0 {
		return nil
	}
	wanted := make(map[agui.SeenMessage]bool, len(newMessages))
	for _, m := range newMessages {
		wanted[agui.NewSeenMessage(m)] = true
	}
	var found []agui.Message
	for _, m := range list {
		if wanted[agui.NewSeenMessage(m)] {
			found = append(found, m)
		}
	}
	return found
}
