package contract

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// CopilotKit (from 1.61.2) sends a `tool` message with the resume array for each answered interrupt
// that is bound to a call. The message has the JSON of the payload, or {"status":"resolved"} or
// {"status":"cancelled"} if there is no payload
// (packages/react-core/src/v2/hooks/use-interrupt.tsx). A backend that rebuilds its run from the
// history would read the message as the result of the tool.

// A RepeatFinder finds such messages. A message is one if its content is, in this order: the
// payload of an entry of the same request, one of the question's own words, or a usual word. If a
// question was decided at another door, every message on its call that is newer than the question
// is one: the chat's user answered too late, and the message is not a result.
type RepeatFinder struct {
	any    bool                     // also accept messages on calls without a known question
	byCall map[string]*replyContent // by the id of the call that was asked about
	pause  *agui.Pause              // the pause if it has decisions, or nil
}

// A replyContent lists the contents by which a message on a call is an answer.
type replyContent struct {
	words
	payloads       map[[sha256.Size]byte]bool // hashes of the canonical payloads of the entries
	decidedOutside bool                       // at another door
}

// RepeatsOf returns the RepeatFinder of the answers in a request to a pause. p is nil if the pause
// is unknown.
func RepeatsOf(p *agui.Pause, entries []agui.ResumeEntry) RepeatFinder {
	if p == nil {
		return RepeatFinder{any: true}
	}
	payloads := make(map[string]json.RawMessage, len(entries))
	for _, e := range entries {
		if len(e.Payload) > 0 {
			payloads[e.InterruptID] = e.Payload
		}
	}
	r := RepeatFinder{byCall: map[string]*replyContent{}}
	if len(p.Decisions) > 0 {
		r.pause = p
	}
	for _, i := range p.Interrupts {
		about := r.contentFor(i)
		about.decidedOutside = about.decidedOutside || r.pause != nil && p.Decision(i.ID) != nil
		if payload, ok := payloads[i.ID]; ok && i.ToolCallID() != "" {
			about.payloads[sha256.Sum256(agui.Canonical(payload))] = true
		}
	}
	return r
}

// RepeatsIn returns the RepeatFinder for a history: messages that answer questions of these pauses
// in their own words, or any other question in the usual words.
func RepeatsIn(pauses ...*agui.Pause) RepeatFinder {
	r := RepeatFinder{any: true, byCall: map[string]*replyContent{}}
	for _, p := range pauses {
		for _, i := range p.Interrupts {
			r.contentFor(i)
		}
	}
	return r
}

// contentFor returns the entry for the call of a question, with the question's words added.
func (r *RepeatFinder) contentFor(i agui.Interrupt) *replyContent {
	call := i.ToolCallID()
	if r.byCall[call] == nil {
		r.byCall[call] = &replyContent{payloads: map[[sha256.Size]byte]bool{}}
	}
	r.byCall[call].addWord(i.Yes)
	r.byCall[call].addWord(i.No)
	return r.byCall[call]
}

// IsRepeat reports whether m only repeats an answer.
func (r RepeatFinder) IsRepeat(m agui.Message) bool {
	if m.Role != "tool" || m.ToolCallID == "" {
		return false
	}
	about, known := r.byCall[m.ToolCallID]
	if !known && !r.any {
		return false
	}
	if known && about.decidedOutside && !r.pause.HasMessage(agui.NewSeenMessage(m)) {
		return true
	}
	content := gjson.GetBytes(m.JSON, "content")
	if !known {
		return words{}.decide(content)
	}
	return about.decide(content) ||
		len(about.payloads) > 0 && content.Type == gjson.String && about.payloads[sha256.Sum256(agui.Canonical(json.RawMessage(content.Str)))]
}
