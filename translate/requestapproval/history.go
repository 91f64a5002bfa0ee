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

// What this backend reads in a history decides what it runs. So the history is read as widely as
// any of its versions might: keys in any spelling, and both of two equal keys.

// A history is the messages of a request, looked over once.
type history struct {
	asked   map[string]bool // ids of synthetic calls
	real    map[string]bool // ids of other calls
	results map[string]bool // ids that a tool message gives a result for, which is not an answer to a request
}

func look(list []agui.Message) *history {
	h := &history{asked: map[string]bool{}, real: map[string]bool{}, results: map[string]bool{}}
	for _, m := range list {
		for _, c := range kit.Calls(gjson.ParseBytes(m.JSON)) {
			_, synthetic := h.ask(c)
			for _, id := range kit.Texts(c, "id") {
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
			for _, id := range kit.Texts(object, "toolCallId") {
				h.results[id] = true
			}
		}
	}
	return h
}

// ask returns what a synthetic call asks for; false for any other call.
func (h *history) ask(c gjson.Result) (ask, bool) {
	if !slices.Contains(kit.Texts(c, "function", "name"), microsoft.RequestApproval) {
		return ask{}, false
	}
	for _, args := range kit.Every(c, "function", "arguments") {
		args = kit.ParseText(args)
		if a, ok := readAsk([]byte(args.Raw)); ok {
			return a, true
		}
		// What is not read as a request here may be one to the backend (a key that stands twice).
		if request := kit.Every(args, "request", "approval_id"); len(request) > 0 {
			return ask{}, true
		}
	}
	return ask{}, false
}

// answers reports whether a message answers a synthetic call, and is not a result of the function.
func (h *history) answers(m gjson.Result) bool {
	if !slices.ContainsFunc(kit.Texts(m, "toolCallId"), func(id string) bool { return h.asked[id] }) {
		return false
	}
	return slices.ContainsFunc(kit.Every(m, "content"), func(content gjson.Result) bool {
		content = kit.ParseText(content)
		return len(kit.Members(content, "approval_id")) > 0 || slices.ContainsFunc(kit.Members(content, "approved"), gjson.Result.IsBool)
	})
}

// cleanHistory returns the history as the backend may have it: without a pair of a request and its
// answer, and without those of its calls without a result of which goes says so. A pair of which
// the result is there becomes the exchange that it was. Reasoning and activities go, and results
// move behind their calls: the hosts answer 400 or 500 to an activity, and most of them to
// reasoning, and their provider refuses words between a call and its result.
func cleanHistory(list []agui.Message, goes func(kit.DanglingCall) bool) (out []agui.Message, changed bool) {
	h := look(list)
	renamed := map[string]bool{}
	for _, m := range list {
		if object := gjson.ParseBytes(m.JSON); kit.IsTool(object) && h.answers(object) {
			changed = true
			continue
		}
		edited, ok := kit.EditCalls(m, func(c gjson.Result) json.RawMessage {
			if a, synthetic := h.ask(c); synthetic {
				return h.exchange(kit.Texts(c, "id"), a, renamed)
			}
			return json.RawMessage(c.Raw)
		})
		changed = changed || !ok || string(edited.JSON) != string(m.JSON)
		if ok {
			out = append(out, edited)
		}
	}
	left := kit.WithoutDangling(agui.RunInput{Raw: []byte("{}"), Messages: out}, goes)
	read := kit.ResultsBehindCalls(kit.WithoutRoles(left.Messages, "reasoning", "activity"))
	moved := len(read) != len(left.Messages) || len(read) > 0 && &read[0] != &left.Messages[0]
	return read, changed || moved || len(left.Raw) > len("{}")
}

// isLeftOver says of a call without a result whether it stays one: a call of a declared tool is the
// client's to answer; of the others, those of an ended pause are, and those that the conversation
// has left behind.
func isLeftOver(r *translate.Request) func(kit.DanglingCall) bool {
	asked := map[string]bool{}
	for _, p := range r.Ended {
		for _, i := range p.Interrupts {
			asked[i.ToolCallID()] = true
		}
	}
	return func(c kit.DanglingCall) bool { return !r.Input.Declares(c.Name) && (c.Abandoned || asked[c.ID]) }
}

// asTold returns a history as a client is told it: with the functions' calls for the synthetic
// ones, and without their answers.
func asTold(list []agui.Message, hides func(function string) bool) []agui.Message {
	h := look(list)
	var out []agui.Message
	for _, m := range list {
		if object := gjson.ParseBytes(m.JSON); kit.IsTool(object) && h.answers(object) {
			continue
		}
		m, ok := kit.EditCalls(m, func(c gjson.Result) json.RawMessage {
			a, synthetic := h.ask(c)
			ids := kit.Texts(c, "id")
			switch {
			case !synthetic:
				return json.RawMessage(c.Raw)
			case len(ids) != 1 || a.function == "" || h.real[ids[0]]:
				return nil
			case hides(a.function) && !h.results[ids[0]]:
				return nil // hidden in the stream too
			}
			return toolCall(ids[0], a.function, a.arguments)
		})
		if ok {
			out = append(out, m)
		}
	}
	return out
}

// exchange returns the function's own call in place of a synthetic one; nil if its result is not
// there, or its call is.
func (h *history) exchange(ids []string, a ask, renamed map[string]bool) json.RawMessage {
	if len(ids) != 1 || a.function == "" || !h.results[ids[0]] || h.real[ids[0]] || renamed[ids[0]] {
		return nil
	}
	renamed[ids[0]] = true
	return toolCall(ids[0], a.function, a.arguments)
}

// toolCall returns a call as a message of the assistant has it.
func toolCall(id, name, arguments string) json.RawMessage {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	return agui.MustMarshal(struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{id, "function", function{name, arguments}})
}
