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

// repeats are such messages for the calls that a pause is about, beside a request's entries as they came.
type repeats struct {
	any  bool                       // of any call: nothing is known of the pause
	said map[string]map[string]bool // the payloads of the entries for it, by the call
}

func repeatsOf(p *agui.Pause, entries []agui.ResumeEntry) repeats {
	if p == nil {
		return repeats{any: true}
	}
	payloads := make(map[string]json.RawMessage, len(entries))
	for _, e := range entries {
		if len(e.Payload) > 0 {
			payloads[e.InterruptID] = e.Payload
		}
	}
	said := map[string]map[string]bool{}
	for _, i := range p.Interrupts {
		call := i.ToolCallID()
		if said[call] == nil {
			said[call] = map[string]bool{}
		}
		if payload, ok := payloads[i.ID]; ok {
			said[call][string(agui.Canonical(payload))] = true
		}
	}
	return repeats{said: said}
}

// has says whether m is one.
func (r repeats) has(m agui.Message) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	said, known := r.said[m.ToolCallID]
	if !known && !r.any {
		return false
	}
	content := gjson.GetBytes(m.JSON, "content")
	return looksLikeAnswer(content) ||
		len(said) > 0 && content.Type == gjson.String && said[string(agui.Canonical(json.RawMessage(content.Str)))]
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

// dropRepeatedAnswers takes out of the input of a resume the messages that repeat its answers.
func dropRepeatedAnswers(in *agui.RunInput, p *agui.Pause) {
	repeats := repeatsOf(p, in.Resume)
	drop(in, func(m *agui.Message) bool { return repeats.has(*m) })
}

// dropLeftovers takes out of the input of a later run, where a call has several tool messages, the one that only repeats an
// answer.
func dropLeftovers(in *agui.RunInput) {
	results := map[string]int{}
	several := false
	for n := range in.Messages {
		if m := &in.Messages[n]; m.Role == "tool" && m.ToolCallID != "" {
			results[m.ToolCallID]++
			several = several || results[m.ToolCallID] > 1
		}
	}
	if !several {
		return
	}
	drop(in, func(m *agui.Message) bool {
		if m.Role != "tool" || results[m.ToolCallID] < 2 || !looksLikeAnswer(gjson.GetBytes(m.JSON, "content")) {
			return false
		}
		results[m.ToolCallID]--
		return true
	})
}

// drop takes some messages out of the input, which stays untouched if it has none of them. goes is asked once of each.
func drop(in *agui.RunInput, goes func(*agui.Message) bool) {
	var kept []agui.Message
	dropped := false
	for n := range in.Messages {
		m := &in.Messages[n]
		switch {
		case !goes(m):
			if dropped {
				kept = append(kept, *m)
			}
		case !dropped:
			kept, dropped = slices.Clone(in.Messages[:n]), true
		}
	}
	if dropped {
		*in = in.WithMessages(kept)
	}
}
