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
//   - Words, if the backend reads a decision in one member of an object. An answer is a denial
//     if that member is false.
//   - Value, if the backend reads any value, such as a form or the result of a tool. Only a
//     cancel is a denial: every other answer counts as a yes, whatever its value is. So if the
//     backend then sends no result, the answer is in doubt. Table.Refuse is called for such an
//     answer.
//   - Content, for all other forms, such as one of two words. It returns itself whether an
//     answer is a denial. translate/dialecttest/confirm is an example.
//
// The method Read must turn the content that was made of an answer back into the same answer. A
// client that got the content in a message sends it again with every later run. A cancel may have
// the same content as a no.
type Kind struct {
	// Name is the name of the kind in records. It is unique in the Table. Records of open questions
	// contain it, so it must never change. Only Plain has a kind without a name.
	Name string

	// Words describe the object that means yes or no.
	Words *Words
	// Wrong says what is wrong with a payload that Words cannot read. It continues the sentence
	// "payload for interrupt .. is".
	Wrong string
	// Value returns the content to send for an answer that is not a cancel. If it returns an error,
	// the answer is refused.
	Value func(asked PrivateState, a agui.Answer) (string, error)
	// Content returns the content to send for an answer or a cancel, and whether it is a denial. It
	// must return an error for a payload that is neither a clear yes nor a clear no.
	Content func(asked PrivateState, a agui.Answer) (content string, no bool, err error)
	// Unwrap returns the payload from which Value or Content made a content. It gets JSON: a
	// content that is plain text comes as a JSON string. If Unwrap is nil, that JSON is the
	// payload. For a content that is not an answer, Unwrap must return null, so that Value or
	// Content refuses it.
	Unwrap func(text string) json.RawMessage

	// Cancel is the content to send for a cancel, unless the function Content is set. If it is "",
	// a cancel is refused with the error "interrupt .. ", which NoCancel continues.
	Cancel   string
	NoCancel string

	// Hidden is true if the client does not get the call that asks. The dialect's own run must then
	// hold the events of the call (Table.Wrap, Run.Ask).
	Hidden bool
	// Secret is true if the call and its answer contain secrets. No event, list or record shows the
	// answer, and Holdpoint sends the call back to the backend without its arguments.
	Secret bool
	// Results says which answers the client gets as results of the calls that asked.
	Results ResultPolicy
}

// A ResultPolicy says which answers the client gets as results of the calls that asked. It gets
// them because the backend sends no result, and the history of a later run must not have a call
// without one.
type ResultPolicy int

const (
	// Never means that the backend sends a result for every answer. Table.Owner must then return
	// Others.
	Never ResultPolicy = iota
	// Denials means that the backend sends a result only for an approval. The client gets each
	// denial and cancel as a result, as soon as the run starts. Table.Owner must return Others.
	Denials
	// Always means that the backend sends no result. The client gets each answer as a result, as
	// soon as the run starts.
	Always
	// Late means that the backend may send a result as the first event. If it does not, the client
	// gets the answer as the result, as soon as the backend sends something else. Late works only
	// if Table.Resume is Last; otherwise the client gets no result.
	Late
)

// Words describe the one form in which a decision is sent to the backend: an object with a member
// that has the decision. Backends differ in how they read other forms.
type Words struct {
	Key     string   // name of the member with the decision
	Aliases []string // other names that an answer may use for the member
	// reports whether a value is a decision; nil for a boolean, which an answer may also send alone
	Is func(gjson.Result) bool
	// Extra is the name of another member that the object may have, or "". If ExtraIs is nil, that
	// member may have any value.
	Extra   string
	ExtraIs func(gjson.Result) bool
}

// Clear returns the payload in the form that is sent to the backend. It returns false if the
// payload is not a clear decision.
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

// normalize returns the answer with the keys that the question's kind uses, if it can be converted.
// Otherwise it returns the answer unchanged.
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

// cancels reports whether a JSON text is the content that the backend reads as a cancel.
func (k *Kind) cancels(text []byte) bool {
	return k.Cancel != "" && string(agui.Canonical(text)) == string(agui.Canonical([]byte(k.Cancel)))
}

// content returns the content of the tool message with the answer a. no is true if the answer is a
// denial or a cancel.
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

// Read returns the answer that the content of a tool message contains. It returns false if the
// content is not an answer.
func (k *Kind) Read(content string) (agui.Answer, bool) {
	text := []byte(content)
	switch {
	case !agui.ValidJSON(text): // for a question of kind Value the content may be plain text
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
