package translate

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Denies says whether an answer is a clear no: no backend that is supported carries anything out for it. What is not clear
// counts as a yes.
func Denies(a agui.Answer) bool {
	return a.Status == agui.Cancelled || denies(gjson.ParseBytes(a.Payload))
}

func denies(v gjson.Result) bool {
	switch {
	case v.Type == gjson.String:
		switch strings.ToLower(v.Str) {
		case "n", "no", "deny", "denied", "reject", "rejected":
			return true
		}
		return false
	case v.IsObject():
		if list := v.Get("decisions"); list.IsArray() {
			return denyAll(list.Array())
		}
		if v.Get("type").Str == "reject" {
			return true
		}
		return deniesIn(v)
	}
	return v.Type == gjson.False
}

func denyAll(decisions []gjson.Result) bool {
	for _, d := range decisions {
		if d.Get("type").Str != "reject" {
			return false
		}
	}
	return len(decisions) > 0
}

// deniesIn: the words of an object that decide, each of them false. A key that stands twice, or in another spelling, may be
// read as the other.
func deniesIn(object gjson.Result) bool {
	said := 0
	for _, word := range []string{"approved", "accepted", "confirmed"} {
		for _, v := range Members(object, word) {
			if v.Type != gjson.False {
				return false
			}
			said++
		}
	}
	return said > 0
}
