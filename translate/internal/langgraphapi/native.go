package langgraphapi

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// A Way is how the answer to a native interrupt goes back.
type Way string

const (
	// ByID puts the answer into the id map of command.resume. LangGraph takes an object for that
	// map if every key is 32 hex digits.
	ByID Way = "id"
	// ByScalar sends the answer as command.resume itself. It is for an interrupt without a usable
	// id. There is no id before langgraph 0.6 and JS 0.4. The deprecated NodeInterrupt has
	// "placeholder-id", which is not an id at all.
	ByScalar Way = "scalar"
	// ByBareScalar is the same if there was no rawEvent either. Only the Python adapter from 0.0.43
	// on does that (emit_raw_events=False). It takes false, 0 and "" for answers (RAN 0.0.43).
	ByBareScalar Way = "bare"
	// ByArray puts the answer into the resume array. If the ids of an outcome are not LangGraph's,
	// a subclass of the adapter maps interrupts itself (its README tells how) and must map the
	// entries back. LangGraph would take a map with such keys for the answer itself, and hand it to
	// every node. The form of an id does not show whose it is: others have 32 hex digits too, and
	// LangGraph ignores a map of ids that it does not know. The adapters always set
	// metadata.langgraph, and a CUSTOM event has LangGraph's own id.
	ByArray Way = "array"
)

// A Native is one interrupt of LangGraph as the stream announced it. The pause's Private keeps the
// exported fields.
type Native struct {
	ID    string          `json:"id,omitempty"`
	Value json.RawMessage `json:"value,omitempty"` // what interrupt() was called with; nil if the stream did not tell
	Shape Shape           `json:"shape,omitempty"`
	Way   Way             `json:"way"`
	// Schema is interrupt()'s own response_schema (langgraph 1.2.12 and later), nil if there is
	// none. The adapters show it in rawEvent only, not in the outcome (RAN 0.0.47).
	Schema json.RawMessage `json:"schema,omitempty"`
	// Beside are the calls of the task that asked, if any of them may get the answer. It is nil for
	// a task that asks alone.
	Beside json.RawMessage `json:"beside,omitempty"`

	Meta  []byte       `json:"-"` // an object: ns, resumable, when and what else the backend put beside the value
	Given gjson.Result `json:"-"` // its Interrupt in the outcome, if there was one
}

// RawOf returns the JSON text of a value, nil if it is absent.
func RawOf(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// IsID reports whether LangGraph takes the string for a key of an id map: ^[0-9a-f]{32}$.
func IsID(s string) bool {
	if len(s) != 32 {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}
