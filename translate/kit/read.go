package kit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Read returns the meaning of an answer for the audit log and other observers. It recognizes the
// words of the question, and also words that agents usually accept. Code that decides what is sent
// uses MeaningOf, which recognizes fewer words.
func Read(i agui.Interrupt, a agui.Answer) agui.Reading {
	r := agui.Reading{Meaning: MeaningOf(i, a)}
	if len(a.Payload) > maxWord || a.Status != agui.Resolved {
		return r
	}
	if r.Meaning == agui.Unclear && Approves(a.Payload) {
		r.Meaning = agui.Approves
	}
	r.Edited = r.Meaning == agui.Approves && edits(agui.View(a.Payload))
	return r
}

// edits reports whether an approval contains changed arguments for the call.
func edits(v gjson.Result) bool {
	if v.IsArray() {
		return has(v, func(_, one gjson.Result) bool { return edits(one) })
	}
	return v.IsObject() && has(v, func(k, member gjson.Result) bool {
		switch k.Str {
		case "editedArgs", "edited_args", "editedAction", "edited_action":
			return member.Type != gjson.Null
		case "decisions":
			return edits(member)
		}
		return decides(k.Str) && isEdit(member.Str)
	})
}

// decides reports whether a member with this key usually has the decision of an answer.
func decides(key string) bool {
	return slices.Contains([]string{"type", "decision", "decisions", "status", "action", "response", "answer"}, key)
}

func isEdit(word string) bool {
	word = strings.ToLower(strings.TrimSpace(word))
	return word == "edit" || word == "edited"
}

// ReadPrivate decodes the state that a dialect stored. It returns the zero value if the state
// cannot be decoded, because another dialect or another version wrote it.
func ReadPrivate[T any](private json.RawMessage) T {
	var kept, none T
	if json.Unmarshal(private, &kept) != nil {
		return none
	}
	return kept
}

// PlainText returns the text of a string, and the JSON of any other value. It returns "" for null.
func PlainText(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.Str
	case gjson.Null:
		return ""
	}
	return v.Raw
}
