package contract

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// words are those by which questions are answered with yes or no. The zero value has the usual ones
// only.
type words struct {
	plain   map[string]bool // whole payloads, canonical
	members []string        // members of an object whose value says yes or no
}

// usualWords are the members by which most backends are told a yes or a no. They count where nobody
// knows the question: after a restart the record has nothing, and after the replay time it has
// forgotten. They count beside a question's own words, too: an answer that was refused may have
// been said in other words than the question's, and it stays in the client's history.
var usualWords = []string{"approved", "accepted"}

// learn takes in a plain yes or a plain no of a question. One that is not known is nil.
func (w *words) learn(word json.RawMessage) {
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

// decide reports whether a tool message's content is an answer and not a result: it says yes or no,
// or it is one of the protocol's own words where an entry has no payload.
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
