package contract

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// words has the contents by which tool messages answer questions with yes or no. The zero value
// accepts only the members in usualWords.
type words struct {
	plain   map[string]bool // whole payloads, in the form of agui.Canonical
	members []string        // names of members; the boolean value of such a member is the answer
}

// usualWords has the names of the members in which most backends expect a yes or a no. They are
// used for an unknown question: after a restart, or if the record no longer has the question. They
// are also used together with a question's own words, because an answer that was refused may have
// used other words, and it stays in the client's history.
var usualWords = []string{"approved", "accepted"}

// addWord adds the payload that means a plain yes, or a plain no, to a question. It ignores a nil
// payload.
func (w *words) addWord(word json.RawMessage) {
	if len(word) == 0 {
		return
	}
	if w.plain == nil {
		w.plain = map[string]bool{}
	}
	w.plain[string(agui.Canonical(word))] = true
	gjson.ParseBytes(word).ForEach(func(key, value gjson.Result) bool {
		if key.Type == gjson.String && value.IsBool() && !slices.Contains(w.members, key.Str) {
			w.members = append(w.members, key.Str)
		}
		return true
	})
}

// decide reports whether the content of a tool message is an answer, and not the tool's result. It
// is an answer if it means yes or no. It is also one if it is only the status that AG-UI uses for
// an entry without a payload.
func (w words) decide(content gjson.Result) bool {
	if content.Type != gjson.String || !agui.ValidJSON([]byte(content.Str)) {
		return false
	}
	if len(w.plain) > 0 && w.plain[string(agui.Canonical(json.RawMessage(content.Str)))] {
		return true
	}
	object := gjson.Parse(content.Str)
	if !object.IsObject() {
		return false
	}
	others, settled, decides := false, false, false
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == "status" {
			settled = settled || value.Str == string(agui.Resolved) || value.Str == string(agui.Cancelled)
		} else {
			others = true
		}
		decides = value.IsBool() && (slices.Contains(usualWords, key.Str) || slices.Contains(w.members, key.Str))
		return !decides
	})
	return decides || settled && !others
}
