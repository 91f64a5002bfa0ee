package langgraphapi

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/translate/kit"
)

// An AnswerForm is the form in which the answer to a native interrupt is sent.
type AnswerForm string

const (
	// ByID sends the answer in command.resume, in an object from ids to values. LangGraph reads an
	// object in this way if every key has 32 hex digits.
	ByID AnswerForm = "id"
	// ByScalar sends the answer as command.resume itself. It is for an interrupt without a usable
	// id. Before langgraph 0.6 and JS 0.4, interrupts have no ids. The deprecated NodeInterrupt has
	// the id "placeholder-id", which is always the same.
	ByScalar AnswerForm = "scalar"
	// ByBareScalar is ByScalar for an interrupt without a rawEvent. Only the Python adapter from
	// 0.0.43 on sends such interrupts (emit_raw_events=False). It accepts false, 0 and "" as answers
	// (RAN 0.0.43).
	ByBareScalar AnswerForm = "bare"
	// ByArray sends the answer in the resume array. It is used if the ids in the interrupt outcome
	// are not LangGraph's. Then a subclass of the adapter made these ids, as the adapter's README
	// describes, and that subclass must map the entries back. If LangGraph got an object with these
	// ids as keys, it would read the object itself as the answer, and give it to every node.
	//
	// The form of an id does not show whether LangGraph made it: other ids may have 32 hex digits
	// too, and LangGraph ignores an object whose ids it does not know. Two things show that
	// LangGraph made it: the adapters always set metadata.langgraph, and a CUSTOM event has
	// LangGraph's own id.
	ByArray AnswerForm = "array"
)

// A Native is one interrupt of LangGraph, as the stream announced it. A pause stores the fields
// that have JSON names in Pause.Private.
type Native struct {
	ID         string          `json:"id,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"` // the argument of interrupt(); nil if the stream did not contain it
	Shape      Shape           `json:"shape,omitempty"`
	AnswerForm AnswerForm      `json:"way"`
	// Schema is the response_schema of interrupt() (langgraph 1.2.12 and later), or nil. The
	// adapters send it only in rawEvent, and not in the interrupt outcome (RAN 0.0.47).
	Schema json.RawMessage `json:"schema,omitempty"`
	// RivalCalls are the calls of the task that asked, if the answer may reach any of them. It is
	// nil if only one call of the task can ask.
	RivalCalls json.RawMessage `json:"beside,omitempty"`

	// JSON object with ns, resumable, when and other members that came with the value
	Meta      []byte       `json:"-"`
	Interrupt gjson.Result `json:"-"` // the Interrupt in the outcome, if it exists
}

// RawOf returns the JSON of the value, or nil if the value does not exist.
func RawOf(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// ReadNative parses an Interrupt of LangGraph. Its form is {id, value}, or {value, ns, resumable,
// when} before langgraph 0.6 for Python and 0.4 for JavaScript.
func ReadNative(i gjson.Result) Native {
	n := Native{ID: InterruptID(i), AnswerForm: ByScalar, Value: RawOf(i.Get("value")), Meta: []byte{'{'}}
	if IsID(n.ID) {
		n.AnswerForm = ByID
	}
	for _, key := range []string{"ns", "resumable", "when"} {
		if v := i.Get(key); v.Exists() && v.Type != gjson.Null {
			n.Meta = kit.AppendMember(n.Meta, `"`+key+`"`, v.Raw)
		}
	}
	n.Meta = append(n.Meta, '}')
	if s := ObjectOf(i.Get("response_schema")); s != "" {
		n.Schema = json.RawMessage(s)
	}
	return n
}

// InterruptID returns the id of an Interrupt of LangGraph, or "" if it has none. LangGraph 0.3 for
// JavaScript sends it under the key interrupt_id.
func InterruptID(i gjson.Result) string { return kit.FirstText(i, "id", "interrupt_id") }

// IsID reports whether the string has the form of LangGraph's ids: ^[0-9a-f]{32}$. LangGraph
// accepts only such strings as keys in an object from ids to values.
func IsID(s string) bool {
	if len(s) != 32 {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}
