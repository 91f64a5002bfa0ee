package proxy

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// CopilotKit (from 1.61.2) adds a `tool` message to the history for each answered interrupt that is bound to a call,
// beside the resume array: the JSON of the payload, or {"status":"resolved"} or {"status":"cancelled"} where there is
// none (packages/react-core/src/v2/hooks/use-interrupt.tsx). A backend that rebuilds its run from the history would
// take it for the tool's result, and find the held call answered.

// repeatsAnswer says whether m is such a message, for a call that the pause is about (nil: any call). entries are the
// request's, as they came.
func repeatsAnswer(m agui.Message, p *agui.Pause, entries []agui.ResumeEntry) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	content := gjson.GetBytes(m.JSON, "content")
	if p == nil {
		return looksLikeAnswer(content)
	}
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool {
		return i.ToolCallID() == m.ToolCallID && (looksLikeAnswer(content) || saysPayload(content, i.ID, entries))
	})
}

// saysPayload says whether the content is the payload with which an entry answers the interrupt.
func saysPayload(content gjson.Result, id string, entries []agui.ResumeEntry) bool {
	return content.Type == gjson.String && slices.ContainsFunc(entries, func(e agui.ResumeEntry) bool {
		return e.InterruptID == id && len(e.Payload) > 0 &&
			string(agui.Canonical(json.RawMessage(content.Str))) == string(agui.Canonical(e.Payload))
	})
}

// looksLikeAnswer judges by the content alone: an object that decides something, not a result.
func looksLikeAnswer(content gjson.Result) bool {
	if content.Type != gjson.String || !agui.ValidJSON([]byte(content.Str)) {
		return false
	}
	v := gjson.Parse(content.Str)
	if !v.IsObject() {
		return false
	}
	if s := v.Get("status").Str; len(v.Map()) == 1 && (s == string(agui.Resolved) || s == string(agui.Cancelled)) {
		return true
	}
	return v.Get("approved").IsBool() || v.Get("accepted").IsBool() // accepted: agent-framework-ag-ui's word
}

// withoutRepeatedAnswers is the input of a resume without the messages that repeat its answers.
func withoutRepeatedAnswers(in agui.RunInput, p *agui.Pause) agui.RunInput {
	return without(in, func(m agui.Message) bool { return repeatsAnswer(m, p, in.Resume) })
}

// withoutLeftovers is the input of a later run: where a call has several tool messages, the one that only repeats an
// answer goes.
func withoutLeftovers(in agui.RunInput) agui.RunInput {
	results := map[string]int{}
	several := false
	for _, m := range in.Messages {
		if m.Role == "tool" && m.ToolCallID != "" {
			results[m.ToolCallID]++
			several = several || results[m.ToolCallID] > 1
		}
	}
	if !several {
		return in
	}
	return without(in, func(m agui.Message) bool {
		if m.Role != "tool" || results[m.ToolCallID] < 2 || !looksLikeAnswer(gjson.GetBytes(m.JSON, "content")) {
			return false
		}
		results[m.ToolCallID]--
		return true
	})
}

// without is the input without some messages, untouched if it has none of them.
func without(in agui.RunInput, goes func(agui.Message) bool) agui.RunInput {
	at := slices.IndexFunc(in.Messages, goes)
	if at < 0 {
		return in
	}
	kept := slices.Clone(in.Messages[:at])
	for _, m := range in.Messages[at+1:] {
		if !goes(m) {
			kept = append(kept, m)
		}
	}
	return in.WithMessages(kept)
}
