package requestapproval

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// The history decides what this backend runs. Versions of the backend read a history differently.
// So the dialect reads keys in any spelling, and both values of a repeated key.

// A history is an index of the calls and results in the messages of a request. Each set has ids of
// calls.
type history struct {
	asked   map[string]bool // ids of synthetic calls
	real    map[string]bool // ids of other calls
	results map[string]bool // calls with a tool message that does not answer a request
}

func readHistory(list []agui.Message) *history {
	h := &history{asked: map[string]bool{}, real: map[string]bool{}, results: map[string]bool{}}
	for _, m := range list {
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			_, synthetic := h.ask(c)
			for _, id := range kit.IDs(c, "id") {
				if synthetic {
					h.asked[id] = true
				} else {
					h.real[id] = true
				}
			}
		}
	}
	for _, m := range list {
		if object := gjson.ParseBytes(m.JSON); kit.IsTool(object) && !h.answers(object) {
			for _, id := range kit.IDs(object, "toolCallId") {
				h.results[id] = true
			}
		}
	}
	return h
}

// ask returns the request in a synthetic call. It returns false for any other call.
func (h *history) ask(c gjson.Result) (ask, bool) {
	if !slices.Contains(kit.Texts(c, "function", "name"), microsoft.RequestApproval) {
		return ask{}, false
	}
	for _, args := range kit.ValuesAt(c, "function", "arguments") {
		args = kit.ParseText(args)
		if a, ok := readAsk([]byte(args.Raw)); ok {
			return a, true
		}
		// readAsk refuses some calls that the backend may still read as a request, for example if a
		// key is repeated.
		if request := kit.ValuesAt(args, "request", "approval_id"); len(request) > 0 {
			return ask{}, true
		}
	}
	return ask{}, false
}

// answers reports whether m is a tool message that answers a synthetic call, and not the function's
// result.
func (h *history) answers(m gjson.Result) bool {
	if !slices.ContainsFunc(kit.IDs(m, "toolCallId"), func(id string) bool { return h.asked[id] }) {
		return false
	}
	return slices.ContainsFunc(kit.ValuesAt(m, "content"), func(content gjson.Result) bool {
		content = kit.ParseText(content)
		return len(kit.Members(content, "approval_id")) > 0 || slices.ContainsFunc(kit.Members(content, "approved"), gjson.Result.IsBool)
	})
}

// cleanHistory returns the history for the backend. A pair is a synthetic call and its answer. If
// the history has the function's result, the pair becomes the function's own call. Otherwise the
// pair is removed. A call without a result is removed if goes returns true for it. Reasoning and
// activity messages are removed, because the hosts respond with 400 or 500 to an activity, and most
// of them to reasoning. Each result moves directly after its call, because the provider refuses a
// text between them.
func cleanHistory(list []agui.Message, goes func(kit.DanglingCall) bool) (out []agui.Message, changed bool) {
	h := readHistory(list)
	renamed := map[string]bool{}
	for _, m := range list {
		if object := gjson.ParseBytes(m.JSON); kit.IsTool(object) && h.answers(object) {
			changed = true
			continue
		}
		edited, ok := kit.EditCalls(m, func(c gjson.Result) json.RawMessage {
			if a, synthetic := h.ask(c); synthetic {
				return h.exchange(kit.IDs(c, "id"), a, renamed)
			}
			return json.RawMessage(c.Raw)
		})
		changed = changed || !ok || string(edited.JSON) != string(m.JSON)
		if ok {
			out = append(out, edited)
		}
	}
	left := kit.WithoutDangling(agui.RunInput{Raw: []byte("{}"), Messages: out}, goes)
	read := kit.ResultsAfterCalls(kit.WithoutRoles(left.Messages, "reasoning", "activity"))
	moved := len(read) != len(left.Messages) || len(read) > 0 && &read[0] != &left.Messages[0]
	return read, changed || moved || len(left.Raw) > len("{}")
}

// leftOverCalls returns a function that reports whether a call without a result will never get one.
// If the request declares the call's tool, the client can still send a result. Any other call never
// gets a result if an ended pause asked about it or a user's message follows it.
func leftOverCalls(r *translate.Request) func(kit.DanglingCall) bool {
	asked := map[string]bool{}
	for _, p := range r.EndedPauses {
		for _, i := range p.Interrupts {
			asked[i.ToolCallID()] = true
		}
	}
	return func(c kit.DanglingCall) bool { return !r.Input.Declares(c.Name) && (c.Abandoned || asked[c.ID]) }
}

// asShown returns a history as a client is shown it. The functions' own calls replace the synthetic
// calls, and the answers to the synthetic calls are left out. hides reports whether the client must
// not see the call of a function.
func asShown(list []agui.Message, hides func(function string) bool) []agui.Message {
	h := readHistory(list)
	var out []agui.Message
	for _, m := range list {
		if object := gjson.ParseBytes(m.JSON); kit.IsTool(object) && h.answers(object) {
			continue
		}
		m, ok := kit.EditCalls(m, func(c gjson.Result) json.RawMessage {
			a, synthetic := h.ask(c)
			ids := kit.IDs(c, "id")
			switch {
			case !synthetic:
				return json.RawMessage(c.Raw)
			case len(ids) != 1 || a.function == "" || h.real[ids[0]]:
				return nil
			case hides(a.function) && !h.results[ids[0]]:
				return nil // the stream does not show the call either
			}
			return agui.CallJSON(ids[0], a.function, a.arguments)
		})
		if ok {
			out = append(out, m)
		}
	}
	return out
}

// exchange returns the function's own call in place of a synthetic call. It returns nil if the
// history has no result for the call, or already has the function's call.
func (h *history) exchange(ids []string, a ask, renamed map[string]bool) json.RawMessage {
	if len(ids) != 1 || a.function == "" || !h.results[ids[0]] || h.real[ids[0]] || renamed[ids[0]] {
		return nil
	}
	renamed[ids[0]] = true
	return agui.CallJSON(ids[0], a.function, a.arguments)
}
