package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/fields"
	"holdpoint/internal/desk/marks"
	"holdpoint/internal/desk/statement"
)

// A sentItem is something that the agent has sent with a question, besides the message. It is only
// the agent's claim. Even if it has a name and arguments, they do not determine what runs after a
// yes.
type sentItem struct {
	Path string `json:"path"` // its path in the interrupt's metadata
	call
}

// addStatements adds to the question q what the agent has sent with it.
func addStatements(q *question, i *agui.Interrupt, r *space) {
	list, more := statement.Of(i)
	for _, s := range list {
		q.Grave = q.Grave || marks.IsGrave(s.Value, marks.JSON) || marks.IsGrave(s.Name, marks.Identifier)
		if q.IsShortened {
			continue
		}
		one := sentItem{Path: strings.ToValidUTF8(s.Path, "\uFFFD")}
		one.Name = strings.ToValidUTF8(s.Name, "\uFFFD")
		one.NameMarks = marks.Find(one.Name, marks.Identifier)
		laid := r.layout(s.Value)
		one.Fields, one.HasMoreFields, one.Size = laid.Fields, laid.HasMore, len(s.Value)
		if s.Name != "" && r.hasArguments {
			if arguments, ok := plainArguments(s.Value); ok {
				one.Arguments = arguments
			}
		}
		q.Statements = append(q.Statements, one)
	}
	if n := len(q.Statements); more && n > 0 {
		q.Statements[n-1].HasMoreFields = true
	}
}

// plainArguments returns the arguments if every parser reads them the same way: they are an object
// without repeated keys. Otherwise it returns false.
func plainArguments(text string) (json.RawMessage, bool) {
	c := callOf(&agui.AskedCall{Args: text})
	return c.Arguments, c.Arguments != nil
}

// isEditable reports whether a person can approve a question with edited arguments: the schema
// allows this, and the arguments that can be edited are known.
func isEditable(i *agui.Interrupt) bool {
	_, yes := agui.FormOfEdits(i.Schema())
	switch {
	case i.Yes == nil || yes == "" || len(i.Calls) > 1:
		return false
	case len(i.Calls) == 1:
		return callOf(&i.Calls[0]).Arguments != nil
	}
	named := 0
	list, _ := statement.Of(i)
	for _, s := range list {
		if s.Name == "" {
			continue
		}
		if _, ok := plainArguments(s.Value); !ok {
			return false
		}
		named++
	}
	return named == 1
}

// editedArguments returns the arguments in an edited approval of a call. tool is the name of the
// call's tool, or "" if unknown. It reads editedArgs, and the forms of LangChain and Agent Inbox.
// It returns "" if there are no arguments, if they are for another tool, or if they are in several
// places, because backends differ in which place they use.
func editedArguments(payload []byte, tool string) string {
	answer := gjson.ParseBytes(payload)
	parts := []gjson.Result{answer}
	for _, list := range append(membersOf(answer, "decisions"), answer) {
		if !list.IsArray() {
			continue
		}
		decisions := list.Array()
		if len(decisions) != 1 {
			return ""
		}
		parts = append(parts, decisions[0])
	}
	var found []gjson.Result
	for _, part := range parts {
		found = append(found, membersOf(part, "editedArgs")...)
		actions := membersOf(part, "editedAction")
		if part.Get("type").Str == "edit" {
			actions = append(actions, membersOf(part, "args")...)
		}
		for _, action := range actions {
			for _, name := range append(membersOf(action, "name"), membersOf(action, "action")...) {
				if tool != "" && name.Str != tool {
					return ""
				}
			}
			found = append(found, membersOf(action, "args")...)
			found = append(found, membersOf(action, "arguments")...)
		}
	}
	if len(found) != 1 || !found[0].IsObject() {
		return ""
	}
	return found[0].Raw
}

// membersOf returns the values of those members of an object whose name equals the parameter name
// in any spelling. It leaves out nulls.
func membersOf(object gjson.Result, name string) (list []gjson.Result) {
	if !object.IsObject() {
		return nil
	}
	object.ForEach(func(key, value gjson.Result) bool {
		if value.Type != gjson.Null && agui.SameKey(key.Str, name) {
			list = append(list, value)
		}
		return true
	})
	return list
}

// An edit has the arguments that replace the question's arguments.
type edit struct {
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Fields    []fields.Field  `json:"fields,omitempty"`
}

// editOf returns the arguments of an edited approval. It returns an empty edit if edited is false,
// or if there are several tools.
func editOf(edited bool, payload json.RawMessage, tools []string, r *space) (e edit) {
	if !edited || len(tools) > 1 {
		return e
	}
	raw := editedArguments(payload, strings.Join(tools, ""))
	if raw == "" {
		return e
	}
	e.Fields = r.layout(raw).Fields
	if r.hasArguments {
		e.Arguments, _ = plainArguments(raw)
	}
	return e
}

// serveSentFile serves GET /v1/approvals/{id}/sent/{question}: the recorded metadata that the agent
// has sent with a question, as a file.
func (d *Desk) serveSentFile(w http.ResponseWriter, req *http.Request) {
	if i, ok := d.readQuestion(w, req); ok {
		serveFile(w, "sent.txt", statement.Text(i))
	}
}
