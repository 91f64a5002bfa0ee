package proxy

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// CopilotKit (from 1.61.2) adds a `tool` message to the history for each answered interrupt that is bound to a call,
// beside the resume array: the JSON of the payload, or {"status":"resolved"} or {"status":"cancelled"} where there is
// none (packages/react-core/src/v2/hooks/use-interrupt.tsx). A backend that rebuilds its run from the history would
// take it for the tool's result, and find the held call answered.

// repeatsAnswer says whether m is such a message for a call that the pause is about. p nil: for any call.
func repeatsAnswer(m agui.Message, p *agui.Pause) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	if p != nil && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return i.ToolCallID() == m.ToolCallID }) {
		return false
	}
	return looksLikeAnswer(m)
}

// looksLikeAnswer judges by the content alone: an object that decides something, not a result.
func looksLikeAnswer(m agui.Message) bool {
	content := gjson.GetBytes(m.JSON, "content")
	if content.Type != gjson.String || !gjson.Valid(content.Str) {
		return false
	}
	v := gjson.Parse(content.Str)
	if !v.IsObject() {
		return false
	}
	if s := v.Get("status").Str; len(v.Map()) == 1 && (s == string(agui.Resolved) || s == string(agui.Cancelled)) {
		return true
	}
	return v.Get("approved").IsBool()
}

// withoutAnswers is the input of a resume without the messages that repeat its answers.
func withoutRepeatedAnswers(in agui.RunInput, p *agui.Pause, answers []agui.Answer) agui.RunInput {
	isPayload := func(m agui.Message) bool {
		if m.Role != "tool" {
			return false
		}
		for n, i := range p.Interrupts {
			if i.ToolCallID() == "" || i.ToolCallID() != m.ToolCallID {
				continue
			}
			content := gjson.GetBytes(m.JSON, "content").Str
			if n < len(answers) && len(answers[n].Payload) > 0 &&
				string(agui.Canonical([]byte(content))) == string(agui.Canonical(answers[n].Payload)) {
				return true
			}
			return looksLikeAnswer(m)
		}
		return false
	}
	if !slices.ContainsFunc(in.Messages, isPayload) {
		return in
	}
	return in.WithMessages(slices.DeleteFunc(slices.Clone(in.Messages), isPayload))
}

// withoutLeftovers is the input of a later run: where a call has several tool messages, the one that only repeats an
// answer goes.
func withoutLeftovers(in agui.RunInput) agui.RunInput {
	results := map[string]int{}
	for _, m := range in.Messages {
		if m.Role == "tool" && m.ToolCallID != "" {
			results[m.ToolCallID]++
		}
	}
	goes := func(m agui.Message) bool {
		if m.Role == "tool" && results[m.ToolCallID] > 1 && looksLikeAnswer(m) {
			results[m.ToolCallID]--
			return true
		}
		return false
	}
	kept := slices.DeleteFunc(slices.Clone(in.Messages), goes)
	if len(kept) == len(in.Messages) {
		return in
	}
	return in.WithMessages(kept)
}
