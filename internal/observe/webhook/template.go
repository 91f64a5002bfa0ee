package webhook

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode"

	"holdpoint/internal/event"
)

// A Value is text that somebody else wrote: an agent, a client, a backend. A template prints it
// through a function only. Printed as it is, it is the word unescaped, whatever function of
// text/template it goes through, and the body is refused. It is a slice, so that if reports whether
// there is any text.
type Value []piece

type piece struct{ text string }

// unescaped stands for a value that was printed as it is. It has letters and digits only, so that
// nothing escapes it. It is random, because whoever knows it could put it into a thread id and have
// every body refused.
var unescaped = "HOLDPOINTVALUE" + rand.Text()

// Format prints the word unescaped.
func (Value) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(unescaped)) }

// Format prints the word unescaped.
func (piece) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(unescaped)) }

func valueOf(text string) Value {
	if text == "" {
		return nil
	}
	return Value{{text}}
}

func (v Value) text() string {
	if len(v) == 0 {
		return ""
	}
	return v[0].text
}

// View is what a template sees of an event. The strings are Holdpoint's own words.
type View struct {
	Kind string // interrupt.raised, ...
	What string // the same in a few words
	Time string // RFC 3339, in UTC
	ID   string // the webhook-id

	Agent, Tenant, Thread, Run, Pause, Dialect, Principal, Code Value
	Approval, Link                                              Value

	Interrupts []QuestionView
	More       int
}

// QuestionView is one question of a View.
type QuestionView struct {
	ID, Reason, Message, Calls, Payload, By, Link Value

	Tools        []Value
	Status, Says string
	Edited       bool
}

// Words for the kinds.
var words = map[event.Kind]string{
	event.Raised:    "A question waits for an answer",
	event.Resolved:  "A question was answered",
	event.Cancelled: "A question was cancelled",
	event.Expired:   "A question has expired",
	event.Lost:      "The agent does not know a question any more",
	event.Withdrawn: "The agent went on without an answer",
	event.Retired:   "Nobody answered a question in time",
	event.InDoubt:   "Nobody knows whether the agent has acted on an answer",
	event.Claimed:   "An answer goes to the agent",
	event.Released:  "An answer did not reach the agent, and its question waits again",
}

func viewOf(id string, b *Body) *View {
	d := &b.Data
	v := &View{
		Kind: string(b.Type), What: words[b.Type], Time: b.Timestamp.UTC().Format(time.RFC3339), ID: id,
		Agent: valueOf(d.Agent), Tenant: valueOf(d.Tenant), Thread: valueOf(d.Thread), Run: valueOf(d.Run), Pause: valueOf(d.Pause),
		Dialect: valueOf(d.Dialect), Principal: valueOf(d.Principal), Code: valueOf(d.Code), More: d.More,
		Approval: valueOf(d.Approval), Link: valueOf(d.Link),
	}
	for _, q := range d.Interrupts {
		view := QuestionView{
			ID: valueOf(q.ID), Reason: valueOf(q.Reason), Message: valueOf(q.Message),
			Calls: valueOf(string(q.Calls)), Payload: valueOf(string(q.Payload)), Status: q.Status, Says: q.Says,
			By: valueOf(q.By), Link: valueOf(q.Link), Edited: q.Edited,
		}
		for _, t := range q.Tools {
			view.Tools = append(view.Tools, valueOf(t))
		}
		v.Interrupts = append(v.Interrupts, view)
	}
	return v
}

// functions are what a template has beside text/template's own.
var functions = template.FuncMap{
	// json is a JSON string with its quotes.
	"json": func(v any) (string, error) {
		text, err := textOf(v)
		return string(quoted(text)), err
	},
	// in is a value within a JSON string.
	"in": func(v any) (string, error) {
		text, err := textOf(v)
		return within(text), err
	},
	// slack is a value within a JSON string that Slack reads as mrkdwn.
	// https://api.slack.com/reference/surfaces/formatting#escaping
	"slack": func(v any) (string, error) {
		text, err := textOf(v)
		return within(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)), err
	},
	// short is a value of at most so many bytes, and "..." behind it if some are left out.
	"short": func(most int, v Value) Value { return valueOf(short(most, v.text())) },
	// is compares a value with a text.
	"is": func(v Value, text string) bool { return v.text() == text },
}

func short(most int, text string) string {
	if most < 0 || len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// textOf returns the visible text of a value.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case Value:
		return visible(v.text()), nil
	case piece:
		return visible(v.text), nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("webhook: %T is no text", v)
}

// visible has U+FFFD in place of what is not seen and changes how the rest is: control characters,
// and those of format, such as the overrides of direction. Line breaks and tabs stay.
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
		return []byte(`""`) // a string can always be written
	}
	return b
}

func within(text string) string {
	b := quoted(text)
	return string(b[1 : len(b)-1])
}

// A Template makes bodies.
type Template struct{ parsed *template.Template }

// ParseTemplate reads a template, and tries it on one event of each kind.
func ParseTemplate(text string) (*Template, error) {
	parsed, err := template.New("webhook").Funcs(functions).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	t := &Template{parsed}
	for _, kind := range Kinds() {
		const text = "\"a\\ <b>"
		b := Body{Type: kind, Data: Data{
			Agent: text, Tenant: text, Thread: text, Run: text, Pause: text, Dialect: text, Principal: text, Code: text, Approval: text, Link: text,
			Interrupts: []Question{{ID: text, Reason: text, Tools: []string{text, text}, Message: text, Calls: quoted(text), Payload: quoted(text), By: text, Link: text}, {ID: text}},
			More:       1,
		}}
		for _, b := range []Body{b, {Type: kind}} {
			if _, err := t.body("evt_0", &b); err != nil {
				return nil, fmt.Errorf("of an event %s: %w", kind, err)
			}
		}
	}
	return t, nil
}

// Errors of a template whose body is not sent.
var (
	errUnescaped = errors.New("a value is printed without json, in or slack")
	errNoJSON    = errors.New("what comes out is no JSON")
	errTooLong   = errors.New("what comes out is larger than 256 KiB")
)

const maxBody = 256 << 10

// body returns what the template makes of an event.
func (t *Template) body(id string, b *Body) ([]byte, error) {
	var out bounded
	if err := t.parsed.Execute(&out, viewOf(id, b)); err != nil {
		return nil, err
	}
	switch {
	case bytes.Contains(out.Bytes(), []byte(unescaped)):
		return nil, errUnescaped
	case !json.Valid(out.Bytes()):
		return nil, errNoJSON
	}
	return out.Bytes(), nil
}

// bounded is a buffer that takes no more than maxBody.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxBody {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}
