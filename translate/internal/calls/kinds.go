package calls

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A Kind is one kind of question: how it is answered. What Say makes of an answer reads back as the
// same answer, because a client that was told it sends it with every later run.
type Kind struct {
	Name string // in the record

	// Words are the words of a yes and a no. nil: the answer is a value.
	Words *Words
	// Wrong says what is wrong with a payload that Words do not take, behind "payload for interrupt
	// .. is".
	Wrong string
	// Value returns the content for a value.
	Value func(asked PrivateState, a agui.Answer) (string, error)
	// Unwrap returns the payload that Value made a JSON text of. nil: the text is the payload.
	Unwrap func(text string) json.RawMessage

	// Say returns the content for an answer, and whether it denies. It is for a kind that has none
	// of the above.
	Say func(asked PrivateState, a agui.Answer) (content string, no bool, err error)

	// Cancel is the content that says a cancel. "": the backend has no word for it, and NoCancel
	// says so, behind "interrupt ..".
	Cancel   string
	NoCancel string

	Hidden bool // the client is not shown the call that asks
	Secret bool // the question and its answer hold secrets
	Told   ToldAnswers
}

// ToldAnswers is which answers the client is told as results of the calls that asked, because the
// backend tells none. A later run must not bring a call without a result.
type ToldAnswers int

const (
	Never   ToldAnswers = iota
	Denials             // and cancels
	Always
	// Late: each, as soon as the run says something else, unless the backend tells a result first.
	Late
)

// Words are the one form of a decision that is sent: an object with a member that decides. Backends
// read other forms in different ways.
type Words struct {
	Key     string                  // of the member
	Aliases []string                // other names that an answer may have for it
	Is      func(gjson.Result) bool // nil: a boolean, which may also come without an object
	// Beside is the one member that may stand beside it, "" for none. BesideIs nil takes any value.
	Beside   string
	BesideIs func(gjson.Result) bool
}

// Clear returns a payload in the form that is sent, and false if it does not decide clearly.
func (w *Words) Clear(payload json.RawMessage) (json.RawMessage, bool) {
	value := gjson.ParseBytes(payload)
	var decides, beside string
	ok := true
	decide := func(v gjson.Result) {
		if ok = decides == "" && (w.Is == nil && v.IsBool() || w.Is != nil && w.Is(v)); ok {
			decides = v.Raw
		}
	}
	switch {
	case value.IsBool() && w.Is == nil:
		decide(value)
	case value.IsObject():
		value.ForEach(func(name, v gjson.Result) bool {
			switch {
			case w.named(name.Str):
				decide(v)
			case name.Str == w.Beside && w.Beside != "" && beside == "" && (w.BesideIs == nil || w.BesideIs(v)):
				beside = v.Raw
			default:
				ok = false
			}
			return ok
		})
	}
	if !ok || decides == "" {
		return nil, false
	}
	out := kit.AppendMember([]byte{'{'}, `"`+w.Key+`"`, string(agui.AppendCompact(nil, []byte(decides))))
	if beside != "" {
		out = kit.AppendMember(out, `"`+w.Beside+`"`, string(agui.AppendCompact(nil, []byte(beside))))
	}
	return append(out, '}'), true
}

func (w *Words) named(name string) bool {
	for _, alias := range w.Aliases {
		if name == alias {
			return true
		}
	}
	return name == w.Key
}

// heard returns an answer in the words of the question, if it can be said in those.
func (k *Kind) heard(a agui.Answer) agui.Answer {
	switch {
	case a.Status != agui.Resolved || k.Say != nil:
	case k.Words != nil:
		if payload, ok := k.Words.Clear(a.Payload); ok {
			a.Payload = payload
		}
	case k.cancels(a.Payload):
		a.Status, a.Payload = agui.Cancelled, nil
	}
	return a
}

// cancels reports whether a JSON text says a cancel.
func (k *Kind) cancels(text []byte) bool {
	return k.Cancel != "" && string(agui.Canonical(text)) == string(agui.Canonical([]byte(k.Cancel)))
}

// say returns the content of the tool message that gives an answer. no reports that it denies.
func (k *Kind) say(asked PrivateState, a agui.Answer) (content string, no bool, err error) {
	switch {
	case k.Say != nil:
		return k.Say(asked, a)
	case a.Status == agui.Cancelled && k.Cancel == "":
		return "", true, agui.Errorf(agui.InvalidPayload, textNoCancel, a.ID, k.NoCancel)
	case a.Status == agui.Cancelled:
		return k.Cancel, true, nil
	case k.Words == nil:
		content, err = k.Value(asked, a)
		return content, false, err
	}
	payload, ok := k.Words.Clear(a.Payload)
	if !ok {
		return "", false, agui.Errorf(agui.InvalidPayload, textWrongPayload, a.ID, k.Wrong)
	}
	return string(payload), gjson.GetBytes(payload, k.Words.Key).Type == gjson.False, nil
}

// Read returns what the content of a tool message says, and false if it does not answer.
func (k *Kind) Read(content string) (agui.Answer, bool) {
	text := []byte(content)
	switch {
	case !agui.ValidJSON(text): // a value may be a mere text
		return agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(content)}, k.Words == nil
	case k.Words != nil:
		payload, ok := k.Words.Clear(text)
		if !ok && k.cancels(text) {
			return agui.Answer{Status: agui.Cancelled}, true
		}
		return agui.Answer{Status: agui.Resolved, Payload: payload}, ok
	case k.Unwrap != nil:
		text = k.Unwrap(content)
	}
	if string(text) == "null" {
		text = nil
	}
	return k.heard(agui.Answer{Status: agui.Resolved, Payload: text}), true
}
