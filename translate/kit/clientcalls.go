package kit

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A model may call a tool of the client together with a tool that needs an approval. The client
// then sends the result of its own tool with the answers. The backend needs both, because a model
// refuses a turn that has a call without a result. So even a dialect that sends new messages only
// after the answers must send these results with the answers. Each result directly follows its
// call.

// ClientCalls returns the ids of the calls of the last turn whose results the client must send. A
// call is one of them if the request declares its tool, no open question is about it, and the
// messages before the answers have no result of it.
func ClientCalls(r *translate.Request) []string {
	if len(r.Input.Tools) == 0 {
		return nil
	}
	asked := map[string]bool{}
	for _, i := range r.Pause.Interrupts {
		asked[i.Native], asked[i.ToolCallID()] = true, true
		for _, key := range i.Keys {
			asked[key] = true
		}
		for _, c := range i.Calls {
			asked[c.ID] = true
		}
	}
	var calls []string
	results, known := map[string]bool{}, map[string]bool{}
	for _, m := range slices.Backward(ShownMessages(r)) {
		if m.Role == "user" {
			break
		}
		if m.Role == "tool" {
			results[m.ToolCallID] = true
		}
		if m.Plain {
			continue
		}
		for _, c := range slices.Backward(Calls(gjson.ParseBytes(m.JSON))) {
			ids, names := IDs(c, "id"), Texts(c, "function", "name")
			if len(ids) != 1 || len(names) != 1 || known[ids[0]] {
				continue
			}
			id := ids[0]
			if known[id] = true; !results[id] && !asked[id] && r.Input.Declares(names[0]) {
				calls = append(calls, id)
			}
		}
	}
	slices.Reverse(calls)
	return calls
}

// ClientResults returns the results of the given calls of the client that the request contains. The
// parameter needed says that an answer approves something. A missing result is then an error,
// because a backend would continue without the result, or would not continue at all.
func ClientResults(r *translate.Request, calls []string, needed bool) ([]agui.Message, error) {
	brought := lastResults(r.Input.Messages, calls)
	var results []agui.Message
	for _, id := range calls {
		result, ok := brought[id]
		switch {
		case ok:
			results = append(results, result)
		case needed:
			return nil, agui.Errorf(agui.PartialResume, textClientResult, id)
		}
	}
	return results, nil
}

// ResultOf returns the last result of the call in the messages. It returns false if the call has
// none.
func ResultOf(list []agui.Message, call string) (agui.Message, bool) {
	result, ok := lastResults(list, []string{call})[call]
	return result, ok
}

// lastResults returns a map from the id of each call to its last result. Some models repeat ids. So
// a result that precedes the last call with its id belongs to an earlier call, and is ignored.
func lastResults(list []agui.Message, calls []string) map[string]agui.Message {
	wanted, found := make(map[string]bool, len(calls)), map[string]agui.Message{}
	for _, id := range calls {
		wanted[id] = true
	}
	for at := len(list) - 1; at >= 0 && len(wanted) > 0; at-- {
		m := list[at]
		switch {
		case m.Role == "tool" && wanted[m.ToolCallID]:
			found[m.ToolCallID] = m
			delete(wanted, m.ToolCallID)
		case m.Plain:
		default:
			for _, c := range Calls(gjson.ParseBytes(m.JSON)) {
				for _, id := range IDs(c, "id") {
					delete(wanted, id)
				}
			}
		}
	}
	return found
}

// NewWithoutResults returns the new messages of the request, except those that answer the calls of
// the parameter results.
func NewWithoutResults(r *translate.Request, results []agui.Message) []agui.Message {
	return WithoutResultsOf(r.NewMessages, callsOf(results))
}

// WithResults returns the messages that precede the answers, with each result after its call. A
// client may send each call of a turn in a message of its own, and backends expect the results
// after all calls of the turn. So only other calls and results may be between a call and its
// result. If the messages lack one of the calls, WithResults uses the messages that the client has
// seen instead.
func WithResults(r *translate.Request, before, results []agui.Message) []agui.Message {
	if len(results) == 0 {
		return before
	}
	calls := callsOf(results)
	if !holdsCalls(before, calls) {
		before = ShownMessages(r)
	}
	byCall := make(map[string]agui.Message, len(results))
	for _, m := range results {
		byCall[m.ToolCallID] = m
	}
	last := map[string]int{} // id → index of the last message with a call of this id
	for n, m := range before {
		for _, id := range CallIDs(m) {
			last[id] = n
		}
	}
	var list, waiting []agui.Message // waiting has the results whose calls precede the message m
	for n, m := range before {
		ids := CallIDs(m)
		if m.Role == "user" || m.Role == "assistant" && len(ids) == 0 {
			list, waiting = append(list, waiting...), nil
		}
		list = append(list, m)
		for _, id := range ids {
			if result, is := byCall[id]; is && last[id] == n {
				waiting = append(waiting, result)
				delete(byCall, id)
			}
		}
	}
	return append(list, waiting...)
}

// CallIDs returns the ids of the calls in a message. It reads keys in any spelling.
func CallIDs(m agui.Message) []string {
	if m.Plain {
		return nil
	}
	var ids []string
	for _, c := range Calls(gjson.ParseBytes(m.JSON)) {
		ids = append(ids, IDs(c, "id")...)
	}
	return ids
}

func callsOf(results []agui.Message) map[string]bool {
	calls := make(map[string]bool, len(results))
	for _, m := range results {
		calls[m.ToolCallID] = true
	}
	return calls
}
