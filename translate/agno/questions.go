package agno

import (
	"fmt"
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// The tools of agno's toolkits UserControlFlowTools and UserFeedbackTools. They are recognized by
// their names.
const (
	getUserInput = "get_user_input"
	askUser      = "ask_user"
)

// confirmSchema is the responseSchema of a confirmation. The model reads the note.
const confirmSchema = `{"type":"object","properties":{"accepted":{"type":"boolean"},"note":{"type":"string"}},"required":["accepted"],"additionalProperties":false}`

type kind = calls.Kind

var inputWords = &calls.Words{Key: "values", Is: gjson.Result.IsObject}

// The kinds of questions. fields is like input, but for agno's own tool get_user_input, which has
// no result of its own.
var (
	confirm = &kind{
		Name: "confirm", Words: &calls.Words{Key: "accepted", Aliases: []string{"approved", "confirmed"}, Extra: "note", ExtraIs: isText},
		Wrong: wants(`{"accepted":true} or {"accepted":false,"note":".."}`), Cancel: `{"accepted":false,"cancelled":true}`, Results: calls.Denials,
	}
	input    = &kind{Name: "input", Words: inputWords, Wrong: wants(`{"values":{..}}`), NoCancel: textNoCancel}
	fields   = &kind{Name: "fields", Words: inputWords, Wrong: wants(`{"values":{..}}`), NoCancel: textNoCancel, Results: calls.Always}
	feedback = &kind{Name: "feedback", Words: &calls.Words{Key: "selections", Is: isSelection}, Wrong: wants(`{"selections":{"question":["label"]}}`), NoCancel: textNoCancel, Results: calls.Always}
	external = &kind{Name: "external", Value: result, Cancel: `{"cancelled":true}`, Results: calls.Always}
)

func wants(form string) string { return textWrong + form }

func isText(v gjson.Result) bool { return v.Type == gjson.String }

func isSelection(v gjson.Result) bool {
	if !v.IsObject() {
		return false
	}
	ok := true
	v.ForEach(func(_, labels gjson.Result) bool {
		ok = labels.IsArray()
		return ok
	})
	return ok
}

// result returns the content of the message with the result of an external execution. A string is
// sent as it is, and any other value as JSON. A string that is itself valid JSON is sent quoted.
func result(_ calls.PrivateState, a agui.Answer) (string, error) {
	value := gjson.ParseBytes(a.Payload)
	switch {
	case !value.Exists():
		return "null", nil
	case value.Type == gjson.String && !agui.ValidJSON([]byte(value.Str)):
		return value.Str, nil
	}
	return string(agui.AppendCompact(nil, a.Payload)), nil
}

// question returns the question that the call asks.
func (d *Dialect) question(c agui.Call) calls.Question {
	args := gjson.Result{}
	if agui.ValidJSON([]byte(c.Args)) {
		args = gjson.Parse(c.Args)
	}
	q := calls.Question{Kind: confirm, Reason: "input_required", Call: c.ID}
	switch {
	case c.Name == askUser:
		q.Kind, q.Message, q.Schema = feedback, questions(args), feedbackSchema(args)
	case c.Name == getUserInput, d.o.Input.Match(c.Name):
		if q.Kind = input; c.Name == getUserInput {
			q.Kind = fields
		}
		q.Message, q.Schema = fmt.Sprintf(askInput, c.Name), inputSchema(c.Name, args)
	case d.o.External.Match(c.Name):
		q.Kind, q.Message = external, calls.WaitsFor(c.Name)
	default:
		q.Reason, q.Message, q.Schema, q.Runs = "tool_call", calls.AsksToCall(c.Name), confirmSchema, c.ID
	}
	return q
}

// inputSchema returns the schema of the payload {"values":{..}}. For get_user_input the keys of
// values are the fields that its arguments list. For another tool they are the tool's arguments.
// agno accepts further keys.
func inputSchema(tool string, args gjson.Result) string {
	list := []byte{'{'}
	field := func(name, description string) {
		one := []byte{'{'}
		if description != "" {
			one = kit.AppendText(one, "description", description)
		}
		list = kit.AppendMember(list, string(agui.AppendString(nil, name)), string(append(one, '}')))
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
	return `{"type":"object","properties":{"values":{"type":"object","properties":` + string(append(list, '}')) + `}},"required":["values"],"additionalProperties":false}`
}

// feedbackSchema returns the schema of the payload {"selections":{..}}. It offers the labels of
// each question of ask_user. agno accepts other labels too, but its own interfaces do not offer
// any.
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
		required = kit.AppendElement(required, key)
	}
	selections := `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`
	if len(seen) > 0 {
		selections = `{"type":"object","properties":` + string(append(fields, '}')) + `,"required":` + string(append(required, ']')) + `,"additionalProperties":false}`
	}
	return `{"type":"object","properties":{"selections":` + selections + `},"required":["selections"],"additionalProperties":false}`
}

// selectionSchema returns the schema of the list of labels that a person selects for one question.
func selectionSchema(question gjson.Result) string {
	labels, seen := []byte{'['}, map[string]bool{}
	for _, option := range question.Get("options").Array() {
		label := option.Get("label")
		if label.Type != gjson.String || seen[label.Str] {
			continue
		}
		seen[label.Str] = true
		labels = kit.AppendElement(labels, agui.AppendString(nil, label.Str))
	}
	o := kit.AppendText([]byte{'{'}, "type", "array")
	if header := question.Get("header").Str; header != "" {
		o = kit.AppendText(o, "title", header)
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

// questions returns the texts of the questions of ask_user, one on each line.
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
		return askQuestion
	}
	return text
}
