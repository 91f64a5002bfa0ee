package kit

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Denies reports whether an answer is a clear denial: no supported backend carries anything out
// because of it. An unclear or empty answer is not a denial. An answer is also a denial if its
// Meaning is Denies.
func Denies(a agui.Answer) bool {
	return a.Status == agui.Cancelled || a.Meaning == agui.Denies || saysNo(agui.View(a.Payload)) && JSON(a.Payload).DeniesOnly() == nil
}

// Approves reports whether a payload is a clear approval for any question.
func Approves(payload []byte) bool {
	v := agui.View(payload)
	return !v.IsArray() && saysYes(v)
}

func saysYes(v gjson.Result) bool {
	switch {
	case v.IsArray():
		return !isEmpty(v) && !has(v, func(_, one gjson.Result) bool { return !saysYes(one) })
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
		return !isEmpty(v) && !has(v, func(_, one gjson.Result) bool { return !saysNo(one) })
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

// isNo reports whether a word usually means a denial. The word may be a value, or the key of a
// value that is true.
func isNo(word string) bool {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "abort", "cancel", "canceled", "cancelled", "decline", "declined", "denied", "deny", "false", "ignore", "n", "no", "reject", "rejected", "stop":
		return true
	}
	return false
}

// isOrder reports whether a word for a denial may also be an instruction to the agent: "cancel" may
// tell it to cancel an order, for example. Such a word is a denial only in a member that has the
// decision.
func isOrder(word string) bool {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "abort", "cancel", "ignore", "stop":
		return true
	}
	return false
}
