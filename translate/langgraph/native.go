package langgraph

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A way is how the answer to a native interrupt goes back.
type way string

const (
	// byID puts the answer into the id map of command.resume. LangGraph takes an object for that
	// map if every key is 32 hex digits.
	byID way = "id"
	// byScalar sends the answer as command.resume itself. It is for an interrupt without a usable
	// id. There is no id before langgraph 0.6 and JS 0.4. The deprecated NodeInterrupt has
	// "placeholder-id", which is no id at all.
	byScalar way = "scalar"
	// byBareScalar is the same if there was no rawEvent either. Only the Python adapter from 0.0.43
	// on does that (emit_raw_events=False). It takes false, 0 and "" for answers (RAN 0.0.43).
	byBareScalar way = "bare"
	// byArray puts the answer into the resume array. If the ids of an outcome are not LangGraph's,
	// a subclass of the adapter maps interrupts itself (its README tells how) and must map the
	// entries back. LangGraph would take a map with such keys for the answer itself, and hand it to
	// every node. The form of an id does not show whose it is: others have 32 hex digits too, and
	// LangGraph ignores a map of ids that it does not know. The adapters always set
	// metadata.langgraph, and a CUSTOM event has LangGraph's own id.
	byArray way = "array"
)

// A native is one interrupt of LangGraph as the stream announced it. The pause's Private keeps the
// exported fields.
type native struct {
	ID    string          `json:"id,omitempty"`
	Value json.RawMessage `json:"value,omitempty"` // what interrupt() was called with; nil if the stream did not tell
	Shape shape           `json:"shape,omitempty"`
	Way   way             `json:"way"`
	// Schema is interrupt()'s own response_schema (langgraph 1.2.12 and later), nil if there is
	// none. The adapters show it in rawEvent only, not in the outcome (RAN 0.0.47).
	Schema json.RawMessage `json:"schema,omitempty"`
	// Beside are the calls of the task that asked, if any of them may get the answer. It is nil for
	// a task that asks alone.
	Beside json.RawMessage `json:"beside,omitempty"`

	meta  []byte       // an object: ns, resumable, when and what else the backend put beside the value
	given gjson.Result // its Interrupt in the outcome, if there was one
}

// readCustom reads a CUSTOM on_interrupt.
func readCustom(event []byte) native {
	f := gjson.GetManyBytes(event, "value", "rawEvent")
	value, raw := f[0], f[1]
	n := native{Value: customValue(value, raw.Get("value")), Way: byScalar, meta: []byte{'{'}}
	if !raw.Exists() {
		n.Way = byBareScalar
	}
	for _, key := range []string{"ns", "resumable", "when"} {
		if v := raw.Get(key); v.Exists() && v.Type != gjson.Null {
			n.meta = kit.AppendMember(n.meta, `"`+key+`"`, v.Raw)
		}
	}
	n.meta = append(n.meta, '}')
	for _, key := range []string{"id", "interrupt_id"} {
		if id := raw.Get(key); id.Type == gjson.String && id.Str != "" {
			n.ID = id.Str
			break
		}
	}
	if isID(n.ID) {
		n.Way = byID
	}
	if s := objectOf(raw.Get("response_schema")); s != "" {
		n.Schema = json.RawMessage(s)
	}
	return n
}

// customValue returns the interrupt's value with its type. The event's value is always a string. A
// string value is verbatim there, and any other is JSON text. So "42" may be either, and only
// rawEvent.value tells which. If both are there, the text has more. Python's make_json_safe takes
// the keys config and runtime out of rawEvent at any depth, and with them what an Agent Inbox
// request allows (RAN 0.0.42 and 0.0.43).
func customValue(value, typed gjson.Result) json.RawMessage {
	if value.Type != gjson.String {
		return rawOf(value)
	}
	switch {
	case !typed.Exists():
		return rawOf(kit.ParseText(value))
	case typed.Type == gjson.String:
		return rawOf(typed)
	}
	if text := kit.ParseText(value); text.Type == gjson.JSON && text.IsObject() == typed.IsObject() {
		return rawOf(text)
	}
	return rawOf(typed)
}

func rawOf(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// isID says whether LangGraph takes the string for a key of an id map: ^[0-9a-f]{32}$.
func isID(s string) bool {
	if len(s) != 32 {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'f') })
}

// readOutcome reads the interrupts of an interrupt outcome. It returns nil if the event has none.
func readOutcome(ev agui.Event) []native {
	if ev.Get("outcome.type").Str != "interrupt" {
		return nil
	}
	var list []native
	for _, i := range ev.Get("outcome.interrupts").Array() {
		if !i.IsObject() {
			continue
		}
		n := native{ID: i.Get("id").Str, Way: byScalar, given: i, meta: []byte{'{'}}
		own := i.Get("metadata.langgraph")
		if own.IsObject() {
			own.ForEach(func(k, v gjson.Result) bool {
				switch {
				case k.Str == "raw":
					n.Value = rawOf(v)
				case v.Type != gjson.Null && k.Str != "index":
					n.meta = kit.AppendMember(n.meta, k.Raw, v.Raw)
				}
				return true
			})
		}
		n.meta = append(n.meta, '}')
		switch {
		case isID(n.ID) && own.IsObject():
			n.Way = byID
		case n.ID != "":
			n.Way = byArray
		}
		list = append(list, n)
	}
	return list
}

// union makes one set of what the CUSTOM events and the outcome announced. The outcome decides
// order and content. A CUSTOM adds what the outcome left out, and its value, which is more
// complete. Equal interrupts stay apart if they were announced in the same form, because two tools
// of one task share an id and may ask the same (langgraph #6626).
func union(customs, outcome []native) []native {
	if len(outcome) == 0 {
		return customs
	}
	for i := range outcome {
		if n := &outcome[i]; n.Way == byArray && isID(n.ID) && slices.ContainsFunc(customs, func(c native) bool { return c.ID == n.ID }) {
			n.Way = byID // a CUSTOM event shows that it is LangGraph's own
		}
	}
	if slices.ContainsFunc(outcome, func(n native) bool { return n.Way == byArray }) {
		for i := range outcome {
			outcome[i].Way = byArray
		}
		return outcome
	}
	rest := slices.Clone(customs)
	matched := make([]bool, len(outcome))
	for _, fits := range []func(n, c native) bool{
		func(n, c native) bool {
			return c.ID == n.ID && (equalJSON(c.Value, n.Value) || equalJSON(withoutConfig(c.Value), n.Value))
		},
		func(n, c native) bool { return c.ID == n.ID },
		func(n, c native) bool { return c.ID == "" }, // no rawEvent: both lists have one order
	} {
		for i := range outcome {
			n := &outcome[i]
			at := slices.IndexFunc(rest, func(c native) bool { return !matched[i] && fits(*n, c) })
			if at < 0 {
				continue
			}
			if rest[at].Value != nil {
				n.Value = rest[at].Value
			}
			n.Schema = rest[at].Schema
			matched[i] = true
			rest = slices.Delete(rest, at, at+1)
		}
	}
	// An announcement without an id may be one that the outcome has.
	rest = slices.DeleteFunc(rest, func(n native) bool { return n.ID == "" })
	return append(outcome, rest...)
}
