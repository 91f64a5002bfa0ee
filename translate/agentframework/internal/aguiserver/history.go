package aguiserver

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// readable returns the messages as the host and a strict provider behind it take them.
//
//   - A message of reasoning or of an activity goes. The host answers 500 to a history with one
//     (RAN 0.0.3 to after 0.0.5). A client gets them by a snapshot that Holdpoint makes.
//   - A tool message on a call of unanswered goes. The host takes the call for answered, whatever
//     the message says, and runs nothing. Clients make such messages up: AGUI.Client does after an
//     answer that was refused. The host goes by the id alone, so the result of an earlier call of
//     that id goes too.
//   - A result moves behind its call. A client that appends what it gets has the words between the
//     two that a person wrote while the question was open.
//   - A message goes that had calls, all of which were taken out (translate.Continuer).
//
// came are the messages as the client sent them.
func readable(in agui.RunInput, came []agui.Message, unanswered map[string]bool) agui.RunInput {
	list := withoutEmptied(withoutRoles(in.Messages, "reasoning", "activity"), came)
	list = behindCalls(kit.NotOn(list, unanswered))
	if len(list) == len(in.Messages) && slices.EqualFunc(list, in.Messages, func(a, b agui.Message) bool { return &a.JSON[0] == &b.JSON[0] }) {
		return in
	}
	return in.WithMessages(list)
}

func withoutRoles(list []agui.Message, roles ...string) []agui.Message {
	goes := func(m agui.Message) bool {
		return slices.ContainsFunc(roles, func(role string) bool { return strings.EqualFold(m.Role, role) })
	}
	if !slices.ContainsFunc(list, goes) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), goes)
}

// withoutEmptied is the messages without those that say nothing and had calls when they came.
func withoutEmptied(list, came []agui.Message) []agui.Message {
	isEmpty := func(m agui.Message) bool {
		content := agui.View(m.JSON).Get("content")
		return m.Role == "assistant" && m.ID != "" && content.Type == gjson.String && content.Str == "" && !holdsCalls(m)
	}
	if !slices.ContainsFunc(list, isEmpty) {
		return list
	}
	had := map[string]bool{}
	for _, m := range came {
		if holdsCalls(m) {
			had[m.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(m agui.Message) bool { return isEmpty(m) && had[m.ID] })
}

// behindCalls is the messages with each result directly behind its turn: the messages with calls
// that follow one another, which the host joins. A result without its call stays where it is.
func behindCalls(list []agui.Message) []agui.Message {
	calls, ends := turnsOf(list)
	results := map[int][]int{} // of the turn that ends at a place, by their places
	behind := make([]bool, len(list))
	turn := map[string]int{} // the last turn that holds a call
	for n, m := range list {
		if end, known := turn[m.ToolCallID]; known && m.Role == "tool" {
			results[end], behind[n] = append(results[end], n), true
		}
		for _, c := range calls[n] {
			turn[c.Get("id").Str] = ends[n]
		}
	}
	sorted := make([]agui.Message, 0, len(list))
	same := true
	add := func(n int) {
		same = same && n == len(sorted)
		sorted = append(sorted, list[n])
	}
	for n := range list {
		if behind[n] {
			continue
		}
		add(n)
		for _, result := range results[n] {
			add(result)
		}
	}
	if same {
		return list
	}
	return sorted
}

// turnsOf returns the calls of each message, and where the turn of each message ends.
func turnsOf(list []agui.Message) (calls [][]gjson.Result, ends []int) {
	calls, ends = make([][]gjson.Result, len(list)), make([]int, len(list))
	for n := len(list) - 1; n >= 0; n-- {
		ends[n] = n
		if list[n].Plain {
			continue
		}
		calls[n] = kit.Calls(agui.View(list[n].JSON))
		if n+1 < len(list) && len(calls[n]) > 0 && len(calls[n+1]) > 0 {
			ends[n] = ends[n+1]
		}
	}
	return calls, ends
}

func holdsCalls(m agui.Message) bool { return !m.Plain && len(kit.Calls(agui.View(m.JSON))) > 0 }
