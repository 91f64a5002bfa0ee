package strands

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A profile is how the hooks and tools of an agent want their answers.
type profile string

const (
	docsString profile = "docs-string" // as the documents' hooks: approval.lower() != "y"
	asBool     profile = "bool"        // true and false
	envelope   profile = "envelope"    // as ag_ui_strands 0.3.0 wraps them: {"response":..}, {"cancelled":true}
	asIs       profile = "raw"         // as @ag-ui/aws-strands hands them on
)

// Forms are how answers are handed to the backend, by the name of the interrupt; the first glob that matches counts:
//
//	glob=profile [path=<gjson path>] [yes=<word or JSON>] [no=<word or JSON>] [cancel=<word or JSON>];...
type Forms []form

type form struct {
	glob            string
	profile         profile
	path            string // where in the payload the answer is
	yes, no, cancel json.RawMessage
	text            string
}

// UnmarshalText reads the value of a variable.
func (f *Forms) UnmarshalText(text []byte) error {
	*f = nil
	return entries(string(text), func(glob, value string) error {
		one := form{glob: glob, text: value}
		if err := one.read(value); err != nil {
			return err
		}
		*f = append(*f, one)
		return nil
	})
}

// String is the map as it is written.
func (f Forms) String() string {
	var list []string
	for _, one := range f {
		list = append(list, one.glob+"="+one.text)
	}
	return strings.Join(list, ";")
}

// of is the form for a name.
func (f Forms) of(name string) form {
	for _, one := range f {
		if matches(one.glob, name) {
			return one
		}
	}
	one := form{profile: docsString}
	one.complete()
	return one
}

// decides says whether an approval is made a word, so that {"approved"} is all that an answer has to say.
func (f form) decides() bool { return (f.profile == docsString || f.profile == asBool) && f.path == "" }

// Warning is what an operator should know of the forms, "" for nothing.
func (f Forms) Warning() string {
	for _, one := range f {
		if one.profile != docsString {
			return "@strands-agents/sdk 1.19.0 runs the tool when a hook throws, and a hook written for a string throws at any other answer, a no too: " +
				"bool, envelope and raw are right only for hooks and tools that are known to take them"
		}
	}
	return ""
}

func (f *form) read(text string) error {
	word, rest := cutWord(text)
	switch f.profile = profile(word); f.profile {
	case docsString, asBool, envelope, asIs:
	default:
		return fmt.Errorf("%q is no profile, want docs-string, bool, envelope or raw", word)
	}
	for rest != "" {
		if word, rest = cutWord(rest); word == "" {
			break
		}
		key, value, ok := strings.Cut(word, "=")
		if !ok || value == "" {
			return fmt.Errorf("%q: want path=, yes=, no= or cancel= and a value without a space (or JSON)", word)
		}
		switch key {
		case "path":
			f.path = value
		case "yes":
			f.yes = constant(value)
		case "no":
			f.no = constant(value)
		case "cancel":
			f.cancel = constant(value)
		default:
			return fmt.Errorf("%q: want path=, yes=, no= or cancel=", word)
		}
	}
	if (f.yes != nil || f.no != nil) && (f.profile == envelope || f.profile == asIs) {
		return fmt.Errorf("yes= and no= mean nothing to %s, which hands a payload on as it is", f.profile)
	}
	f.complete()
	return f.check()
}

// cutWord cuts at the first white space that stands in no string, object or array.
func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	for n, depth := 0, 0; n < len(s); n++ {
		switch s[n] {
		case '"':
			for n++; n < len(s) && s[n] != '"'; n++ {
				if s[n] == '\\' {
					n++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ' ', '\t', '\n':
			if depth <= 0 {
				return s[:n], strings.TrimSpace(s[n:])
			}
		}
	}
	return s, ""
}

// constant is a value in a variable: JSON, or else a string.
func constant(s string) json.RawMessage {
	if agui.ValidJSON([]byte(s)) {
		return json.RawMessage(s)
	}
	return agui.MustMarshal(s)
}

// complete sets what is not configured.
func (f *form) complete() {
	defaults := map[profile][3]string{
		docsString: {`"y"`, `"n"`, ""}, asBool: {"true", "false", ""}, envelope: {"", "", `{"cancelled":true}`}, asIs: {"", "", `{"status":"cancelled"}`},
	}[f.profile]
	for n, v := range []*json.RawMessage{&f.yes, &f.no, &f.cancel} {
		if *v == nil && defaults[n] != "" {
			*v = json.RawMessage(defaults[n])
		}
	}
	if f.cancel == nil {
		f.cancel = f.no
	}
}

// check refuses a no that could be taken for a yes, by this name's hook or by any that is written.
func (f *form) check() error {
	if f.yes != nil && (saysNo(f.yes) || !mayBeSaid(f.yes)) {
		return fmt.Errorf("yes=%s: it is a no, or nothing", f.yes)
	}
	for _, v := range []struct {
		what  string
		value json.RawMessage
	}{{"no", f.no}, {"cancel", f.cancel}} {
		switch {
		case v.value == nil:
			continue
		case f.profile == asBool && string(v.value) != "false":
			return fmt.Errorf("%s=%s: whoever takes true and false takes any other value for true; want false", v.what, v.value)
		}
		if err := translate.JSON(v.value).DeniesOnly(); err != nil {
			return fmt.Errorf("%s=%s: %w", v.what, v.value, err)
		}
		if saysYes(v.value) || f.yes != nil && sameWord(v.value, f.yes) {
			return fmt.Errorf("%s=%s: it is a yes", v.what, v.value)
		}
	}
	return nil
}

// mayBeSaid is false for null, "" and the like.
func mayBeSaid(v json.RawMessage) bool {
	value := gjson.ParseBytes(v)
	return value.Type != gjson.Null && value.String() != "" && value.Raw != "{}" && value.Raw != "[]"
}

func sameWord(a, b json.RawMessage) bool {
	x, y := gjson.ParseBytes(a), gjson.ParseBytes(b)
	if x.Type == gjson.String && y.Type == gjson.String {
		return strings.EqualFold(strings.TrimSpace(x.Str), strings.TrimSpace(y.Str))
	}
	return string(agui.Canonical(a)) == string(agui.Canonical(b))
}

// saysYes and saysNo know the words that the documents' hooks, the vended ones and the samples take.
func saysYes(v json.RawMessage) bool {
	return isWord(v, "y", "yes", "t", "trust", "true", "a", "approve", "approved", "ok", "allow", "1")
}

func saysNo(v json.RawMessage) bool {
	return string(v) == "false" || string(v) == "0" ||
		isWord(v, "n", "no", "f", "false", "d", "deny", "denied", "r", "reject", "rejected", "c", "cancel", "cancelled", "canceled", "stop", "abort", "0")
}

func isWord(v json.RawMessage, words ...string) bool {
	value := gjson.ParseBytes(v)
	if value.Type != gjson.String {
		return false
	}
	for _, w := range words {
		if strings.EqualFold(strings.TrimSpace(value.Str), w) {
			return true
		}
	}
	return false
}

// An answer that cannot be handed on, for the developer at the client.
var (
	errNothing = errors.New("says nothing, and the backend would ask again or take it for an answer")
	errEdits   = errors.New("has editedArgs, which the backend is not known to honour (HOLDPOINT_STRANDS_ANSWERS)")
	errTwiceIn = errors.New("has a key twice")
	errShape   = errors.New("is neither a string nor {\"approved\":true|false}, and a hook that is written for a string fails at it, or takes it for a no " +
		"(HOLDPOINT_STRANDS_ANSWERS)")
	errMore = errors.New("says more than approved, which cannot be handed on (HOLDPOINT_STRANDS_ANSWERS)")
	errPath = errors.New("has nothing where the answer is to be (path= in HOLDPOINT_STRANDS_ANSWERS)")
)

// value is what the backend gets for an answer.
func (f form) value(a agui.Answer, k kind) (json.RawMessage, error) {
	if a.Status == agui.Cancelled {
		return f.cancel, nil
	}
	payload := a.Payload
	if len(payload) == 0 {
		if f.profile == envelope {
			return json.RawMessage(`{"response":null}`), nil
		}
		return nil, errNothing
	}
	if f.path != "" && gjson.GetBytes(payload, "approved").Type == gjson.False {
		return f.denial(), nil // whatever stands at the path
	}
	switch f.profile {
	case envelope:
		v, err := f.at(payload)
		return append(append([]byte(`{"response":`), v...), '}'), err
	case asIs:
		return f.at(payload)
	}
	return f.said(payload, k)
}

// denial is the no of a profile: in those without words what a cancelled answer gets.
func (f form) denial() json.RawMessage {
	if f.no != nil {
		return f.no
	}
	return f.cancel
}

// at is the part of a payload that is the answer.
func (f form) at(payload json.RawMessage) (json.RawMessage, error) {
	if f.path == "" {
		return payload, nil
	}
	v := gjson.GetBytes(payload, f.path) // the operator's path
	if !v.Exists() || v.Type == gjson.Null || !agui.ValidJSON([]byte(v.Raw)) {
		return nil, errPath
	}
	return json.RawMessage(v.Raw), nil
}

// said is an answer in the profiles that have words. A no is one whatever stands beside it; a yes is one only alone.
func (f form) said(payload json.RawMessage, k kind) (json.RawMessage, error) {
	value := gjson.ParseBytes(payload)
	if value.IsObject() {
		approved, others, err := verdict(value)
		switch {
		case err != nil:
			return nil, err
		case approved.Type == gjson.False:
			return f.no, nil
		case others["editedArgs"] && f.path == "":
			return nil, errEdits
		case f.path != "" && gjson.GetBytes(payload, f.path).Exists():
			v, err := f.at(payload)
			if err != nil {
				return nil, err
			}
			payload, value = v, gjson.ParseBytes(v)
		case approved.Type == gjson.True && len(others) > 0:
			return nil, errMore
		case approved.Type == gjson.True:
			return f.yes, nil
		case f.path != "":
			return nil, errPath
		}
	}
	switch {
	case value.Type == gjson.String && strings.TrimSpace(value.Str) == "":
		return nil, errNothing
	case value.Type == gjson.String && f.profile == asBool && saysNo(payload):
		return f.no, nil // to whom it is true and false, "no" is true
	case value.Type == gjson.String:
		return payload, nil
	case value.Type == gjson.False:
		return f.no, nil
	case value.Type == gjson.True:
		return f.yes, nil
	case k == aTool:
		return payload, nil
	}
	return nil, errShape
}

// verdict reads {"approved":..} and the names of what stands beside it.
func verdict(object gjson.Result) (approved gjson.Result, others map[string]bool, err error) {
	others = map[string]bool{}
	object.ForEach(func(k, v gjson.Result) bool {
		name := k.String()
		switch {
		case name == "approved" && approved.Exists(), others[name]:
			err = errTwiceIn
		case name == "approved":
			approved = v
		default:
			others[name] = true
		}
		return err == nil
	})
	return approved, others, err
}
