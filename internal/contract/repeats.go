package contract

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// For each answered interrupt that is bound to a call, CopilotKit (from 1.61.2) sends a `tool`
// message together with the resume array. The content of the message is the JSON of the payload. If
// there is no payload, it is {"status":"resolved"} or {"status":"cancelled"}
// (packages/react-core/src/v2/hooks/use-interrupt.tsx). A backend that rebuilds its run from the
// history would read this message as the result of the tool.

// A RepeatFinder finds such messages: they repeat an answer. The content of such a message is the
// payload of an entry of the same request, or the question's own yes or no, or a yes or no as most
// backends expect it. If a question was decided outside the chat, every message on its call that is
// newer than the question counts too: the chat's user answered too late, and the message is not a
// result.
type RepeatFinder struct {
	any    bool                     // also find messages on calls about which no question is known
	byCall map[string]*replyContent // keyed by the id of the call that the question is about
	pause  *agui.Pause              // the pause, if it has decisions; otherwise nil
}

// A replyContent lists the contents that make a message on one call an answer.
type replyContent struct {
	words
	// hashes of the payloads of the entries, in the form of agui.Canonical
	payloads       map[[sha256.Size]byte]bool
	decidedOutside bool // the question was decided outside the chat
}

// RepeatsOf returns a RepeatFinder for a request that answers the pause p with these entries of
// resume. p is nil if the pause is unknown.
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

// RepeatsIn returns a RepeatFinder for a history. It finds messages that answer a question of these
// pauses by the question's own yes or no, and messages that answer any other question by a yes or
// no as most backends expect it.
func RepeatsIn(pauses ...*agui.Pause) RepeatFinder {
	r := RepeatFinder{any: true, byCall: map[string]*replyContent{}}
	for _, p := range pauses {
		for _, i := range p.Interrupts {
			r.contentFor(i)
		}
	}
	return r
}

// contentFor returns the replyContent for the call of a question. It adds the question's yes and no
// to it.
func (r *RepeatFinder) contentFor(i agui.Interrupt) *replyContent {
	call := i.ToolCallID()
	if r.byCall[call] == nil {
		r.byCall[call] = &replyContent{payloads: map[[sha256.Size]byte]bool{}}
	}
	r.byCall[call].addWord(i.Yes)
	r.byCall[call].addWord(i.No)
	return r.byCall[call]
}

// IsRepeat reports whether the message m only repeats an answer.
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
