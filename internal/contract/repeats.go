package contract

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// CopilotKit (from 1.61.2) adds a `tool` message to the history for each answered interrupt that is
// bound to a call, beside the resume array: the JSON of the payload, or {"status":"resolved"} or
// {"status":"cancelled"} where there is none (packages/react-core/src/v2/hooks/use-interrupt.tsx).
// A backend that rebuilds its run from the history would take it for the tool's result, and find
// the held call answered.

// Repeats are such messages for the calls that a pause is about, beside a request's entries as they
// came.
type Repeats struct {
	any  bool                       // of any call: nothing is known of the pause
	said map[string]map[string]bool // the payloads of the entries for it, by the call
}

// RepeatsOf knows the messages that repeat the entries of a request to a pause, which is nil if
// nothing is known of it.
func RepeatsOf(p *agui.Pause, entries []agui.ResumeEntry) Repeats {
	if p == nil {
		return Repeats{any: true}
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
	return Repeats{said: said}
}

// Has says whether m is one.
func (r Repeats) Has(m agui.Message) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	said, known := r.said[m.ToolCallID]
	if !known && !r.any {
		return false
	}
	content := gjson.GetBytes(m.JSON, "content")
	return LooksLikeAnswer(content) ||
		len(said) > 0 && content.Type == gjson.String && said[string(agui.Canonical(json.RawMessage(content.Str)))]
}

// LooksLikeAnswer judges by the content alone: an object that decides something, not a result.
func LooksLikeAnswer(content gjson.Result) bool {
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
