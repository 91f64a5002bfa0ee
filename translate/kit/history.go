package kit

import (
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A History is a conversation for a backend that reads answers out of messages. It keeps one
// promise for calls that were asked about: each has exactly one answer, behind it, or it is not
// there. Models refuse such a call without a result. With two it could be carried out twice.
//
// Providers repeat the ids of their calls. The call that was asked about is the last one with its
// id. An earlier one keeps the result that stands in its place (Places), and goes without one.
// Everything else keeps its bytes and its order.
//
// Calls and results are found in any spelling, for a backend may read them so.
type History struct {
	list  []agui.Message
	calls map[string]bool
	// results says that the backend may have told results of the calls, and sent counts what the
	// client said of them itself. Results of calls whose ids repeat may have one id.
	results bool
	sent    map[agui.SeenMessage]int
	fresh   []agui.Message
}

// HistoryOf returns a conversation in which nothing answers the calls yet.
func HistoryOf(list []agui.Message, calls map[string]bool) *History {
	return &History{list: list, calls: calls}
}

// Before returns the conversation that a resume goes on with: the client's messages without the new
// ones, or what the client has been shown where its own lack one of the calls.
func Before(r *translate.Request, calls map[string]bool) *History {
	list := WithoutMessages(r.Input.Messages, r.New)
	if !holdsCalls(list, calls) {
		if known, ok := KnownMessages(r); ok {
			list = known
		}
	}
	return HistoryOf(list, calls)
}

// After returns the conversation of a second exchange: what the client has been shown by then, and
// behind it the new messages. Where the backend told the result of a call itself, that is its
// answer. What the client said of the call before is not one: front ends write into their history.
func After(r *translate.Request, calls map[string]bool) *History {
	h := HistoryOf(Shown(r), calls)
	h.results, h.sent, h.fresh = true, map[agui.SeenMessage]int{}, withoutExchanges(r.New, calls)
	for _, list := range [][]agui.Message{r.Input.Messages, r.Came} {
		said := map[agui.SeenMessage]int{}
		for _, m := range list {
			if isOn(m, calls) {
				seen := agui.See(m)
				said[seen]++
				h.sent[seen] = max(h.sent[seen], said[seen])
			}
		}
	}
	return h
}

// Last answers at the very end, for a backend that looks for its answers there only: the replies in
// their order, also those whose call is not there. They are tool messages, one for each call.
func (h *History) Last(replies []agui.Message) []agui.Message {
	return slices.Concat(h.withReplies(nil), h.fresh, replies)
}

// Behind answers each call directly behind it. A reply whose call is not there, or has an answer,
// is left out. A call without a reply stays as it is: its answer goes another way.
func (h *History) Behind(replies []agui.Message) []agui.Message {
	return slices.Concat(h.withReplies(replies), h.fresh)
}

// Without returns the conversation without the calls and without every result of them, for a
// backend that goes by their ids alone.
func (h *History) Without() []agui.Message {
	return slices.Concat(withoutExchanges(h.list, h.calls), h.fresh)
}

// withReplies returns the list with the replies behind their calls.
func (h *History) withReplies(replies []agui.Message) []agui.Message {
	byCall := make(map[string]agui.Message, len(replies))
	for _, m := range replies {
		byCall[m.ToolCallID] = m
	}
	asked := h.asked()
	last := map[string]int{}
	for n, ids := range asked {
		for _, id := range ids {
			last[id] = max(last[id], n)
		}
	}
	gone, answer := h.chosen(asked, last, byCall)
	var out []agui.Message
	for n, m := range h.list {
		if gone[n] {
			continue
		}
		var own []agui.Message
		dangling := map[string]bool{}
		for _, id := range asked[n] {
			_, has := answer[occurrence{n, id}]
			reply, told := byCall[id]
			switch {
			case has:
			case n < last[id]:
				dangling[id] = true
			case told:
				own = append(own, reply)
			}
		}
		whole := true
		if len(dangling) > 0 {
			m, whole = MessageWithoutCalls(m, dangling)
		}
		if whole {
			out = append(out, m)
		}
		out = append(out, own...)
	}
	return out
}

// An occurrence is a call by its message and its id.
type occurrence struct {
	at int
	id string
}

// asked returns the ids of the calls that were asked about, by the places of the messages that have
// them, each once.
func (h *History) asked() map[int][]string {
	at, noted := map[int][]string{}, map[occurrence]bool{}
	for n, m := range h.list {
		if m.Plain {
			continue
		}
		for _, c := range Calls(gjson.ParseBytes(m.JSON)) {
			for _, id := range Texts(c, "id") {
				if of := (occurrence{n, id}); h.calls[id] && !noted[of] {
					at[n], noted[of] = append(at[n], id), true
				}
			}
		}
	}
	return at
}

// chosen says which messages on the calls go, and which one stays as the answer of each call.
func (h *History) chosen(asked map[int][]string, last map[string]int, replies map[string]agui.Message) (map[int]bool, map[occurrence]int) {
	gone, answer, there := map[int]bool{}, map[occurrence]int{}, map[occurrence]bool{}
	for n, ids := range asked {
		for _, id := range ids {
			there[occurrence{n, id}] = true
		}
	}
	sent := maps.Clone(h.sent)
	places := PlacesIn(h.list)
	for n, m := range h.list {
		if !isOn(m, h.calls) {
			continue
		}
		gone[n] = true
		seen := agui.See(m)
		clients := sent[seen] > 0
		if clients {
			sent[seen]--
		}
		if m.Role != "tool" || len(Members(gjson.ParseBytes(m.JSON), "toolCallId")) != 1 {
			continue
		}
		places.Answers(n)
		of := occurrence{places.Behind, m.ToolCallID}
		if !there[of] {
			continue
		}
		before, has := answer[of]
		switch {
		case of.at < last[of.id]:
			if has {
				continue
			}
		case !h.results || clients, has && m.ID == replies[of.id].ID:
			continue
		}
		if answer[of], gone[n] = n, false; has {
			gone[before] = true
		}
	}
	return gone, answer
}

// isOn reports whether a message is one on the calls, in any spelling: of two equal keys one
// backend reads the first and another the last.
func isOn(m agui.Message, calls map[string]bool) bool {
	ids := Members(gjson.ParseBytes(m.JSON), "toolCallId")
	return slices.ContainsFunc(ids, func(id gjson.Result) bool { return id.Str != "" && calls[id.Str] })
}

// NotOn is list without the messages on the calls, in any spelling: a backend may take each of them
// for one more answer.
func NotOn(list []agui.Message, calls map[string]bool) []agui.Message {
	if len(calls) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return isOn(m, calls) })
}

// withoutExchanges is list without the calls and the messages on them.
func withoutExchanges(list []agui.Message, calls map[string]bool) []agui.Message {
	return WithoutCalls(NotOn(list, calls), calls)
}

func holdsCalls(list []agui.Message, calls map[string]bool) bool {
	held := map[string]bool{}
	for _, m := range list {
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			held[c.Get("id").Str] = true
		}
	}
	for id := range calls {
		if !held[id] {
			return false
		}
	}
	return true
}
