package superagent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/kit"
)

const (
	// maxMessage and maxReason are the maximum sizes in bytes of an interrupt's message and of the
	// reason in its metadata. The reason is the whole text that the model wrote, which is in the
	// conversation too.
	maxMessage = 8 << 10
	maxReason  = 64 << 10
)

// A question is what the server asks.
type question struct {
	raw        json.RawMessage // the whole question as JSON
	reason     string          // the text of the question
	checkpoint string
	fields     []field
	askedAt    int64 // Unix seconds; 0 if unknown
}

// A field is one value that the server asks for. An answer has a value for each field.
type field struct {
	Name     string `json:"name"`
	Kind     string `json:"type,omitempty"`
	label    string
	required bool
	options  []string
}

func (f field) confirms() bool { return f.Kind == "confirm" }

// questionState is what Interrupt.Private stores as JSON.
type questionState struct {
	Fields []field `json:"fields"`
}

func keptOf(p agui.Pause) (questionState, bool) {
	var k questionState
	ok := p.Dialect == Name && len(p.Interrupts) == 1 && json.Unmarshal(p.Interrupts[0].Private, &k) == nil
	return k, ok
}

// confirms reports whether the question has only one field, and this field asks for a yes or a no.
func (k questionState) confirms() bool { return len(k.Fields) == 1 && k.Fields[0].confirms() }

// denial returns the input that the server reads as no. It returns nil if no field of the question
// asks for a yes or a no.
func (k questionState) denial() json.RawMessage {
	input := []byte{'{'}
	for _, f := range k.Fields {
		if f.confirms() {
			input = kit.AppendMember(input, string(agui.MustMarshal(f.Name)), "false")
		}
	}
	if len(input) == 1 {
		return nil
	}
	return append(input, '}')
}

// readQuestion parses a question. object is a state of the server, or the data of an interrupt
// event. Both have the members reason and fields.
func readQuestion(object gjson.Result) *question {
	q := &question{
		raw:        agui.MustMarshal(json.RawMessage(object.Raw)),
		reason:     object.Get("reason").Str,
		checkpoint: object.Get("checkpoint_id").Str,
	}
	if at := object.Get("timestamp"); at.Type == gjson.Number {
		q.askedAt = at.Int()
	}
	named := map[string]bool{}
	if list := object.Get("fields"); list.IsArray() {
		list.ForEach(func(_, f gjson.Result) bool {
			name := f.Get("name").Str
			if name == "" || named[name] {
				return true
			}
			named[name] = true
			q.fields = append(q.fields, readField(name, f))
			return true
		})
	}
	return q
}

func readField(name string, v gjson.Result) field {
	f := field{Name: name, Kind: strings.ToLower(v.Get("type").Str), label: v.Get("label").Str, required: v.Get("required").Type == gjson.True}
	if options := v.Get("options"); options.IsArray() {
		seen := map[string]bool{} // the values of an enum must differ
		options.ForEach(func(_, o gjson.Result) bool {
			if o.Type == gjson.String && !seen[o.Str] {
				seen[o.Str] = true
				f.options = append(f.options, o.Str)
			}
			return true
		})
	}
	return f
}

// readInterrupt parses an interrupt event. data is its data, and milliseconds its timestamp. It
// returns nil if the event cannot be read. In a real event, the reason is the JSON text of the
// whole state, and the question is read from this state. The event's own fields are not used,
// because the state does not contain them, so the server would not find them again. In an event as
// documented, reason and fields are in the event itself.
func readInterrupt(data gjson.Result, milliseconds int64) *question {
	if !data.IsObject() {
		return nil
	}
	if state, ok := readState([]byte(strings.TrimPrefix(data.Get("reason").Str, marker))); ok && state.Get("reason").Str != "" {
		return readQuestion(state)
	}
	q := readQuestion(data)
	if q.askedAt == 0 {
		q.askedAt = milliseconds / 1000
	}
	return q
}

// readState parses the JSON text of a state. It returns false if the text is not an object with a
// session_id.
func readState(b []byte) (state gjson.Result, ok bool) {
	if !agui.ValidJSON(b) {
		return state, false
	}
	state = gjson.ParseBytes(b)
	return state, state.IsObject() && state.Get("session_id").Str != ""
}

// interrupt returns the question as an interrupt for the client.
func (q *question) interrupt(d *Dialect, thread string) agui.Interrupt {
	k := questionState{Fields: q.fields}
	if k.Fields == nil {
		k.Fields = []field{}
	}
	raw := []byte(q.raw)
	if len(raw) > maxReason {
		raw = agui.DeleteKey(raw, "reason")
	}
	o := kit.Question{Reason: "confirmation", Message: cutLong(q.reason, maxMessage), Schema: kit.ApprovalSchema, Metadata: `{"` + Name + `":` + string(raw) + `}`}
	if !k.confirms() {
		o.Reason, o.Schema = "input_required", q.schema()
	}
	return agui.Interrupt{Native: q.native(d.agent, thread), Object: o.Object(), Private: agui.MustMarshal(k)}
}

// native returns the id of the question, which is its checkpoint_id. A question of the documented
// A2UI event or of a TurnLoop agent has no checkpoint_id, so native returns a hash of the question.
func (q *question) native(agent, thread string) string {
	if q.checkpoint != "" {
		return agui.Shorten(q.checkpoint)
	}
	return hash(agent, thread, strconv.FormatInt(q.askedAt, 10), q.reason)
}

// schema returns a responseSchema with a property for each field. A required field must not be an
// empty text.
func (q *question) schema() string {
	properties, required := []byte{'{'}, []string{}
	for _, f := range q.fields {
		properties = kit.AppendMember(properties, aguiwriter.Quoted(f.Name), string(f.schema()))
		if f.required {
			required = append(required, f.Name)
		}
	}
	o := kit.AppendText([]byte{'{'}, "type", "object")
	if len(q.fields) > 0 {
		o = kit.AppendMember(o, `"properties"`, string(append(properties, '}')))
	}
	if len(required) > 0 {
		o = kit.AppendMember(o, `"required"`, string(agui.MustMarshal(required)))
	} else {
		o = kit.AppendMember(o, `"minProperties"`, "1")
	}
	return string(append(o, '}'))
}

func (f field) schema() []byte {
	o := []byte{'{'}
	switch f.Kind {
	case "confirm":
		o = kit.AppendText(o, "type", "boolean")
	case "text", "select":
		o = kit.AppendText(o, "type", "string")
	}
	if f.Kind == "text" && f.required {
		o = kit.AppendMember(o, `"minLength"`, "1")
	}
	if f.Kind == "select" && len(f.options) > 0 {
		o = kit.AppendMember(o, `"enum"`, string(agui.MustMarshal(f.options)))
	}
	if f.label != "" {
		o = kit.AppendText(o, "title", f.label)
	}
	return append(o, '}')
}

// cutLong returns the text unchanged if it has at most most bytes. Otherwise it returns the first
// most bytes and an ellipsis.
func cutLong(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// hash returns a hash of the texts, with 16 hex digits.
func hash(texts ...string) string {
	sum := sha256.Sum256(agui.MustMarshal(texts))
	return hex.EncodeToString(sum[:8])
}
