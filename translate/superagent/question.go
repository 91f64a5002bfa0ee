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
	// maxMessage bounds the message of an interrupt, and maxReason bounds the reason in its metadata.
	// The reason is the model's whole answer, and is in the conversation too.
	maxMessage = 8 << 10
	maxReason  = 64 << 10
)

// A question is a question of the server.
type question struct {
	raw        json.RawMessage // the server's JSON
	reason     string          // the text of the question
	checkpoint string
	fields     []field
	askedAt    int64 // Unix seconds, 0 if unknown
}

// A field of the answer.
type field struct {
	Name     string `json:"name"`
	Kind     string `json:"type,omitempty"`
	label    string
	required bool
	options  []string
}

func (f field) confirms() bool { return f.Kind == "confirm" }

// questionState is the JSON of Interrupt.Private.
type questionState struct {
	Fields []field `json:"fields"`
}

func keptOf(p agui.Pause) (questionState, bool) {
	var k questionState
	ok := p.Dialect == Name && len(p.Interrupts) == 1 && json.Unmarshal(p.Interrupts[0].Private, &k) == nil
	return k, ok
}

// confirms reports whether the question has a single field, which is a yes or a no.
func (k questionState) confirms() bool { return len(k.Fields) == 1 && k.Fields[0].confirms() }

// denial returns the input that means no, or nil if the question has no field for it.
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

// readQuestion reads a state, or the data of an interrupt event. Both have reason and fields.
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
		seen := map[string]bool{} // an enum has no equal values
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

// readInterrupt reads an interrupt event. It returns nil if the event cannot be read. The reason of
// a real event is the JSON text of the whole state. Its fields are not used, because the server
// does not find them again in that state. A documented event has its reason and fields itself.
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

// readState reads the JSON text of a state. A state has a session_id.
func readState(b []byte) (state gjson.Result, ok bool) {
	if !agui.ValidJSON(b) {
		return state, false
	}
	state = gjson.ParseBytes(b)
	return state, state.IsObject() && state.Get("session_id").Str != ""
}

// interrupt returns the question as the client's Interrupt.
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

// native returns the checkpoint_id. Questions of the documented A2UI event and of TurnLoop agents
// have none, so for these it returns a hash.
func (q *question) native(agent, thread string) string {
	if q.checkpoint != "" {
		return agui.Shorten(q.checkpoint)
	}
	return hash(agent, thread, strconv.FormatInt(q.askedAt, 10), q.reason)
}

// schema returns a schema with a property for each field. It does not allow an empty text for a
// required field.
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

// cutLong returns at most the first most bytes of a text.
func cutLong(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// hash returns a short hash of some texts.
func hash(texts ...string) string {
	sum := sha256.Sum256(agui.MustMarshal(texts))
	return hex.EncodeToString(sum[:8])
}
