package history

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// A request may answer a question of another thread than the one that it names. This file finds
// what in the request leads to that other thread: ids that Holdpoint has made, and calls.

// PublishedIDs returns ids that Holdpoint has made and that replies name. It returns an id only if
// its question is not on record and no later text follows the reply.
func (list Replies) PublishedIDs(messages []agui.Message) []string {
	said := list.LastSaid(messages)
	var ids []string
	for _, d := range list {
		if d.Pause != nil || d.At < said {
			continue
		}
		if contract.IsMinted(d.Key) {
			ids = append(ids, d.Key)
		}
		if id := gjson.GetBytes(d.ReaderState, "approval_id").Str; contract.IsMinted(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// A WantedCall is a call whose question must be found.
type WantedCall struct {
	agui.Call
	// Follows is the index of the user message that started the paused run. If an entry of resume
	// answers the question, Follows is -1, because the person may have written more messages
	// together with the entry.
	Follows int
	// InEntry is true if the call is in the payload of an entry of resume.
	InEntry bool
}

// WantedCalls returns the calls on which the request decides and about which the record of its
// thread has no question. It returns at most most calls. They are in the order of the messages, but
// the calls of one message are in reverse order. answers are the answers in the request's fields.
// If later text follows a decision, the decision is old and does not count.
func WantedCalls(in *agui.RunInput, rec *store.Record, replies Replies, answers []agui.Answer, most int) []WantedCall {
	wanted := replies.wantedCalls(in.Messages)
	var list []WantedCall
	native := slices.ContainsFunc(answers, func(a agui.Answer) bool {
		return a.Message == (agui.SeenMessage{}) && !contract.IsMinted(a.ID) && rec.ResultOf(a.ID) == nil
	})
	if native {
		for _, e := range in.Resume[:min(len(in.Resume), most)] {
			if c := gjson.GetBytes(e.Payload, "toolCall"); c.IsObject() {
				list = append(list, WantedCall{agui.Call{ID: c.Get("callId").Str, Name: c.Get("name").Str, Args: c.Get("arguments").Raw}, -1, true})
			}
		}
	}
	if len(wanted) == 0 && !native {
		return list
	}
	results := map[string]bool{}
	for _, m := range in.Messages {
		if m.Role == "tool" {
			results[m.ToolCallID] = true
		}
	}
	for at := len(in.Messages) - 1; at >= 0 && len(list) < most; at-- {
		m := in.Messages[at]
		if m.Plain {
			continue
		}
		for _, c := range kit.Calls(agui.View(m.JSON)) {
			id := agui.IDText(c.Get("id"))
			follows, decided := wanted[id]
			if id == "" || !decided && !(native && !results[id]) || len(list) >= most {
				continue
			}
			call := agui.Call{ID: id, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Raw}
			if args := c.Get("function.arguments"); args.Type == gjson.String {
				call.Args = args.Str
			}
			if !decided {
				follows = -1
			}
			delete(wanted, id) // an earlier call with the same id is another call
			results[id] = true
			list = append(list, WantedCall{call, follows, false})
		}
	}
	slices.Reverse(list)
	return list
}

// wantedCalls returns the calls that are named by replies whose question is not known. It maps each
// call to the index of the user message before the reply.
func (list Replies) wantedCalls(messages []agui.Message) map[string]int {
	said := list.LastSaid(messages)
	wanted := map[string]int{}
	for _, d := range list {
		if d.Pause != nil || !d.Decides || d.At < said {
			continue
		}
		_, follows := LastUserMessage(messages[:d.At])
		if follows < 0 {
			continue
		}
		for _, id := range append(d.Calls[:len(d.Calls):len(d.Calls)], d.Key) {
			wanted[id] = follows
		}
	}
	return wanted
}

// TextTalkedPast finds the newest of Holdpoint's question texts among the messages. If a user
// message follows that text, TextTalkedPast returns the question that the text shows, and otherwise
// "".
func TextTalkedPast(messages []agui.Message) string {
	said := false
	for _, m := range slices.Backward(messages) {
		if id, is := words.QuestionOf(m.ID); is && m.Role == "assistant" {
			if said {
				return id
			}
			return ""
		}
		said = said || m.Role == "user"
	}
	return ""
}

// PlaceOf returns the index of the last message in the list that equals the user message target. It
// returns -1 if there is none.
func PlaceOf(list []agui.Message, target agui.SeenMessage) int {
	if target == (agui.SeenMessage{}) {
		return -1
	}
	for at, m := range slices.Backward(list) {
		if m.Role != "user" || target.ID != "" && m.ID != "" && target.ID != m.ID {
			continue
		}
		if agui.NewSeenMessage(m).Digest == target.Digest {
			return at
		}
	}
	return -1
}

// Beginning returns a digest of the first user message of the list, including its id. It returns ""
// if there is none.
func Beginning(list []agui.Message) string {
	for n := range list {
		if list[n].Role == "user" {
			seen := agui.NewSeenMessage(list[n])
			return ids.Digest("beginning", seen.ID, seen.Digest)
		}
	}
	return ""
}

// LastUserMessage returns the last user message of the list and its index. The index is -1 if there
// is none.
func LastUserMessage(list []agui.Message) (agui.SeenMessage, int) {
	for at, m := range slices.Backward(list) {
		if m.Role == "user" {
			return agui.NewSeenMessage(m), at
		}
	}
	return agui.SeenMessage{}, -1
}
