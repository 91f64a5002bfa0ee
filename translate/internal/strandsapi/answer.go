package strandsapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A Profile is the form of an answer. A hook or a tool of Strands gets the answer exactly as it was
// sent, and nothing on the wire tells what it can read. The documented hook compares it with "y"
// after lower() and fails at anything but text. The vended HumanInTheLoop takes true and "y" alone.
// Tools that were written for ag_ui_strands look into an envelope. So the operator says the form,
// by the interrupt's name.
type Profile string

// Words is text, as in Strands' documentation. Bool is true and false. Envelope is
// {"response": payload} and {"cancelled": true}, as ag_ui_strands gives it to tools. Raw is the
// payload as it is, and {"status":"cancelled"}, as @ag-ui/aws-strands gives it.
const (
	Words    Profile = "docs-string"
	Bool     Profile = "bool"
	Envelope Profile = "envelope"
	Raw      Profile = "raw"
)

var profiles = []Profile{Words, Bool, Envelope, Raw}

// checkWords refuses a no that could be a yes, to this name's hook or to any known one. It also
// refuses a yes that is not a yes.
func (r Rule) checkWords() error {
	asIs := r.profile() == Envelope || r.profile() == Raw
	switch yes := r.yes(); {
	case asIs && (r.Yes != nil || r.No != nil):
		return fmt.Errorf(textNoWords, r.profile())
	case yes != nil && (isNoWord(yes) || kit.JSON(yes).SaysNothing()):
		return fmt.Errorf(textYesLikeNo, yes)
	}
	for _, v := range []struct {
		key   string
		value json.RawMessage
	}{{"no", r.no()}, {"cancel", r.Cancelled()}} {
		if v.value == nil {
			continue
		}
		if err := kit.JSON(v.value).DeniesOnly(); err != nil {
			return fmt.Errorf("%s %s: %w", v.key, v.value, err)
		}
		switch {
		case r.profile() == Bool && string(v.value) != "false":
			return fmt.Errorf(textNotFalse, v.key, v.value)
		case isYesWord(v.value), r.yes() != nil && sameWord(v.value, r.yes()):
			return fmt.Errorf(textNoLikeYes, v.key, v.value)
		}
	}
	return nil
}

// sameWord reports whether two values are the same to a hook that compares words.
func sameWord(a, b json.RawMessage) bool {
	x, y := gjson.ParseBytes(a), gjson.ParseBytes(b)
	if x.Type == gjson.String && y.Type == gjson.String {
		return strings.EqualFold(strings.TrimSpace(x.Str), strings.TrimSpace(y.Str))
	}
	return string(agui.Canonical(a)) == string(agui.Canonical(b))
}

// isYesWord and isNoWord know the words that the documented hooks, the vended ones and the samples
// take.
func isYesWord(v json.RawMessage) bool {
	return isOneOf(v, "y", "yes", "t", "trust", "true", "a", "approve", "approved", "ok", "allow", "1")
}

func isNoWord(v json.RawMessage) bool {
	return string(v) == "false" || string(v) == "0" || isOneOf(v, "n", "no", "f", "false", "d", "deny", "denied", "r", "reject", "rejected",
		"c", "cancel", "cancelled", "canceled", "stop", "abort", "off", "0", "none", "null")
}

func isOneOf(v json.RawMessage, words ...string) bool {
	value := gjson.ParseBytes(v)
	return value.Type == gjson.String && slices.Contains(words, strings.ToLower(strings.TrimSpace(value.Str)))
}

// Decides reports whether an approval becomes a value of its own. Then {"approved"} is all that an
// answer has to say.
func (r Rule) Decides() bool { return r.yes() != nil && r.Path == "" }

// TakesEdits reports whether edited arguments are handed on with an approval.
func (r Rule) TakesEdits() bool {
	return (r.profile() == Envelope || r.profile() == Raw) && (r.Path == "" || strings.HasPrefix(r.Path, "editedArgs"))
}

func (r Rule) profile() Profile {
	if r.Profile == "" {
		return Words
	}
	return r.Profile
}

// yes returns what an approval becomes, nil if it goes as it is.
func (r Rule) yes() json.RawMessage { return r.word(r.Yes, `"y"`, `true`) }

func (r Rule) no() json.RawMessage { return r.word(r.No, `"n"`, `false`) }

func (r Rule) word(own json.RawMessage, words, bools string) json.RawMessage {
	switch {
	case own != nil:
		return own
	case r.profile() == Words:
		return json.RawMessage(words)
	case r.profile() == Bool:
		return json.RawMessage(bools)
	}
	return nil
}

// Cancelled returns what a cancelled answer becomes.
func (r Rule) Cancelled() json.RawMessage {
	switch {
	case r.Cancel != nil:
		return r.Cancel
	case r.profile() == Envelope:
		return json.RawMessage(`{"cancelled":true}`)
	case r.profile() == Raw:
		return json.RawMessage(`{"status":"cancelled"}`)
	}
	return r.no()
}

// Read returns what an answer says in the words that the hook or the tool of the rule takes. known
// is what it says otherwise.
func (r Rule) Read(a agui.Answer, known agui.Reading) agui.Reading {
	if a.Status != agui.Resolved || known.Says != agui.Unclear || len(a.Payload) == 0 {
		return known
	}
	switch yes, no := r.yes(), r.no(); {
	case yes != nil && sameWord(a.Payload, yes), isYesWord(a.Payload):
		return agui.Reading{Says: agui.Approves}
	case no != nil && sameWord(a.Payload, no), isNoWord(a.Payload):
		return agui.Reading{Says: agui.Denies}
	}
	return known
}

// Say returns what a hook or a tool gets for an answer. words says that a hook asked which knows
// words only. Say then refuses what is neither text nor a yes or no. The hook would fail at it, or
// take it for a no that nobody said. The error is an *agui.RunError.
func (r Rule) Say(a agui.Answer, words bool) (json.RawMessage, error) {
	if a.Status == agui.Cancelled {
		return r.Cancelled(), nil
	}
	payload := a.Payload
	if approved, _, decides := decisionOf(payload); r.Path != "" && decides && !approved {
		if no := r.no(); no != nil { // whatever stands at the path
			return no, nil
		}
		return r.Cancelled(), nil
	}
	if r.Path != "" {
		if len(kit.Members(gjson.ParseBytes(payload), "editedArgs")) > 0 && !strings.HasPrefix(r.Path, "editedArgs") {
			return nil, agui.Errorf(agui.InvalidPayload, textNoEdits, a.ID)
		}
		payload = valueAt(payload, r.Path)
	}
	if payload == nil {
		if r.profile() == Envelope && r.Path == "" && !words { // a hook that looks for cancelled only would go on
			return json.RawMessage(`{"response":null}`), nil
		}
		return nil, agui.Errorf(agui.InvalidPayload, textNoPayload, a.ID)
	}
	said, err := r.said(a.ID, payload, words)
	if err == nil && r.profile() == Envelope {
		said = agui.MustMarshal(map[string]json.RawMessage{"response": said})
	}
	return said, err
}

// valueAt returns the value at an operator's path, nil if there is none. It also returns nil if
// readers of the payload would find different values: of two equal keys some take the first and
// some the last.
func valueAt(payload json.RawMessage, path string) json.RawMessage {
	value := kit.Payload(gjson.GetBytes(payload, path))
	if string(agui.Canonical(value)) != string(agui.Canonical(kit.Payload(gjson.GetBytes(agui.Canonical(payload), path)))) {
		return nil
	}
	return value
}

func (r Rule) said(id string, payload json.RawMessage, words bool) (json.RawMessage, error) {
	yes, no := r.yes(), r.no()
	approved, more, decides := decisionOf(payload)
	text := gjson.ParseBytes(payload).Type == gjson.String
	switch {
	case text && r.profile() == Bool && isNoWord(payload):
		return no, nil // to who takes true and false, "no" is true
	case text && words && r.profile() == Words && r.No != nil && isNoWord(payload) && !sameWord(payload, yes):
		return no, nil // who has a word of its own for no may know no other
	case text && words && r.profile() == Bool && !isYesWord(payload) && !sameWord(payload, yes):
		return nil, agui.Errorf(agui.InvalidPayload, textNeitherWord, id)
	case text && words && yes != nil && strings.TrimSpace(gjson.ParseBytes(payload).Str) == "":
		return nil, agui.Errorf(agui.InvalidPayload, textEmptyAnswer, id)
	case decides && !approved && no != nil:
		return no, nil
	case decides && approved && yes != nil && !more:
		return yes, nil
	case decides && approved && yes != nil:
		return nil, agui.Errorf(agui.InvalidPayload, textMoreThanApproved, id)
	case words && yes != nil && !decides && !text:
		return nil, agui.Errorf(agui.InvalidPayload, textNotWord, id)
	}
	return payload, nil
}

// decisionOf reads a yes or no: true, false, or an object with approved. more says that the object
// has other keys. A yes is a yes to every reader. If a key stands twice, or in another spelling,
// one false makes it a no.
func decisionOf(payload json.RawMessage) (approved, more, ok bool) {
	v := gjson.ParseBytes(payload)
	if v.IsBool() {
		return v.Bool(), false, true
	}
	said := kit.Members(v, "approved")
	switch {
	case len(said) == 1 && v.Get("approved").Type == gjson.True:
		return true, len(v.Map()) > 1, true
	case slices.ContainsFunc(said, func(v gjson.Result) bool { return v.Type == gjson.False }):
		return false, false, true
	}
	return false, false, false
}
