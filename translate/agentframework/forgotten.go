package agentframework

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// After a restart of Holdpoint nobody knows that a route speaks this dialect, while the backend
// still waits (RAN 1.0.0rc7 to 1.7.0), or runs what it is told without waiting (up to
// 1.0.0b260311). A person's answer in a message is refused then, and what a client keeps of it in
// its history is made harmless.

// Undeclared implements translate.Disarmer. Where the dialect is known, Answers reads the same.
func (*Dialect) Undeclared(in agui.RunInput) []string {
	at := len(in.Messages)
	for at > 0 && in.Messages[at-1].Role != "user" && in.Messages[at-1].Role != "assistant" {
		at--
	}
	var list []string
	for n := range forgotten(in, at, decides) {
		list = append(list, in.Messages[n].ToolCallID)
	}
	return list
}

// Disarmed implements translate.Disarmer.
func (*Dialect) Disarmed(in agui.RunInput, passed func(call string) bool) agui.RunInput {
	var list []agui.Message
	for n := range forgotten(in, 0, decidesOnly) {
		if passed != nil && passed(in.Messages[n].ToolCallID) {
			continue
		}
		if list == nil {
			list = slices.Clone(in.Messages)
		}
		list[n] = asResult(list[n])
	}
	if list == nil {
		return in
	}
	return in.WithMessages(list)
}

// decidesOnly says whether a message is a decision and nothing else. What says more may be the
// result of a tool of another backend, in whose history nothing is changed.
func decidesOnly(m agui.Message) bool { return isDecision(gjson.GetBytes(m.JSON, "content"), nil) }

// forgotten are the places, from one on, of the tool messages that decide, on a call of a tool that
// the request does not declare.
func forgotten(in agui.RunInput, from int, decide func(agui.Message) bool) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		var own map[string]bool // nil until it is needed
		for n := from; n < len(in.Messages); n++ {
			m := in.Messages[n]
			if !strings.EqualFold(m.Role, "tool") || !kit.MaySay(m.JSON, "accepted", 'p') || !decide(m) {
				continue
			}
			if own == nil {
				own = declaredCalls(in)
			}
			if !own[m.ToolCallID] && !yield(n) {
				return
			}
		}
	}
}

// declaredCalls are the calls of the history of tools that the request declares.
func declaredCalls(in agui.RunInput) map[string]bool {
	own := map[string]bool{}
	if len(in.Tools) == 0 {
		return own
	}
	tools := make(map[string]bool, len(in.Tools))
	for _, t := range in.Tools {
		tools[t] = true
	}
	for _, m := range in.Messages {
		for _, c := range callsOf(m) {
			if tools[c.Name] {
				own[c.ID] = true
			}
		}
	}
	return own
}
