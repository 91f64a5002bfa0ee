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

// A Value is a text from an agent, a client or a backend. A template can print it through an
// escaping function only.
type Value string

// words describes each kind in a sentence, for templates.
var words = map[event.Kind]string{
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

// viewOf returns the data of the template for an event. Values of type string are Holdpoint's own
// texts. docs/webhook.md lists the fields.
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
		"Kind": string(b.Type), "What": words[b.Type], "Time": b.Timestamp.UTC().Format(time.RFC3339), "ID": id,
		"Agent": Value(d.Agent), "Tenant": Value(d.Tenant), "Thread": Value(d.Thread), "Run": Value(d.Run), "Pause": Value(d.Pause),
		"Dialect": Value(d.Dialect), "Principal": Value(d.Principal), "Code": Value(d.Code),
		"Approval": Value(d.Approval), "Link": Value(d.Link), "Interrupts": questions, "More": d.More,
	}
}

// own are the functions that escape or compare Values.
var own = map[string]function{
	// json returns a Value as a JSON string with its quotes.
	"json": one(func(v any) (any, error) {
		text, err := textOf(v)
		return string(quoted(text)), err
	}),
	// in escapes a Value for use within a JSON string.
	"in": one(func(v any) (any, error) {
		text, err := textOf(v)
		return within(text), err
	}),
	// slack escapes a Value for use within a JSON string that Slack reads as mrkdwn.
	// https://api.slack.com/reference/surfaces/formatting#escaping
	"slack": one(func(v any) (any, error) {
		text, err := textOf(v)
		return within(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)), err
	}),
	// short cuts a Value after a number of bytes, and adds "..." if something was cut.
	"short": two(func(most int, v Value) any { return Value(short(most, string(v))) }),
	// is reports whether a Value equals a text.
	"is": two(func(v Value, text string) any { return string(v) == text }),
}

func short(most int, text string) string {
	if most < 0 || len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// textOf returns the visible text of a value, or an error if it is not a text.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case Value:
		return visible(string(v)), nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf(textWantText, nameOf(v))
}

// visible replaces invisible characters that change how the text is displayed by U+FFFD: control
// characters and format characters, such as those that override the direction. Line breaks and tabs
// stay.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

func quoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // cannot happen: a string can be marshalled
	}
	return b
}

func within(text string) string {
	b := quoted(text)
	return string(b[1 : len(b)-1])
}

// A Template makes the body of a notice.
type Template struct{ trees map[string]*parse.Tree }

// root is the name of the template that consists of the file's text.
const root = "webhook"

// ParseTemplate parses a template, and executes it for an example of each kind of event to find
// errors.
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
			Interrupts: []Question{{ID: text, Reason: text, Tools: []string{text, text}, Message: text, Calls: quoted(text), Payload: quoted(text), By: text, Link: text}, {ID: text}},
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
	trees, err := parse.Parse(root, text, "", "", names(own), names(general), lazy)
	if err == nil && trees[root] == nil { // the file has definitions only
		err = errNoJSON
	}
	return trees, err
}

// Errors of a template. Its output is not sent then.
var (
	errUnescaped = errors.New(textUnescaped)
	errNoJSON    = errors.New(textNotJSON)
	errTooLong   = errors.New(textTooLong)
)

const maxBody = 256 << 10

// body executes the template for an event.
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

// boundedBuffer is a buffer with at most maxBody bytes.
type boundedBuffer struct{ bytes.Buffer }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxBody {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
