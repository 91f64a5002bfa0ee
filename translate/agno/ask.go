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
	confirmSchema  = `{"type":"object","properties":{"accepted":{"type":"boolean"},"note":{"type":"string"}},"required":["accepted"],"additionalProperties":false}`
	feedbackSchema = `{"type":"object","properties":{"selections":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}},"required":["selections"],"additionalProperties":false}`
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
		reason, message, schema = "input_required", questions(args), feedbackSchema
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
