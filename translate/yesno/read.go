package yesno

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A Verdict is the meaning of a message's content, read by the words of a backend.
type Verdict int

// Nothing means that the content is an ordinary result. Unclear means that a backend could read the
// content as a decision, but that two backends could read it differently.
const (
	Nothing Verdict = iota
	Unclear
	Yes
	No
)

// Read returns the meaning of the content of a message. The names of members may be spelled in any
// way, and texts may be in upper or lower case.
func (w Words) Read(content gjson.Result) Verdict {
	if content.Type == gjson.String && agui.TooDeep([]byte(content.Str)) {
		return Unclear
	}
	if content.IsArray() {
		return w.readParts(content)
	}
	if w.yes.isObject() {
		if w.mayBeLoose(content) {
			return Unclear
		}
		return w.readObject(kit.ParseText(content))
	}
	for says, word := range map[Verdict]template{Yes: w.yes, No: w.no} {
		if content.Type == gjson.String && strings.TrimSpace(content.Str) == word.text {
			return says
		}
	}
	text := content.Str
	if content.Type != gjson.String {
		text = content.Raw
	}
	if folded := fold(text); folded == fold(w.yes.text) || folded == fold(w.no.text) {
		return Unclear
	}
	return Nothing
}

// readParts returns the meaning of a content that consists of parts. Some readers join the texts of
// the parts, and others do not. So the result is never Yes or No, only Nothing or Unclear.
func (w Words) readParts(content gjson.Result) Verdict {
	is := Nothing
	content.ForEach(func(_, part gjson.Result) bool {
		for _, text := range kit.Texts(part, "text") {
			if w.Read(gjson.Result{Type: gjson.String, Str: text}) != Nothing {
				is = Unclear
			}
		}
		return is == Nothing
	})
	return is
}

// mayBeLoose reports whether a text is not JSON, but a lenient parser may read it as an object.
// Python's parser, for example, accepts NaN. mayBeLoose returns true only if the text may contain
// the name of a member that differs between the yes and the no.
func (w Words) mayBeLoose(content gjson.Result) bool {
	text := strings.TrimLeft(content.Str, " \t\r\n\ufeff")
	if content.Type != gjson.String || !strings.HasPrefix(text, "{") || kit.ParseText(content).IsObject() {
		return false
	}
	folded := fold(text)
	return strings.Contains(text, `\u`) || slices.ContainsFunc(w.differences, func(path []string) bool { return strings.Contains(folded, fold(path[len(path)-1])) })
}

// readObject compares those members of an object that differ between the yes and the no.
func (w Words) readObject(content gjson.Result) Verdict {
	speaks, isYes, isNo := false, true, true
	for _, path := range w.differences {
		approves, denies := valueAt(w.yes.value, path), valueAt(w.no.value, path)
		found := kit.ValuesAt(content, path...)
		speaks = speaks || slices.ContainsFunc(found, func(v gjson.Result) bool { return decides(v, approves, denies) })
		here := valueAt(content, path)
		isYes = isYes && len(found) == 1 && same(here, approves)
		isNo = isNo && len(found) == 1 && same(here, denies)
	}
	switch {
	case !speaks:
		return Nothing
	case isYes:
		return Yes
	case isNo:
		return No
	}
	return Unclear
}

// decides reports whether a backend could read the value v as the value of the yes or of the no.
func decides(v, yes, no gjson.Result) bool {
	if yes.IsBool() || no.IsBool() {
		return v.IsBool() || truthy(v)
	}
	return v.Type == yes.Type && fold(v.String()) == fold(yes.String()) || v.Type == no.Type && fold(v.String()) == fold(no.String())
}

// Payload returns the payload of the answer that a content gives. arguments are those of the call
// that the question is about. ok is false if the content is not a clear yes or no.
func (w Words) Payload(content gjson.Result, arguments string) (payload json.RawMessage, ok bool) {
	switch w.Read(content) {
	case Yes:
		out := []byte(`{"approved":true`)
		if edited := valueAt(kit.ParseText(content), w.arguments); w.arguments != nil && edited.IsObject() && !sameArguments(edited.Raw, arguments) {
			out = kit.AppendMember(out, `"editedArgs"`, edited.Raw)
		}
		return append(out, '}'), true
	case No:
		out := []byte(`{"approved":false`)
		if because := valueAt(kit.ParseText(content), w.reason); w.reason != nil && because.Type == gjson.String && because.Str != "" {
			out = kit.AppendText(out, "reason", because.Str)
		}
		return append(out, '}'), true
	}
	return nil, false
}

// Content returns the content that Holdpoint sends to the backend for an answer. arguments are
// those of the call that the question is about. Only a clear approval becomes the yes. Content
// returns an error if the answer edits the arguments and the yes has no placeholder for them.
func (w Words) Content(a agui.Answer, arguments string) (string, error) {
	payload := gjson.ParseBytes(a.Payload)
	if a.Status != agui.Resolved || !Approves(payload) {
		return w.denial(a.Status, payload), nil
	}
	if w.arguments == nil {
		if err := kit.RefuseEdits(a); err != nil {
			return "", err
		}
		return string(w.yes.with("", nil)), nil
	}
	edits := slices.DeleteFunc(kit.Members(payload, "editedArgs"), func(v gjson.Result) bool { return v.Type == gjson.Null })
	switch {
	case len(edits) == 0:
		return string(w.yes.with(argumentsPlace, asJSON(arguments))), nil
	case len(edits) > 1 || !edits[0].IsObject():
		return "", agui.Errorf(agui.InvalidPayload, textEditNotObject, a.ID)
	}
	return string(w.yes.with(argumentsPlace, json.RawMessage(edits[0].Raw))), nil
}

// denial returns the content that means no. It contains the reason of the denial only if a backend
// could not read that content as a yes.
func (w Words) denial(status agui.Status, payload gjson.Result) string {
	empty := string(w.no.with(reasonPlace, json.RawMessage(`""`)))
	because := kit.Members(payload, "reason")
	if status != agui.Resolved || w.reason == nil || len(because) != 1 || because[0].Type != gjson.String {
		return empty
	}
	if said := string(w.no.with(reasonPlace, json.RawMessage(because[0].Raw))); w.denies(said) {
		return said
	}
	return empty
}

// Approves reports whether every JSON reader finds an approval in the payload. If the key approved
// is repeated, one reader uses the first value and another reader the last, so all values must be
// true.
func Approves(payload gjson.Result) bool {
	said := kit.Members(payload, "approved")
	return len(said) > 0 && !slices.ContainsFunc(said, func(v gjson.Result) bool { return v.Type != gjson.True })
}

// asJSON returns the arguments of a call as JSON. If the arguments are a text that is not JSON, it
// returns the text as a JSON string.
func asJSON(arguments string) json.RawMessage {
	switch {
	case strings.TrimSpace(arguments) == "":
		return json.RawMessage(`{}`)
	case agui.ValidJSON([]byte(arguments)):
		return json.RawMessage(arguments)
	}
	return agui.MustMarshal(arguments)
}

func sameArguments(edited, asked string) bool {
	return string(agui.Canonical([]byte(edited))) == string(agui.Canonical(asJSON(asked)))
}
