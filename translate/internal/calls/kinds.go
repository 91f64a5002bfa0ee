package calls

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A Kind is one kind of question, with the form of its answers. Exactly one of Words, Value and
// Content is set:
//
//   - Words, if the backend reads a decision in one member of an object. An answer denies if that
//     member is false.
//   - Value, if the backend reads any value, such as a form or the result of a tool. Only a cancel
//     denies: the engine treats every other answer as a yes, whatever its value is. So a missing
//     result leaves it in doubt, and Table.Refuse is called for it.
//   - Content, for all other forms, such as two words. It reports itself whether an answer denies.
//     translate/dialecttest/confirm is an example.
//
// Read must turn the content that is made of an answer back into the same answer, because a client
// that was sent the content sends it with every later run. A cancel may have the content of a no.
type Kind struct {
	// Name is the name in records, and unique in the Table. A record of an open question has it, so it
	// must not change. Only Plain has a kind without a name.
	Name string

	// Words are the words for a yes and a no.
	Words *Words
	// Wrong describes a payload that Words cannot read. It follows "payload for interrupt .. is".
	Wrong string
	// Value returns the content for an answer that is not a cancel, or an error to refuse the answer.
	Value func(asked PrivateState, a agui.Answer) (string, error)
	// Content returns the content for any answer, also for a cancel, and whether the answer denies.
	// Return an error for a payload that is neither a clear yes nor a clear no.
	Content func(asked PrivateState, a agui.Answer) (content string, no bool, err error)
	// Unwrap returns the payload in a content that Value or Content made. It gets JSON: a content that
	// is plain text comes as a JSON string. If it is nil, that JSON is the payload. Return null for a
	// content that is not an answer, so that Value or Content refuses it.
	Unwrap func(text string) json.RawMessage

	// Cancel is the content for a cancel, unless Content is set. If it is "", a cancel gets the error
	// "interrupt .. " with NoCancel as its rest.
	Cancel   string
	NoCancel string

	// Hidden reports that the client is not shown the call that asks. The dialect's own run must hold
	// the events of the call (Table.Wrap, Run.Ask).
	Hidden bool
	// Secret reports that the call and its answer contain secrets. No event, list or record shows the
	// answer, and Holdpoint sends the call back without its arguments.
	Secret bool
	// Results selects the answers that the client is sent as results.
	Results ResultPolicy
}

// ResultPolicy selects the answers that the client is sent as results of the calls that asked,
// because the backend sends none. A later run must not contain a call without a result.
type ResultPolicy int

const (
	// Never: the backend sends a result for every answer.
	Never ResultPolicy = iota
	// Denials: the backend sends a result only for an approval. Each denial and cancel is sent as soon
	// as the run starts.
	Denials
	// Always: the backend sends no result. Each answer is sent as soon as the run starts.
	Always
	// Late: each answer, as soon as the run sends something else, unless the backend sends a result
	// first. It needs Table.Resume Last; with another Place nothing is sent.
	Late
)

// Words describe the one form in which a decision is sent: an object with a member that decides.
// Backends read other forms in different ways.
type Words struct {
	Key     string                  // the name of the member
	Aliases []string                // other names for the member in answers
	Is      func(gjson.Result) bool // reports whether a value decides; nil for a boolean, which may also be sent without an object
	// Extra is the name of another member that the object may have, or "". A nil ExtraIs accepts any
	// value of it.
	Extra   string
	ExtraIs func(gjson.Result) bool
}

// Clear returns a payload in the form that is sent, or false if it is not a clear decision.
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
			case name.Str == w.Extra && w.Extra != "" && beside == "" && (w.ExtraIs == nil || w.ExtraIs(v)):
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
		out = kit.AppendMember(out, `"`+w.Extra+`"`, string(agui.AppendCompact(nil, []byte(beside))))
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

// normalize returns an answer in the words of the question if it can be converted.
func (k *Kind) normalize(a agui.Answer) agui.Answer {
	switch {
	case a.Status != agui.Resolved || k.Content != nil:
	case k.Words != nil:
		if payload, ok := k.Words.Clear(a.Payload); ok {
			a.Payload = payload
		}
	case k.cancels(a.Payload):
		a.Status, a.Payload = agui.Cancelled, nil
	}
	return a
}

// cancels reports whether a JSON text is the content for a cancel.
func (k *Kind) cancels(text []byte) bool {
	return k.Cancel != "" && string(agui.Canonical(text)) == string(agui.Canonical([]byte(k.Cancel)))
}

// content returns the content of the tool message for an answer. no reports that the answer denies.
func (k *Kind) content(asked PrivateState, a agui.Answer) (content string, no bool, err error) {
	switch {
	case k.Content != nil:
		return k.Content(asked, a)
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

// Read returns the answer in the content of a tool message, or false if the content is not an
// answer.
func (k *Kind) Read(content string) (agui.Answer, bool) {
	text := []byte(content)
	switch {
	case !agui.ValidJSON(text): // a value may be plain text
		if k.Words == nil && k.Cancel != "" && content == k.Cancel {
			return agui.Answer{Status: agui.Cancelled}, true
		}
		payload := agui.MustMarshal(content)
		if k.Unwrap != nil {
			payload = k.Unwrap(string(payload))
		}
		return agui.Answer{Status: agui.Resolved, Payload: payload}, k.Words == nil
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
	return k.normalize(agui.Answer{Status: agui.Resolved, Payload: text}), true
}
