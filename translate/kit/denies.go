package kit

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Denies reports whether an answer is a clear no: no backend that is supported carries anything out
// for it. What is not clear counts as a yes, and so does silence. An answer whose meaning is known
// already keeps it.
func Denies(a agui.Answer) bool {
	return a.Status == agui.Cancelled || a.Says == agui.Denies || saysNo(agui.View(a.Payload)) && JSON(a.Payload).DeniesOnly() == nil
}

// Approves reports whether a payload is a clear yes, whatever its question asks for.
func Approves(payload []byte) bool {
	v := agui.View(payload)
	return !v.IsArray() && saysYes(v)
}

func saysYes(v gjson.Result) bool {
	switch {
	case v.IsArray():
		return !saysNothing(v) && !has(v, func(_, one gjson.Result) bool { return !saysYes(one) })
	case v.IsObject():
		return has(v, func(k, member gjson.Result) bool {
			return isYes(k.Str) && member.Type == gjson.True || decides(k.Str) && saysYes(member)
		}) && !saysNo(v) && !has(v, func(k, member gjson.Result) bool {
			return saysNo(member) || decides(k.Str) && member.Type == gjson.String && isNo(member.Str)
		})
	case v.Type == gjson.String:
		return isYes(v.Str)
	}
	return v.Type == gjson.True
}

func saysNo(v gjson.Result) bool {
	switch {
	case v.Type == gjson.String:
		return isNo(v.Str) && !isOrder(v.Str)
	case v.IsArray():
		return !saysNothing(v) && !has(v, func(_, one gjson.Result) bool { return !saysNo(one) })
	case v.IsObject():
		return has(v, func(k, member gjson.Result) bool {
			switch {
			case member.Type == gjson.False:
				return isYes(k.Str)
			case member.Type == gjson.True:
				return isNo(k.Str) && !isOrder(k.Str)
			}
			return decides(k.Str) &&
				(saysNo(member) || member.Type == gjson.String && isNo(member.Str))
		})
	}
	return v.Type == gjson.False
}

// isNo knows the words for no, as values and as keys of a value that is true.
func isNo(word string) bool {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "abort", "cancel", "canceled", "cancelled", "decline", "declined", "denied", "deny", "false", "ignore", "n", "no", "reject", "rejected", "stop":
		return true
	}
	return false
}

// isOrder knows those of the words for no that also tell an agent to do something, where nothing
// says that they are a decision: "cancel" may be the order's.
func isOrder(word string) bool {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "abort", "cancel", "ignore", "stop":
		return true
	}
	return false
}
