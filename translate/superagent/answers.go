package superagent

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// Answers implements translate.Dialect. If the question has a single field, the payload may be
// shorter than an object with that field. For a field of type confirm, it may be a bare boolean or
// a boolean under the field's own name. For any other field, it may be a bare text.
func (d *Dialect) Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error) {
	list, err := kit.Answers(in, p)
	if err != nil {
		return nil, err
	}
	kept, ok := keptOf(p)
	if !ok || len(kept.Fields) != 1 {
		return list, nil
	}
	f := kept.Fields[0]
	for n := range list {
		a := &list[n]
		v := gjson.ParseBytes(a.Payload)
		switch {
		case a.Status != agui.Resolved || p.Interrupt(a.ID) == nil:
		case f.confirms() && v.IsBool():
			a.Payload = json.RawMessage(`{"approved":` + v.Raw + `}`)
		case f.confirms():
			if own := memberOf(v, f.Name); len(v.Map()) == 1 && len(own) == 1 && own[0].IsBool() {
				a.Payload = json.RawMessage(`{"approved":` + own[0].Raw + `}`)
			}
		case v.Type == gjson.String:
			a.Payload = append(kit.AppendMember([]byte{'{'}, string(agui.MustMarshal(f.Name)), v.Raw), '}')
		}
	}
	return list, nil
}

// memberOf returns all values that the object has under exactly this name. The server also compares
// names exactly.
func memberOf(object gjson.Result, name string) []gjson.Result {
	var list []gjson.Result
	if object.IsObject() {
		object.ForEach(func(k, v gjson.Result) bool {
			if k.Str == name {
				list = append(list, v)
			}
			return true
		})
	}
	return list
}

// inputOf returns the input of a resume, which is an object with at least one value. It returns nil
// if no input may be sent. It never returns an empty object, because the server reads an empty
// input as a yes.
func inputOf(a agui.Answer, state questionState) (json.RawMessage, error) {
	if a.Status == agui.Cancelled {
		return state.denial(), nil
	}
	v := gjson.ParseBytes(a.Payload)
	if !v.IsObject() {
		return nil, agui.Errorf(agui.InvalidPayload, textNotObject, a.ID)
	}
	if state.confirms() {
		return confirmation(a.ID, v, state.Fields[0].Name)
	}
	known := map[string]bool{}
	for _, f := range state.Fields {
		known[f.Name] = true
	}
	input, given := []byte{'{'}, map[string]bool{}
	twice := ""
	v.ForEach(func(k, v gjson.Result) bool {
		switch {
		case len(known) > 0 && !known[k.Str], v.Type == gjson.Null, v.Type == gjson.String && strings.TrimSpace(v.Str) == "":
			return true
		case given[k.Str]:
			twice = k.Str
		}
		given[k.Str] = true
		input = kit.AppendMember(input, string(agui.MustMarshal(k.Str)), v.Raw)
		return twice == ""
	})
	switch {
	case twice != "":
		return nil, agui.Errorf(agui.InvalidPayload, textKeyTwice, a.ID, agui.Shorten(twice))
	case len(given) == 0:
		return nil, agui.Errorf(agui.InvalidPayload, textNoField, a.ID)
	}
	for _, f := range state.Fields {
		// A missing answer is not a yes, but the server would tell the model to proceed.
		if f.confirms() && !given[f.Name] {
			input = kit.AppendMember(input, string(agui.MustMarshal(f.Name)), "false")
		}
	}
	return append(input, '}'), nil
}

// confirmation returns the input for a question with a single field of type confirm. It returns an
// error if the payload has no boolean, or two different ones. name is the name of the field.
func confirmation(id string, payload gjson.Result, name string) (json.RawMessage, error) {
	given := append(kit.Members(payload, "approved"), memberOf(payload, name)...)
	word := ""
	for _, v := range given {
		if !v.IsBool() || word != "" && v.Raw != word {
			word = ""
			break
		}
		word = v.Raw
	}
	if word == "" {
		return nil, agui.Errorf(agui.InvalidPayload, textNoApproved, id)
	}
	return append(kit.AppendMember([]byte{'{'}, string(agui.MustMarshal(name)), word), '}'), nil
}
