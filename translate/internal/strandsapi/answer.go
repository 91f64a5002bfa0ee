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

// A Profile is the form in which a hook or a tool of Strands gets an answer. It gets exactly what
// Holdpoint sends, and the stream does not show which forms it can read. The documented hook
// compares the answer with "y" after lower(), and fails if the answer is not a text. Strands' own
// HumanInTheLoop accepts only true and "y". Tools that were written for ag_ui_strands expect an
// envelope. So the operator configures the form for each name of an interrupt.
type Profile string

// Words sends a text, as in Strands' documentation. Bool sends true or false. Envelope sends
// {"response": payload} or {"cancelled": true}, as ag_ui_strands passes it to tools. Raw sends the
// unchanged payload, or {"status":"cancelled"}, as @ag-ui/aws-strands passes it.
const (
	Words    Profile = "docs-string"
	Bool     Profile = "bool"
	Envelope Profile = "envelope"
	Raw      Profile = "raw"
)

var profiles = []Profile{Words, Bool, Envelope, Raw}

// checkWords returns an error if the hook of the rule, or any known hook, could read the value for
// no as an approval. It also returns an error if the value for yes is empty, or a word for no.
func (r Rule) checkWords() error {
	asIs := r.profile() == Envelope || r.profile() == Raw
	switch yes := r.yes(); {
	case asIs && (r.Yes != nil || r.No != nil):
		return fmt.Errorf(textNoWords, r.profile())
	case yes != nil && (isNoWord(yes) || kit.JSON(yes).IsEmpty()):
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

// sameWord reports whether a hook that compares words treats the two values as equal.
func sameWord(a, b json.RawMessage) bool {
	x, y := gjson.ParseBytes(a), gjson.ParseBytes(b)
	if x.Type == gjson.String && y.Type == gjson.String {
		return strings.EqualFold(strings.TrimSpace(x.Str), strings.TrimSpace(y.Str))
	}
	return string(agui.Canonical(a)) == string(agui.Canonical(b))
}

// isYesWord reports whether Strands' documented hooks, its own hooks or its samples read the value
// as yes. isNoWord does the same for no.
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

// Decides reports whether every approval is sent as the same value. An answer then needs only the
// member approved.
func (r Rule) Decides() bool { return r.yes() != nil && r.Path == "" }

// TakesEdits reports whether the backend gets edited arguments with an approval.
func (r Rule) TakesEdits() bool {
	return (r.profile() == Envelope || r.profile() == Raw) && (r.Path == "" || strings.HasPrefix(r.Path, "editedArgs"))
}

func (r Rule) profile() Profile {
	if r.Profile == "" {
		return Words
	}
	return r.Profile
}

// yes returns the value that is sent for an approval. It returns nil if the payload is sent
// unchanged.
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

// Cancelled returns the value that is sent for a cancelled answer.
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

// Read returns the meaning of the answer according to the words of the rule. The parameter known is
// the meaning that other readers have found. If known is clear, Read returns it unchanged.
func (r Rule) Read(a agui.Answer, known agui.Reading) agui.Reading {
	if a.Status != agui.Resolved || known.Meaning != agui.Unclear || len(a.Payload) == 0 {
		return known
	}
	switch yes, no := r.yes(), r.no(); {
	case yes != nil && sameWord(a.Payload, yes), isYesWord(a.Payload):
		return agui.Reading{Meaning: agui.Approves}
	case no != nil && sameWord(a.Payload, no), isNoWord(a.Payload):
		return agui.Reading{Meaning: agui.Denies}
	}
	return known
}

// ValueFor returns the value that is sent for an answer. The parameter words says that the hook
// that asked accepts only words. ValueFor then refuses an answer that is not a text, a yes or a no,
// because the hook would fail at it or read it as a denial. The error is an *agui.RunError.
func (r Rule) ValueFor(a agui.Answer, words bool) (json.RawMessage, error) {
	if a.Status == agui.Cancelled {
		return r.Cancelled(), nil
	}
	payload := a.Payload
	if approved, _, decides := decisionOf(payload); r.Path != "" && decides && !approved {
		if no := r.no(); no != nil { // a denial counts, whatever the payload has at the path
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
		// a hook that checks only for cancelled reads null as a yes, so hooks never get it
		if r.profile() == Envelope && r.Path == "" && !words {
			return json.RawMessage(`{"response":null}`), nil
		}
		return nil, agui.Errorf(agui.InvalidPayload, textNoPayload, a.ID)
	}
	said, err := r.writeAnswer(a.ID, payload, words)
	if err == nil && r.profile() == Envelope {
		said = agui.MustMarshal(map[string]json.RawMessage{"response": said})
	}
	return said, err
}

// valueAt returns the value of the payload at a path that the operator configured. It returns nil
// if no value exists there. It also returns nil if a key of the path is repeated, because some
// readers use the first value and others the last.
func valueAt(payload json.RawMessage, path string) json.RawMessage {
	value := kit.Payload(gjson.GetBytes(payload, path))
	if string(agui.Canonical(value)) != string(agui.Canonical(kit.Payload(gjson.GetBytes(agui.Canonical(payload), path)))) {
		return nil
	}
	return value
}

func (r Rule) writeAnswer(id string, payload json.RawMessage, words bool) (json.RawMessage, error) {
	yes, no := r.yes(), r.no()
	approved, more, decides := decisionOf(payload)
	text := gjson.ParseBytes(payload).Type == gjson.String
	switch {
	case text && r.profile() == Bool && isNoWord(payload):
		return no, nil // a hook that expects true or false would read "no" as true
	case text && words && r.profile() == Words && r.No != nil && isNoWord(payload) && !sameWord(payload, yes):
		return no, nil // a hook with its own word for no may not know others
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

// decisionOf returns the yes or no that a payload means: true, false, or an object with approved.
// more is true if the object has other members. A payload is an approval only if every reader would
// find an approval. If approved is repeated, or is spelled differently, a single false makes it a
// denial.
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
