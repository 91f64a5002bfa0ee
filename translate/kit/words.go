package kit

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// decisionKeys are the members by which a published schema asks for a yes or a no.
var decisionKeys = []string{"approved", "accepted", "confirmed"}

// Words returns the payloads of a plain approval and a plain denial, as the question's published
// schema has them: an object in which one of the usual members is a boolean, and nothing else is
// required. A schema may have one form for the yes and another for the no (TanStack AI). nil: the
// schema does not ask for a yes or a no.
func Words(i agui.Interrupt) (yes, no json.RawMessage) {
	schema := gjson.ParseBytes(i.Schema())
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

// takes reports whether a schema takes an object with nothing but the member, which is a boolean or
// that boolean.
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

// SpellOut writes a bare boolean as the object that the question's schema asks for: true becomes
// {"approved":true} where a plain yes is that. A payload that the schema takes as it is stays, and
// so does one of a question that does not ask for a yes or a no. The contract refuses the latter.
func SpellOut(p agui.Pause, answers []agui.Answer, valid func(schema, payload json.RawMessage) error) {
	for n := range answers {
		a := &answers[n]
		said := gjson.ParseBytes(a.Payload)
		if a.Own || a.Status != agui.Resolved || !said.IsBool() {
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

// Because returns the member in which a no of the question says why, as its published schema has
// it: a text under one of the usual names. "": there is no such place.
func Because(i agui.Interrupt) string {
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

// maxWord bounds the payloads that are compared with the question's own words, in bytes. A plain
// yes or no is far smaller. A no that Denies knows is one at any length: its reason may be long.
const maxWord = 64 << 10

// Says returns what an answer means, by its status and the question's own words. A no is clear only
// if it says nothing else; a yes may have more members, such as a comment.
func Says(i agui.Interrupt, a agui.Answer) agui.Meaning {
	switch {
	case Denies(a):
		return agui.Denies
	case a.Says == agui.Approves:
		return agui.Approves
	case len(a.Payload) > maxWord: // reading it in every spelling costs many times its size
		return agui.Unclear
	case len(i.No) > 0 && bytes.Equal(agui.AppendCompact(nil, a.Payload), i.No):
		return agui.Denies
	case i.Because != "" && agui.View(a.Payload).IsObject() &&
		bytes.Equal(agui.AppendCompact(nil, agui.DeleteKey(a.Payload, i.Because)), i.No):
		return agui.Denies
	case contains(a.Payload, i.Yes):
		return agui.Approves
	}
	return agui.Unclear
}

// contains reports whether a payload is a word of the question's, or an object with all its
// members.
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
		found := Members(said, k.Str) // in whatever spelling, and each of them
		has = len(found) > 0
		for _, one := range found {
			has = has && bytes.Equal(agui.Canonical([]byte(one.Raw)), agui.Canonical([]byte(v.Raw)))
		}
		return has
	})
	return has
}
