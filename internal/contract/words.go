package contract

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// words are the contents by which tool messages answer questions with yes or no. The zero value has
// only the usual words.
type words struct {
	plain   map[string]bool // whole payloads, in canonical form
	members []string        // members of an object whose boolean value is the answer
}

// usualWords are the members in which most backends expect a yes or a no. They are used for unknown
// questions: after a restart, or when the record has forgotten the question. They are also used in
// addition to a question's own words, because an answer that was refused may use other words and
// stays in the client's history.
var usualWords = []string{"approved", "accepted"}

// addWord adds the plain yes or the plain no of a question. A nil word is ignored.
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

// decide reports whether the content of a tool message is an answer and not a result. It is an
// answer if it is a yes or a no, or the status that the protocol uses for an entry without a
// payload.
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
