package kit

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A turn may call a tool of the client beside a tool that wants an approval. The client then sends
// the result of its own call with the answers, and the backend needs both: a model refuses a turn
// in which a call has no result. So a dialect that keeps the new messages back sends these results
// with the answers, each behind its call.

// ClientCalls returns the calls of the last turn that wait for a result of the client. The request
// declares their tools, no open question asks about them, and the messages before the answers hold
// no result of them.
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
	for _, m := range slices.Backward(Shown(r)) {
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
			ids, names := Texts(c, "id"), Texts(c, "function", "name")
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

// ClientResults returns the results that the request brings of the client's own calls. needed says
// that an answer approves something: then it is an error if one is missing, because a backend would
// go on without it, or not at all.
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

// ResultOf returns the last result that the messages have of a call.
func ResultOf(list []agui.Message, call string) (agui.Message, bool) {
	result, ok := lastResults(list, []string{call})[call]
	return result, ok
}

// lastResults returns the last result of each call. Ids of some models repeat. So a result that
// precedes the last call of its id is the result of an earlier call, and counts as none.
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
				for _, id := range Texts(c, "id") {
					delete(wanted, id)
				}
			}
		}
	}
	return found
}

// BesideResults returns the new messages of the request without those on the calls of the results.
func BesideResults(r *translate.Request, results []agui.Message) []agui.Message {
	return NotOn(r.New, callsOf(results))
}

// WithResults returns the messages before the answers with the results behind their calls. Clients
// may hold each call of a turn in a message of its own, and backends read the results behind all of
// them. So nothing but calls and results stands between a call and its result. If the messages lack
// one of the calls, those that the client was shown take their place.
func WithResults(r *translate.Request, before, results []agui.Message) []agui.Message {
	if len(results) == 0 {
		return before
	}
	calls := callsOf(results)
	if !holdsCalls(before, calls) {
		before = Shown(r)
	}
	byCall := make(map[string]agui.Message, len(results))
	for _, m := range results {
		byCall[m.ToolCallID] = m
	}
	last := map[string]int{} // where each call stands; ids may repeat
	for n, m := range before {
		for _, id := range idsOfCalls(m) {
			last[id] = n
		}
	}
	var list, waiting []agui.Message // waiting are the results whose calls were passed
	for n, m := range before {
		ids := idsOfCalls(m)
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

func idsOfCalls(m agui.Message) []string {
	if m.Plain {
		return nil
	}
	var ids []string
	for _, c := range Calls(gjson.ParseBytes(m.JSON)) {
		ids = append(ids, Texts(c, "id")...)
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
