package kit

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Read returns what an answer says for those who are told of it, such as the audit. Beside the
// question's own words it knows those that agents usually take. Says decides, and knows less.
func Read(i agui.Interrupt, a agui.Answer) agui.Reading {
	r := agui.Reading{Says: Says(i, a)}
	if len(a.Payload) > maxWord || a.Status != agui.Resolved {
		return r
	}
	if r.Says == agui.Unclear && Approves(a.Payload) {
		r.Says = agui.Approves
	}
	r.Edited = r.Says == agui.Approves && edits(agui.View(a.Payload))
	return r
}

// edits reports whether an approval brings other arguments for the call.
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

// decides reports whether a member of an answer usually has the decision.
func decides(key string) bool {
	return slices.Contains([]string{"type", "decision", "decisions", "status", "action", "response", "answer"}, key)
}

func isEdit(word string) bool {
	word = strings.ToLower(strings.TrimSpace(word))
	return word == "edit" || word == "edited"
}
