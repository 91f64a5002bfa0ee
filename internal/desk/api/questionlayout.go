package api

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/fields"
	"holdpoint/internal/desk/marks"
)

// A kind is the way in which a person answers a question.
type kind string

// kindTool: by a yes or a no, because the question is about calls, or its payload for a yes is
// known. kindText: by any text. kindChoice: by one of a few values. kindForm: by a value that the
// schema describes.
const (
	kindTool   kind = "tool"
	kindText   kind = "text"
	kindChoice kind = "choice"
	kindForm   kind = "form"
)

// A choice is one of the values that a question accepts.
type choice struct {
	Value jsonText     `json:"value"`
	Text  string       `json:"text"`
	Marks []marks.Mark `json:"marks,omitempty"`
}

// A jsonText is JSON that is sent in its original bytes.
type jsonText string

// MarshalJSON implements json.Marshaler.
func (t jsonText) MarshalJSON() ([]byte, error) { return []byte(t), nil }

// Limits of the choices of a question. If a question has more choices, or longer ones, its kind is
// kindForm.
const (
	maxChoices    = 50
	maxChoiceText = 500
)

// A space is the space that remains for the fields of one approval's questions.
type space struct {
	call         fields.Bounds
	fields, text int
	hasArguments bool // the arguments are also returned in full
}

// spaceFor returns the space for an approval. In a list, this is about one line for each question.
func spaceFor(forList bool) *space {
	if forList {
		return spaceForLines(false)
	}
	return &space{call: fields.QuestionBounds, fields: 10 * fields.QuestionBounds.Fields, text: 10 * fields.QuestionBounds.TotalText, hasArguments: true}
}

// spaceForEnd returns the space for an end: about one line for each edit, together with the
// complete arguments.
func spaceForEnd() *space { return spaceForLines(true) }

// spaceForLines returns the space for about one line for each question. hasArguments says that the
// arguments are also returned in full.
func spaceForLines(whole bool) *space {
	return &space{call: fields.LineBounds, fields: 4 * fields.LineBounds.Fields, text: 4 * fields.LineBounds.TotalText, hasArguments: whole}
}

// layout returns the fields of one call's arguments, as far as the room has space, and takes this
// space from the room.
func (r *space) layout(args string) fields.Layout {
	b := r.call
	b.Fields, b.TotalText = min(b.Fields, r.fields), min(b.TotalText, r.text)
	l := fields.Of(args, b)
	r.fields -= len(l.Fields)
	r.text -= l.Text
	return l
}

// layOutQuestion sets the kind, the choices and the fields of a question.
func layOutQuestion(q *question, i *agui.Interrupt, r *space) {
	q.Kind = kindForm
	switch schema := gjson.GetBytes(i.Object, "responseSchema"); {
	case len(i.Calls) > 0 || i.Yes != nil:
		q.Kind = kindTool
	case isText(schema):
		q.Kind = kindText
	default:
		if list := choicesOf(schema); len(list) > 0 {
			q.Kind, q.Choices = kindChoice, list
		}
	}
	if q.IsShortened {
		q.Choices = nil
	}
	for n := range i.Calls {
		laid := r.layout(i.Calls[n].Args)
		c := &q.Calls[n]
		c.Fields, c.HasMoreFields, c.Size = laid.Fields, laid.HasMore, len(i.Calls[n].Args)
		c.NameMarks = marks.Find(c.Name, marks.Identifier)
	}
	if q.Message = strings.ToValidUTF8(q.Message, "\uFFFD"); q.Message != "" {
		q.MessageMarks = marks.Find(q.Message, marks.Text)
	}
	if d := q.Decision; d != nil {
		d.CommentMarks = marks.Find(d.Comment, marks.Text)
		d.edit = editOf(d.Edited, d.Payload, tools(i), r)
	}
	q.Grave = isGrave(q, i)
	addStatements(q, i, r)
}

// isGrave reports whether any part of a question is invisible or looks like something else. It also
// checks the parts that are not shown as fields.
func isGrave(q *question, i *agui.Interrupt) bool {
	if marks.IsGrave(gjson.GetBytes(i.Object, "message").Str, marks.Text) {
		return true
	}
	for _, c := range q.Choices {
		if marks.AnyGrave(c.Marks) {
			return true
		}
	}
	for n, c := range q.Calls {
		if marks.AnyGrave(c.NameMarks) || marks.IsGrave(i.Calls[n].Args, marks.JSON) {
			return true
		}
		for _, f := range c.Fields {
			if marks.AnyGrave(f.Marks) || marks.AnyGrave(f.KeyMarks) {
				return true
			}
		}
	}
	return false
}

// isText reports whether a schema accepts every text, and only texts.
func isText(schema gjson.Result) bool {
	if !schema.IsObject() {
		return true // without a schema, any answer is valid
	}
	free := schema.Get("type").Str == "string"
	schema.ForEach(func(key, _ gjson.Result) bool {
		switch key.Str {
		case "type", "title", "description", "minLength", "maxLength", "default", "examples", "$schema", "$id":
		default:
			free = false
		}
		return free
	})
	return free
}

// choicesOf returns the values that a schema lists, or nil if it lists no values or too many.
func choicesOf(schema gjson.Result) (list []choice) {
	add := func(value gjson.Result, text string) bool {
		text = cmp.Or(text, value.Str)
		if value.Type != gjson.String && text == "" {
			text = value.Raw
		}
		if len(list) == maxChoices || len(text) > maxChoiceText || !utf8.ValidString(value.Raw) || value.IsObject() || value.IsArray() {
			list = nil
			return false
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
		list = append(list, choice{jsonText(value.Raw), text, marks.Find(text, marks.Text)})
		return true
	}
	if values := schema.Get("enum"); values.IsArray() {
		values.ForEach(func(_, value gjson.Result) bool { return add(value, "") })
		return list
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		parts := schema.Get(name)
		if !parts.IsArray() {
			continue
		}
		parts.ForEach(func(_, part gjson.Result) bool {
			value := part.Get("const")
			if !value.Exists() {
				list = nil
				return false
			}
			return add(value, part.Get("title").Str)
		})
		return list
	}
	if schema.Get("type").Str == "boolean" {
		return []choice{{Value: "true", Text: "true"}, {Value: "false", Text: "false"}}
	}
	return nil
}

// serveRaw serves GET /v1/approvals/{id}/raw/{question}/{call}: the recorded arguments of a call as
// a file. A browser does not run anything in that file.
func (d *Desk) serveRaw(w http.ResponseWriter, req *http.Request) {
	i, ok := d.readQuestion(w, req)
	if !ok {
		return
	}
	n, err := strconv.Atoi(req.PathValue("call"))
	if err != nil || n < 0 || n >= len(i.Calls) {
		refuse(w, http.StatusNotFound, codeNoCall, textNoCall)
		return
	}
	serveFile(w, "arguments.txt", i.Calls[n].Args)
}

// readQuestion returns the question that the path names, if the caller may read it. If not, it
// responds to the request with an error and returns false.
func (d *Desk) readQuestion(w http.ResponseWriter, req *http.Request) (*agui.Interrupt, bool) {
	key, pauseID, ok := pauseOfPath(w, req)
	if !ok {
		return nil, false
	}
	rec, err := d.load(req.Context(), key)
	if err != nil {
		d.refuseStore(w, err)
		return nil, false
	}
	p := rec.PauseByID(pauseID)
	if p == nil {
		refuseNoApproval(w)
		return nil, false
	}
	if !mayRead(w, callerIn(req.Context()), &rec) {
		return nil, false
	}
	i := p.Interrupt(req.PathValue("question"))
	if i == nil {
		refuse(w, http.StatusNotFound, codeNoQuestion, textNoQuestion)
		return nil, false
	}
	return i, true
}

func serveFile(w http.ResponseWriter, name, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write([]byte(text)) // fails only if the caller has left
}
