package agno

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A kind is what agno wants for a call.
type kind string

const (
	confirm  kind = "confirm"
	input    kind = "input"
	feedback kind = "feedback"
	external kind = "external"
)

// The tools of agno's own toolkits, UserControlFlowTools and UserFeedbackTools.
const (
	getUserInput = "get_user_input"
	askUser      = "ask_user"
)

func (d *Dialect) kindOf(tool string) kind {
	switch {
	case tool == askUser:
		return feedback
	case tool == getUserInput, d.o.Input.Match(tool):
		return input
	case d.o.External.Match(tool):
		return external
	}
	return confirm
}

// kept is Interrupt.Private.
type kept struct {
	Kind kind   `json:"kind"`
	Call string `json:"call"`
	Tool string `json:"tool"`
	// Twice says that several calls of the turn have the id. agno gives all of them one answer.
	Twice bool `json:"twice,omitempty"`
}

// keptOfPause is Asked.Private: the calls of the turn that the client answers itself.
type keptOfPause struct {
	Clients []string `json:"clients,omitempty"`
}

func keptOf(i agui.Interrupt) (kept, bool) {
	var k kept
	ok := json.Unmarshal(i.Private, &k) == nil && k.Call != ""
	return k, ok
}

// The schemas of answers. A confirmation may have a note, which the model reads.
const (
	confirmSchema = `{"type":"object","properties":{"accepted":{"type":"boolean"},"note":{"type":"string"}},"required":["accepted"],"additionalProperties":false}`
)

// interrupt is the question of a call. twice says that another call of the turn has its id.
func interrupt(k kind, c agui.Call, twice bool) agui.Interrupt {
	args := gjson.Result{}
	if agui.ValidJSON([]byte(c.Args)) {
		args = gjson.Parse(c.Args)
	}
	reason, message, schema := "tool_call", fmt.Sprintf("The agent asks to call the tool %s.", c.Name), confirmSchema
	switch k {
	case input:
		reason, message, schema = "input_required", fmt.Sprintf("The agent wants input for the tool %s.", c.Name), inputSchema(c.Name, args)
	case feedback:
		reason, message, schema = "input_required", questions(args), feedbackSchema(args)
	case external:
		reason, message, schema = "input_required", fmt.Sprintf("The agent waits for the result of the tool %s.", c.Name), ""
	}
	o := kit.AppendText([]byte{'{'}, "reason", reason)
	o = kit.AppendText(kit.AppendText(o, "message", message), "toolCallId", c.ID)
	if schema != "" {
		o = kit.AppendMember(o, `"responseSchema"`, schema)
	}
	return agui.Interrupt{
		Native: c.ID, Object: append(o, '}'), Keys: []string{c.ID},
		Private: agui.MustMarshal(kept{Kind: k, Call: c.ID, Tool: c.Name, Twice: twice}),
	}
}

// inputSchema is that of {"values":{..}}. get_user_input says its fields; another tool has those of
// its arguments, and agno takes others too.
func inputSchema(tool string, args gjson.Result) string {
	fields := []byte{'{'}
	field := func(name, description string) {
		one := []byte{'{'}
		if description != "" {
			one = kit.AppendText(one, "description", description)
		}
		fields = kit.AppendMember(fields, string(agui.AppendString(nil, name)), string(append(one, '}')))
	}
	seen := map[string]bool{}
	if tool == getUserInput {
		for _, f := range args.Get("user_input_fields").Array() {
			if name := f.Get("field_name").Str; name != "" && !seen[name] {
				seen[name] = true
				field(name, f.Get("field_description").Str)
			}
		}
	} else {
		args.ForEach(func(k, _ gjson.Result) bool {
			if !seen[k.Str] {
				seen[k.Str] = true
				field(k.Str, "")
			}
			return true
		})
	}
	return `{"type":"object","properties":{"values":{"type":"object","properties":` + string(append(fields, '}')) + `}},"required":["values"],"additionalProperties":false}`
}

// feedbackSchema returns the schema of {"selections":{..}}: the labels that each question of
// ask_user offers. agno takes other labels too, but its own interfaces do not offer any.
func feedbackSchema(args gjson.Result) string {
	fields, required := []byte{'{'}, []byte{'['}
	seen := map[string]bool{}
	for _, q := range args.Get("questions").Array() {
		name := q.Get("question")
		if name.Type != gjson.String || seen[name.Str] {
			continue
		}
		seen[name.Str] = true
		key := string(agui.AppendString(nil, name.Str))
		fields = kit.AppendMember(fields, key, selectionSchema(q))
		if len(required) > 1 {
			required = append(required, ',')
		}
		required = append(required, key...)
	}
	selections := `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`
	if len(seen) > 0 {
		selections = `{"type":"object","properties":` + string(append(fields, '}')) + `,"required":` + string(append(required, ']')) + `,"additionalProperties":false}`
	}
	return `{"type":"object","properties":{"selections":` + selections + `},"required":["selections"],"additionalProperties":false}`
}

// selectionSchema returns the schema of the labels that a person chooses for one question.
func selectionSchema(question gjson.Result) string {
	labels, seen := []byte{'['}, map[string]bool{}
	for _, option := range question.Get("options").Array() {
		label := option.Get("label")
		if label.Type != gjson.String || seen[label.Str] {
			continue
		}
		seen[label.Str] = true
		if len(labels) > 1 {
			labels = append(labels, ',')
		}
		labels = agui.AppendString(labels, label.Str)
	}
	o := kit.AppendText([]byte{'{'}, "type", "array")
	if header := question.Get("header"); header.Type == gjson.String && header.Str != "" {
		o = kit.AppendText(o, "title", header.Str)
	}
	items := `{"type":"string"}`
	if len(seen) > 0 {
		items = `{"type":"string","enum":` + string(append(labels, ']')) + `}`
	}
	o = kit.AppendMember(o, `"items"`, items)
	if question.Get("multi_select").Type != gjson.True {
		o = kit.AppendMember(o, `"maxItems"`, "1")
	}
	return string(append(o, '}'))
}

// questions are the texts of ask_user.
func questions(args gjson.Result) string {
	text := ""
	for _, q := range args.Get("questions").Array() {
		if one := q.Get("question").Str; one != "" {
			if text != "" {
				text += "\n"
			}
			text += one
		}
	}
	if text == "" {
		return "The agent asks a question."
	}
	return text
}
