package agui

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"
)

// approvals are the members by which a schema asks for a yes or a no.
var approvals = [...]string{"approved", "accepted", "confirmed"}

// EditsUnasked reports whether a payload edits the arguments of a call, and its schema asks for a
// yes or a no alone. Most schemas take further members, and most backends leave out what they do
// not know. They would run the call with the arguments that somebody has just changed.
func EditsUnasked(schema, payload json.RawMessage) bool {
	edits, yes, no := false, false, false
	View(payload).ForEach(func(k, v gjson.Result) bool {
		edits = edits || SameKey(k.Str, "editedArgs") && v.Type != gjson.Null
		if slices.ContainsFunc(approvals[:], func(key string) bool { return SameKey(k.Str, key) }) {
			yes, no = yes || v.Type != gjson.False, no || v.Type == gjson.False
		}
		return true
	})
	if !edits || no && !yes {
		return false
	}
	asks, offers := false, false
	for _, form := range formsOf(View(schema)) {
		members := form.Get("properties")
		takesYes := true
		for _, key := range approvals {
			approval := members.Get(key)
			asks = asks || approval.Exists()
			takesYes = takesYes && approval.Get("const").Type != gjson.False
		}
		offers = offers || takesYes && members.Get("editedArgs").Exists()
	}
	return asks && !offers
}

// formsOf returns a schema and the members of its oneOf, anyOf and allOf. A schema may have one
// form for the yes and another for the no, as TanStack AI's has.
func formsOf(schema gjson.Result) []gjson.Result {
	forms := []gjson.Result{schema}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		forms = append(forms, schema.Get(key).Array()...)
	}
	return forms
}
