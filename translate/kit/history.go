package kit

import (
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A History is a conversation for a backend that reads answers from messages. It guarantees that
// each call that was asked about either has exactly one answer, which follows it, or is removed.
// Models refuse a call without a result, and a call with two results could be carried out twice.
//
// Providers repeat the ids of calls. The call that was asked about is the last one with its id. An
// earlier call keeps the result in its place (Places), and is removed if it has none. All other
// messages keep their bytes and their order.
//
// Calls and results are found in any spelling, because a backend may accept any.
type History struct {
	list  []agui.Message
	calls map[string]bool
	// results reports that the backend may have sent results of the calls. sent counts the messages of
	// the client that answer the calls. It is a count because results of repeated ids may have one id.
	results bool
	sent    map[agui.SeenMessage]int
	fresh   []agui.Message
}

// HistoryOf returns a conversation in which the calls are not answered yet.
func HistoryOf(list []agui.Message, calls map[string]bool) *History {
	return &History{list: list, calls: calls}
}

// HistoryBefore returns the conversation that precedes the answers of a resume: the client's
// messages without the new ones. If they lack one of the calls, it is the conversation that the
// client was shown.
func HistoryBefore(r *translate.Request, calls map[string]bool) *History {
	list := WithoutMessages(r.Input.Messages, r.NewMessages)
	if !holdsCalls(list, calls) {
		if known, ok := KnownMessages(r); ok {
			list = known
		}
	}
	return HistoryOf(list, calls)
}

// HistoryAfter returns the conversation of a second exchange: everything that the client has been
// shown, and then the new messages. If the backend sent the result of a call itself, this result is
// the answer. A result that the client sent earlier is not an answer, because front ends add to
// their history.
func HistoryAfter(r *translate.Request, calls map[string]bool) *History {
	h := HistoryOf(ShownMessages(r), calls)
	h.results, h.sent, h.fresh = true, map[agui.SeenMessage]int{}, withoutExchanges(r.NewMessages, calls)
	for _, list := range [][]agui.Message{r.Input.Messages, r.ClientMessages} {
		said := map[agui.SeenMessage]int{}
		for _, m := range list {
			if isOn(m, calls) {
				seen := agui.NewSeenMessage(m)
				said[seen]++
				h.sent[seen] = max(h.sent[seen], said[seen])
			}
		}
	}
	return h
}

// AtEnd returns the conversation with all replies at the end, in their order, for a backend that
// looks for its answers only there. The replies are tool messages, one for each call. A reply is
// included even if its call is missing.
func (h *History) AtEnd(replies []agui.Message) []agui.Message {
	return slices.Concat(h.withReplies(nil), h.fresh, replies)
}

// AfterCalls returns the conversation with each reply directly after its call. It leaves out a
// reply whose call is missing or has an answer. A call without a reply is unchanged: its answer is
// sent in another way.
func (h *History) AfterCalls(replies []agui.Message) []agui.Message {
	return slices.Concat(h.withReplies(replies), h.fresh)
}

// WithoutCalls returns the conversation without the calls and without all their results, for a
// backend that identifies them by their ids alone.
func (h *History) WithoutCalls() []agui.Message {
	return slices.Concat(withoutExchanges(h.list, h.calls), h.fresh)
}

// withReplies returns the list with each reply after its call.
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
	gone, answer := h.chooseReplies(asked, last, byCall)
	var out []agui.Message
	for n, m := range h.list {
		if gone[n] {
			continue
		}
		var own []agui.Message
		dangling := map[string]bool{}
		for _, id := range asked[n] {
			_, has := answer[callAt{n, id}]
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

// An callAt identifies a call by its message and its id.
type callAt struct {
	at int
	id string
}

// asked returns the ids of the calls that were asked about, by the index of their message. Each id
// is listed once for a message.
func (h *History) asked() map[int][]string {
	at, noted := map[int][]string{}, map[callAt]bool{}
	for n, m := range h.list {
		if m.Plain {
			continue
		}
		for _, c := range Calls(gjson.ParseBytes(m.JSON)) {
			for _, id := range Texts(c, "id") {
				if of := (callAt{n, id}); h.calls[id] && !noted[of] {
					at[n], noted[of] = append(at[n], id), true
				}
			}
		}
	}
	return at
}

// chooseReplies returns which messages on the calls are removed, and the index of the message that
// stays as the answer of each call.
func (h *History) chooseReplies(asked map[int][]string, last map[string]int, replies map[string]agui.Message) (map[int]bool, map[callAt]int) {
	gone, answer, there := map[int]bool{}, map[callAt]int{}, map[callAt]bool{}
	for n, ids := range asked {
		for _, id := range ids {
			there[callAt{n, id}] = true
		}
	}
	sent := maps.Clone(h.sent)
	places := PlacesIn(h.list)
	for n, m := range h.list {
		if !isOn(m, h.calls) {
			continue
		}
		gone[n] = true
		seen := agui.NewSeenMessage(m)
		clients := sent[seen] > 0
		if clients {
			sent[seen]--
		}
		if m.Role != "tool" || len(Members(gjson.ParseBytes(m.JSON), "toolCallId")) != 1 {
			continue
		}
		places.Answers(n)
		of := callAt{places.CallAt, m.ToolCallID}
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

// isOn reports whether a message answers one of the calls, in any spelling. If a key is repeated,
// one backend reads the first value and another the last, so all values are checked.
func isOn(m agui.Message, calls map[string]bool) bool {
	ids := Members(gjson.ParseBytes(m.JSON), "toolCallId")
	return slices.ContainsFunc(ids, func(id gjson.Result) bool { return id.Str != "" && calls[id.Str] })
}

// WithoutResultsOf returns the list without the messages that answer the calls, in any spelling,
// because a backend may read each of them as another answer.
func WithoutResultsOf(list []agui.Message, calls map[string]bool) []agui.Message {
	if len(calls) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return isOn(m, calls) })
}

// withoutExchanges returns the list without the calls and without the messages that answer them.
func withoutExchanges(list []agui.Message, calls map[string]bool) []agui.Message {
	return WithoutCalls(WithoutResultsOf(list, calls), calls)
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
