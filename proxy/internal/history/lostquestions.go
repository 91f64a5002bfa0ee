package history

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A backend may wait on for the answer to a question that Holdpoint has lost: the record is gone
// after a restart, or nobody knows what became of the answer.

// maxNamedBytes is more than any id has that Holdpoint has published.
const maxNamedBytes = 1 << 10

// UnknownQuestions returns the questions that answers name and that the record does not know.
func UnknownQuestions(v *View, answers []agui.Answer) []string {
	var ids []string
	for _, a := range answers {
		if a.ID != "" && len(a.ID) <= maxNamedBytes && v.Record.ResultOf(a.ID) == nil {
			ids = append(ids, strings.Clone(a.ID))
		}
	}
	return ids
}

// CallsOfLostQuestions returns the calls that questions are about, as far as their ids show that a
// backend has asked that keeps nothing between two runs.
func CallsOfLostQuestions(v *View, questions []string) []string {
	if v.Dialect.Stateless == nil {
		return nil
	}
	var calls []string
	for _, id := range questions {
		native, _ := kit.NativeID(id)
		if call, asks := v.Dialect.Stateless.AsksUnder(native, v.Spoken); asks {
			calls = append(calls, call, native) // by request_approval the id of the question is its call's
		}
	}
	return calls
}

// HoldsCall reports whether the messages of the request hold a call for which is reports true.
func HoldsCall(v *View, is func(call string) bool) bool {
	return slices.ContainsFunc(v.Input.Messages, func(m agui.Message) bool { return slices.ContainsFunc(m.CallIDs(), is) })
}

// Revive returns a pause of the questions that clients of the thread named and that the record does
// not know. It is nil if there are none, or if nobody knows how their backend is told no.
func Revive(v *View, named []string) *agui.Pause {
	if v.Dialect.Reviver == nil {
		return nil
	}
	var ids []string
	for _, id := range named {
		if v.Record.ResultOf(id) == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	p := v.Dialect.Reviver.Revive(ids, v.Spoken)
	if len(p.Interrupts) == 0 {
		return nil
	}
	p.Finish = slices.Clone(agui.FinishedEvent(v.Input.ThreadID, v.Input.RunID).JSON)
	words := len(v.Input.Messages)
	for words > 0 && v.Input.Messages[words-1].Role == "user" {
		words--
	}
	for _, m := range v.Input.Messages[:words] {
		seen := agui.See(m)
		seen.ID = strings.Clone(seen.ID) // its bytes are the request's
		p.Seen = append(p.Seen, seen)
	}
	return &p
}
