package history

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A backend may still wait for the answer to a question that Holdpoint has lost. Either the record
// is gone after a restart, or it is not known whether the answer was carried out.

// maxNamedBytes is larger than every id that Holdpoint has published. Longer ids are ignored.
const maxNamedBytes = 1 << 10

// UnknownQuestions returns the ids of questions that the answers name and the record does not
// contain.
func UnknownQuestions(v *View, answers []agui.Answer) []string {
	var ids []string
	for _, a := range answers {
		if a.ID != "" && len(a.ID) <= maxNamedBytes && v.Record.ResultOf(a.ID) == nil {
			ids = append(ids, strings.Clone(a.ID))
		}
	}
	return ids
}

// CallsOfLostQuestions returns the calls of those questions that a backend without state between
// two runs has asked. The id of a question shows this.
func CallsOfLostQuestions(v *View, questions []string) []string {
	if v.Dialect.Stateless == nil {
		return nil
	}
	var calls []string
	for _, id := range questions {
		native, _ := kit.NativeID(id)
		if call, asks := v.Dialect.Stateless.AsksUnder(native, v.KnownDialect); asks {
			// with request_approval, the question's id is the id of its call
			calls = append(calls, call, native)
		}
	}
	return calls
}

// HoldsCall reports whether the request's messages contain a call for which the function is returns
// true.
func HoldsCall(v *View, is func(call string) bool) bool {
	return slices.ContainsFunc(v.Input.Messages, func(m agui.Message) bool { return slices.ContainsFunc(m.CallIDs(), is) })
}

// RevivedPause makes a pause of the questions that clients of the thread have named and the record
// does not contain. It returns nil if there are none, or if it is not known how to deny them to
// their backend.
func RevivedPause(v *View, named []string) *agui.Pause {
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
	p := v.Dialect.Reviver.Revive(ids, v.KnownDialect)
	if len(p.Interrupts) == 0 {
		return nil
	}
	p.Finish = slices.Clone(agui.FinishedEvent(v.Input.ThreadID, v.Input.RunID).JSON)
	words := len(v.Input.Messages)
	for words > 0 && v.Input.Messages[words-1].Role == "user" {
		words--
	}
	for _, m := range v.Input.Messages[:words] {
		seen := agui.NewSeenMessage(m)
		seen.ID = strings.Clone(seen.ID) // the id shares memory with the request
		p.SeenMessages = append(p.SeenMessages, seen)
	}
	return &p
}
