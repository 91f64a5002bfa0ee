package kit

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// decisionKeys are the names of the boolean member with which a schema asks for a yes or a no.
var decisionKeys = []string{"approved", "accepted", "confirmed"}

// Words returns the payloads of a plain approval and of a plain denial of a question. They are
// objects with one member of decisionKeys, if the published schema accepts an object with only this
// member. A schema may have one form for the approval and another for the denial (TanStack AI).
// Words returns nil if the schema does not ask for a yes or a no.
func Words(i agui.Interrupt) (yes, no json.RawMessage) {
	schema := agui.View(i.Schema())
	for _, key := range decisionKeys {
		takesYes, takesNo := takes(schema, key, "true"), takes(schema, key, "false")
		for _, forms := range []string{"oneOf", "anyOf"} {
			schema.Get(forms).ForEach(func(_, form gjson.Result) bool {
				takesYes, takesNo = takesYes || takes(form, key, "true"), takesNo || takes(form, key, "false")
				return true
			})
		}
		if takesYes && takesNo {
			return json.RawMessage(`{"` + key + `":true}`), json.RawMessage(`{"` + key + `":false}`)
		}
	}
	return nil, nil
}

// takes reports whether a schema accepts an object whose only member is key, with the value word
// ("true" or "false").
func takes(schema gjson.Result, key, word string) bool {
	required := schema.Get("required").Array()
	if schema.Get("type").Str != "object" || len(required) > 1 || len(required) == 1 && required[0].Str != key {
		return false
	}
	member := schema.Get("properties." + key)
	if only := member.Get("const"); only.Exists() {
		return only.Raw == word
	}
	return member.Get("type").Str == "boolean" && !member.Get("enum").Exists()
}

// SpellOut replaces a payload that is a bare boolean by the object that the question's schema asks
// for: true becomes {"approved":true} if that object is the plain approval. A boolean that the
// schema accepts stays unchanged. If the question does not ask for a yes or a no, the boolean also
// stays unchanged, and the contract then refuses it.
func SpellOut(p agui.Pause, answers []agui.Answer, valid func(schema, payload json.RawMessage) error) {
	for n := range answers {
		a := &answers[n]
		said := gjson.ParseBytes(a.Payload)
		if a.OwnForm || a.Status != agui.Resolved || !said.IsBool() {
			continue
		}
		i := p.Interrupt(a.ID)
		if i == nil || i.Schema() == nil {
			continue
		}
		yes, no := Words(*i)
		word := map[bool]json.RawMessage{true: yes, false: no}[said.Bool()]
		if word != nil && valid(i.Schema(), a.Payload) != nil {
			a.Payload = word
		}
	}
}

// ReasonMember returns the name of the text member ("reason" or "message") in which a denial of the
// question can give a reason, according to its published schema. It returns "" if the schema has no
// such member.
func ReasonMember(i agui.Interrupt) string {
	if !gjson.ParseBytes(i.No).IsObject() {
		return ""
	}
	properties := gjson.GetBytes(i.Schema(), "properties")
	for _, key := range []string{"reason", "message"} {
		member := properties.Get(key)
		if member.Get("type").Str == "string" && !member.Get("const").Exists() && !member.Get("enum").Exists() {
			return key
		}
	}
	return ""
}

// maxWord is the largest size in bytes of a payload that MeaningOf compares with i.Yes and i.No,
// the payloads of a plain approval and a plain denial. These are far smaller. Denies has no such
// limit, because the reason of a denial may be long.
const maxWord = 64 << 10

// MeaningOf returns whether an answer approves or denies, or agui.Unclear. It reads the status of
// the answer, and compares its payload with the question's plain approval (i.Yes) and plain denial
// (i.No). A payload counts as a denial only if it has no other members, except a reason. It counts
// as an approval even if it has other members, such as a comment.
func MeaningOf(i agui.Interrupt, a agui.Answer) agui.Meaning {
	switch {
	case Denies(a):
		return agui.Denies
	case a.Meaning == agui.Approves:
		return agui.Approves
	case len(a.Payload) > maxWord: // the comparison costs many times the size of the payload
		return agui.Unclear
	case len(i.No) > 0 && bytes.Equal(agui.AppendCompact(nil, a.Payload), i.No):
		return agui.Denies
	case i.ReasonMember != "" && agui.View(a.Payload).IsObject() &&
		bytes.Equal(agui.AppendCompact(nil, agui.DeleteKey(a.Payload, i.ReasonMember)), i.No):
		return agui.Denies
	case contains(a.Payload, i.Yes):
		return agui.Approves
	}
	return agui.Unclear
}

// contains reports whether a payload equals the parameter word, or is an object that has all
// members of word with equal values.
func contains(payload, word json.RawMessage) bool {
	if len(word) == 0 || len(payload) == 0 {
		return false
	}
	said, want := agui.View(payload), agui.View(word)
	if !said.IsObject() || !want.IsObject() {
		return bytes.Equal(agui.Canonical(payload), agui.Canonical(word))
	}
	has := true
	want.ForEach(func(k, v gjson.Result) bool {
		found := Members(said, k.Str) // each spelling of the key; each value must match
		has = len(found) > 0
		for _, one := range found {
			has = has && bytes.Equal(agui.Canonical([]byte(one.Raw)), agui.Canonical([]byte(v.Raw)))
		}
		return has
	})
	return has
}
