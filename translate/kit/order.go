package kit

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// WithoutRoles returns the messages whose role is not in roles. If no message has one of the roles,
// it returns list itself.
func WithoutRoles(list []agui.Message, roles ...string) []agui.Message {
	goes := func(m agui.Message) bool {
		return slices.ContainsFunc(roles, func(role string) bool { return strings.EqualFold(m.Role, role) })
	}
	if !slices.ContainsFunc(list, goes) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), goes)
}

// ResultsAfterCalls returns the messages with each result directly after its turn. A turn is a
// sequence of consecutive messages with calls. Strict providers require this order. A client that
// appends what it receives may have another order: if a person wrote messages while a question was
// open, they are between a call and its result. A result without its call is not moved. If nothing
// must be moved, ResultsAfterCalls returns list itself.
func ResultsAfterCalls(list []agui.Message) []agui.Message {
	calls, ends := turnsOf(list)
	results := map[int][]int{} // index of a turn's last message → indexes of its results
	behind := make([]bool, len(list))
	turn := map[string]int{} // id of a call → index of the last message of its turn
	for n, m := range list {
		if end, known := turn[m.ToolCallID]; known && m.Role == "tool" {
			results[end], behind[n] = append(results[end], n), true
		}
		for _, c := range calls[n] {
			turn[agui.IDText(c.Get("id"))] = ends[n]
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

// turnsOf returns the calls of each message, and for each message the index of the last message of
// its turn.
func turnsOf(list []agui.Message) (calls [][]gjson.Result, ends []int) {
	calls, ends = make([][]gjson.Result, len(list)), make([]int, len(list))
	for n := len(list) - 1; n >= 0; n-- {
		ends[n] = n
		if list[n].Plain {
			continue
		}
		calls[n] = Calls(agui.View(list[n].JSON))
		if n+1 < len(list) && len(calls[n]) > 0 && len(calls[n+1]) > 0 {
			ends[n] = ends[n+1]
		}
	}
	return calls, ends
}
