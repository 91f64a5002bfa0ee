package contract

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// CopilotKit (from 1.61.2) adds a `tool` message to the history for each answered interrupt that is
// bound to a call, beside the resume array: the JSON of the payload, or {"status":"resolved"} or
// {"status":"cancelled"} where there is none (packages/react-core/src/v2/hooks/use-interrupt.tsx).
// A backend that rebuilds its run from the history would take it for the tool's result, and find
// the held call answered.

// Repeats are such messages. What decides is, in this order: the payload of an entry of the same
// request, the question's own words, and the usual ones. Of a question that was decided at another
// door it is any message on its call that was not there when it asked: whatever the chat's user has
// said to it, it was too late, and is not a result.
type Repeats struct {
	any   bool                     // of any call: there may be questions that nobody knows
	asked map[string]*replyContent // by the call that was asked about
	pause *agui.Pause              // with decisions; nil: it has none
}

// replyContent is what a message on a call may say to be an answer.
type replyContent struct {
	words
	payloads map[[sha256.Size]byte]bool // of the entries, canonical
	decided  bool                       // at another door
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
	r := Repeats{asked: map[string]*replyContent{}}
	if len(p.Decisions) > 0 {
		r.pause = p
	}
	for _, i := range p.Interrupts {
		about := r.about(i)
		about.decided = about.decided || r.pause != nil && p.Decision(i.ID) != nil
		if payload, ok := payloads[i.ID]; ok && i.ToolCallID() != "" {
			about.payloads[sha256.Sum256(agui.Canonical(payload))] = true
		}
	}
	return r
}

// RepeatsIn knows the messages of a history that only answer: questions of these pauses by their
// own words, and any other by the usual ones.
func RepeatsIn(pauses ...*agui.Pause) Repeats {
	r := Repeats{any: true, asked: map[string]*replyContent{}}
	for _, p := range pauses {
		for _, i := range p.Interrupts {
			r.about(i)
		}
	}
	return r
}

// about returns what answers the call of a question, with that question's words.
func (r *Repeats) about(i agui.Interrupt) *replyContent {
	call := i.ToolCallID()
	if r.asked[call] == nil {
		r.asked[call] = &replyContent{payloads: map[[sha256.Size]byte]bool{}}
	}
	r.asked[call].learn(i.Yes)
	r.asked[call].learn(i.No)
	return r.asked[call]
}

// Has reports whether m is one.
func (r Repeats) Has(m agui.Message) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	about, known := r.asked[m.ToolCallID]
	if !known && !r.any {
		return false
	}
	if known && about.decided && !r.pause.Knows(agui.See(m)) {
		return true
	}
	content := gjson.GetBytes(m.JSON, "content")
	if !known {
		return words{}.decide(content)
	}
	return about.decide(content) ||
		len(about.payloads) > 0 && content.Type == gjson.String && about.payloads[sha256.Sum256(agui.Canonical(json.RawMessage(content.Str)))]
}
