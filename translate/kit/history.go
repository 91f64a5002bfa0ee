package kit

import (
	"maps"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A History is a conversation for a backend that reads answers in messages. It has calls that
// questions were about. It guarantees that each such call either has exactly one answer, which
// follows it, or is removed. Models refuse a call without a result, and a call with two results
// could be carried out twice.
//
// Providers repeat the ids of calls. A question is about the last call with its id. An earlier call
// with the same id keeps the result that belongs to it (Places), and is removed if it has none. All
// other messages keep their bytes and their order.
//
// Calls and results are found in any spelling, because a backend may accept any.
type History struct {
	list  []agui.Message
	calls map[string]bool
	// results is true if the backend may have sent results of the calls. sent has the client's
	// messages that answer the calls, with the number of times that each occurs. A message may
	// occur several times, because results of repeated ids may have the same id.
	results bool
	sent    map[agui.SeenMessage]int
	fresh   []agui.Message
}

// HistoryOf returns the conversation list as a History. The given calls have no answer yet.
func HistoryOf(list []agui.Message, calls map[string]bool) *History {
	return &History{list: list, calls: calls}
}

// HistoryBefore returns the conversation that precedes the answers of a resume: the client's
// messages without the new ones. If these messages lack one of the calls, it is the conversation
// that the client has seen.
func HistoryBefore(r *translate.Request, calls map[string]bool) *History {
	list := WithoutMessages(r.Input.Messages, r.NewMessages)
	if !holdsCalls(list, calls) {
		if known, ok := KnownMessages(r); ok {
			list = known
		}
	}
	return HistoryOf(list, calls)
}

// HistoryAfter returns the conversation for a second exchange: all messages that the client has
// seen, and then the new messages. If the backend itself sent a result for a call, the call is
// answered by that result. A result in an earlier message of the client does not answer the call,
// because a front end may have added it on its own.
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

// AtEnd returns the conversation with all replies at its end, in their order. It is for a backend
// that reads answers only at the end. The replies are tool messages, one for each call. A reply is
// included even if the conversation lacks its call.
func (h *History) AtEnd(replies []agui.Message) []agui.Message {
	return slices.Concat(h.withReplies(nil), h.fresh, replies)
}

// AfterCalls returns the conversation with each reply directly after its call. It leaves out a
// reply if the conversation lacks the call or already has an answer to it. A call without a reply
// stays as it is, because its answer is sent in another way.
func (h *History) AfterCalls(replies []agui.Message) []agui.Message {
	return slices.Concat(h.withReplies(replies), h.fresh)
}

// WithoutCalls returns the conversation without the calls and without all their results. It is for
// a backend that finds the calls by their ids alone.
func (h *History) WithoutCalls() []agui.Message {
	return slices.Concat(withoutExchanges(h.list, h.calls), h.fresh)
}

// withReplies returns the list with each reply directly after its call.
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

// A callAt identifies a call by the index of its message and by its id.
type callAt struct {
	at int
	id string
}

// asked returns the calls that questions were about, as a map from the index of a message to the
// ids of its calls. It lists each id only once for a message.
func (h *History) asked() map[int][]string {
	at, noted := map[int][]string{}, map[callAt]bool{}
	for n, m := range h.list {
		if m.Plain {
			continue
		}
		for _, c := range Calls(gjson.ParseBytes(m.JSON)) {
			for _, id := range IDs(c, "id") {
				if of := (callAt{n, id}); h.calls[id] && !noted[of] {
					at[n], noted[of] = append(at[n], id), true
				}
			}
		}
	}
	return at
}

// chooseReplies decides which message is the answer of each call. It returns the indexes of the
// messages on the calls that must be removed, and the index of the answer of each call.
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

// isOn reports whether the message answers one of the calls. It reads keys in any spelling. If a
// key is repeated, it considers all values, because one backend reads the first value and another
// the last.
func isOn(m agui.Message, calls map[string]bool) bool {
	return slices.ContainsFunc(IDs(gjson.ParseBytes(m.JSON), "toolCallId"), func(id string) bool { return calls[id] })
}

// WithoutResultsOf returns the list without the messages that answer the calls. It reads keys in
// any spelling, because a backend may read each of these messages as a further answer.
func WithoutResultsOf(list []agui.Message, calls map[string]bool) []agui.Message {
	if len(calls) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return isOn(m, calls) })
}

// withoutExchanges returns the list without the calls, and without the messages that answer them.
func withoutExchanges(list []agui.Message, calls map[string]bool) []agui.Message {
	return WithoutCalls(WithoutResultsOf(list, calls), calls)
}

func holdsCalls(list []agui.Message, calls map[string]bool) bool {
	held := map[string]bool{}
	for _, m := range list {
		for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
			held[agui.IDText(c.Get("id"))] = true
		}
	}
	for id := range calls {
		if !held[id] {
			return false
		}
	}
	return true
}
