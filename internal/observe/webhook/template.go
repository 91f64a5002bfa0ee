package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template/parse"
	"time"
	"unicode"

	"holdpoint/internal/event"
)

// A Value is a text that comes from an agent, a client or a backend. A template can print it only
// through an escaping function.
type Value string

// sentences contains a sentence about each kind of event, for templates.
var sentences = map[event.Kind]string{
	event.Raised:    saysOpened,
	event.Resolved:  saysAnswered,
	event.Cancelled: saysCancelled,
	event.Expired:   saysExpired,
	event.Lost:      saysLost,
	event.Withdrawn: saysWithdrawn,
	event.Retired:   saysUnanswered,
	event.InDoubt:   saysInDoubt,
	event.Claimed:   saysCarried,
	event.Released:  saysReopened,
}

// viewOf returns the data that a template gets for an event. A value of type string is a text of
// Holdpoint's own, which needs no escaping. docs/webhook.md lists the fields.
func viewOf(id string, b *Body) map[string]any {
	d := &b.Data
	questions := make([]any, len(d.Interrupts))
	for i, q := range d.Interrupts {
		tools := make([]any, len(q.Tools))
		for n, t := range q.Tools {
			tools[n] = Value(t)
		}
		questions[i] = map[string]any{
			"ID": Value(q.ID), "Reason": Value(q.Reason), "Message": Value(q.Message), "Calls": Value(q.Calls), "Payload": Value(q.Payload),
			"By": Value(q.By), "Link": Value(q.Link), "Tools": tools, "Status": q.Status, "Says": q.Says, "Edited": q.Edited,
		}
	}
	return map[string]any{
		"Kind": string(b.Type), "What": sentences[b.Type], "Time": b.Timestamp.UTC().Format(time.RFC3339), "ID": id,
		"Agent": Value(d.Agent), "Tenant": Value(d.Tenant), "Thread": Value(d.Thread), "Run": Value(d.Run), "Pause": Value(d.Pause),
		"Dialect": Value(d.Dialect), "Principal": Value(d.Principal), "Code": Value(d.Code),
		"Approval": Value(d.Approval), "Link": Value(d.Link), "Interrupts": questions, "More": d.More,
	}
}

// escapeFunctions are the functions that escape or compare Values.
var escapeFunctions = map[string]function{
	// json returns a text or a Value as a JSON string with its quotes.
	"json": unary(func(v any) (any, error) {
		text, err := textOf(v)
		return string(jsonQuoted(text)), err
	}),
	// in escapes a text or a Value for use inside a JSON string.
	"in": unary(func(v any) (any, error) {
		text, err := textOf(v)
		return jsonContent(text), err
	}),
	// slack escapes a text or a Value for use inside a JSON string that Slack reads as mrkdwn.
	// https://api.slack.com/reference/surfaces/formatting#escaping
	"slack": unary(func(v any) (any, error) {
		text, err := textOf(v)
		return jsonContent(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)), err
	}),
	// short shortens a Value to a number of bytes. It adds "..." to a Value that was longer.
	"short": binary(func(most int, v Value) any { return Value(shorten(most, string(v))) }),
	// is reports whether a Value equals a text.
	"is": binary(func(v Value, text string) any { return string(v) == text }),
}

func shorten(limit int, text string) string {
	if limit < 0 || len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}

// textOf returns the text of a value, or an error if the value is not a text. In a Value it
// replaces invisible characters, see visible.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case Value:
		return replaceInvisible(string(v)), nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf(textWantText, nameOf(v))
}

// replaceInvisible replaces invisible characters by U+FFFD if they change how the text is
// displayed. These are control characters and format characters, such as those that reverse the
// direction of the text. Line breaks and tabs stay.
func replaceInvisible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

func jsonQuoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // cannot happen: any string can be marshalled
	}
	return b
}

func jsonContent(text string) string {
	b := jsonQuoted(text)
	return string(b[1 : len(b)-1])
}

// A Template makes the body of a notice.
type Template struct{ trees map[string]*parse.Tree }

// root is the name of the template that consists of the whole text of the file.
const root = "webhook"

// ParseTemplate parses a template. To find errors, it also executes the template with an example of
// each kind of event.
func ParseTemplate(text string) (*Template, error) {
	trees, err := treesOf(text)
	if err != nil {
		return nil, err
	}
	t := &Template{trees}
	for _, kind := range Kinds() {
		const text = "\"a\\ <b>"
		b := Body{Type: kind, Data: Data{
			Agent: text, Tenant: text, Thread: text, Run: text, Pause: text, Dialect: text, Principal: text, Code: text, Approval: text, Link: text,
			Interrupts: []Question{{ID: text, Reason: text, Tools: []string{text, text}, Message: text, Calls: jsonQuoted(text), Payload: jsonQuoted(text), By: text, Link: text}, {ID: text}},
			More:       1,
		}}
		for _, b := range []Body{b, {Type: kind}} {
			if _, err := t.body("evt_0", &b); err != nil {
				return nil, fmt.Errorf(textOfEvent, kind, err)
			}
		}
	}
	return t, nil
}

func treesOf(text string) (map[string]*parse.Tree, error) {
	trees, err := parse.Parse(root, text, "", "", names(escapeFunctions), names(generalFunctions), lazyFunctions)
	if err == nil && trees[root] == nil { // the file contains only definitions of other templates
		err = errNoJSON
	}
	return trees, err
}

// These are the errors of a template. If one occurs, the template's output is not sent.
var (
	errUnescaped = errors.New(textUnescaped)
	errNoJSON    = errors.New(textNotJSON)
	errTooLong   = errors.New(textTooLong)
)

const maxBody = 256 << 10

// body executes the template for an event, and returns its output. id is the id of the notice.
func (t *Template) body(id string, b *Body) ([]byte, error) {
	var out boundedBuffer
	if err := execute(&out, t.trees, viewOf(id, b)); err != nil {
		return nil, err
	}
	if !json.Valid(out.Bytes()) {
		return nil, errNoJSON
	}
	return out.Bytes(), nil
}

// boundedBuffer is a buffer that accepts at most maxBody bytes. A Write beyond that returns
// errTooLong.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxBody {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
