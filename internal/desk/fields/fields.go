// Package fields lays out the arguments of a call for a person: one field for each value, from the
// recorded bytes. A number keeps its digits, and a repeated key appears as often as it was sent.
// Parsing JSON into Go values would lose both.
//
// The package makes no decisions, and does not format: the page breaks the lines. Its cost is
// linear in the bytes, and its result is limited.
package fields

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/marks"
)

// A Kind is the kind of a value, which decides how it is best shown.
type Kind string

// The kinds. Empty is a text, an object or an array without content. Prose, Code and Diff are
// texts. Code is also a value that is nested too deep, or that is not JSON.
const (
	String  Kind = "string"
	Prose   Kind = "prose"
	Code    Kind = "code"
	Diff    Kind = "diff"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Null    Kind = "null"
	Empty   Kind = "empty"
	Object  Kind = "object"
	Array   Kind = "array"
)

// A Field is one value of the arguments. The fields within an object or an array follow it, one
// level deeper.
type Field struct {
	// Path is like items[0].price. Key is its last part: the key of a member, or "" for an element
	// of an array. Long ones are cut.
	Path  string `json:"path"`
	Key   string `json:"key,omitempty"`
	Depth int    `json:"depth"`
	Kind  Kind   `json:"kind"`
	// Text is the content of a text, the JSON of another value, or "" for an object or array whose
	// members are fields.
	Text string `json:"text"`
	// JSON means that Text is JSON as it was recorded, not the content of a text.
	JSON bool `json:"json,omitempty"`
	// Twice means that the object has the key more than once.
	Twice bool `json:"twice,omitempty"`
	// Salient means that the value is an amount or a count. Currency is the value of a currency
	// field beside it.
	Salient  bool   `json:"salient,omitempty"`
	Currency string `json:"currency,omitempty"`
	// Marks are parts of the text that are hidden or look like something else. KeyMarks are those
	// of Key.
	Marks    []marks.Mark `json:"marks,omitempty"`
	KeyMarks []marks.Mark `json:"keyMarks,omitempty"`
	// Truncated means that Text is only the beginning. Size is the size of the whole in bytes.
	Truncated bool `json:"truncated,omitempty"`
	Size      int  `json:"size"`
}

// Bounds limit a layout.
type Bounds struct {
	Fields int // maximum number of fields
	Text   int // bytes of text in one field
	All    int // bytes of text in all of them
}

// Whole is for a reader of one question, Line for a reader of a list.
var (
	Whole = Bounds{Fields: 400, Text: 100 << 10, All: 100 << 10}
	Line  = Bounds{Fields: 12, Text: 160, All: 1 << 10}
)

// A Layout is everything that is shown of the arguments.
type Layout struct {
	Fields []Field
	// Rest means that there are more fields, or more text of a field.
	Rest bool
	Text int // bytes of text in the fields
}

// deepest is the depth from which an object or an array is shown as JSON. Each level costs a pass
// over the bytes.
const deepest = 3

// maxKey is how many bytes of a key are shown.
const maxKey = 96

// Of returns the layout of arguments. Arguments that are not a JSON object are one field without a
// key.
func Of(args string, b Bounds) Layout {
	l := layout{bounds: b}
	switch {
	case args == "" || l.full():
	case !agui.ValidText(args):
		l.text("", "", 0, Code, args, false)
	case gjson.Parse(args).IsObject():
		l.members("", 0, strings.TrimSpace(args))
	default:
		l.value("", "", 0, strings.TrimSpace(args))
	}
	return l.Layout
}

type layout struct {
	Layout
	bounds Bounds
}

// full reports whether the layout has no room left, and notes that there is more.
func (l *layout) full() bool {
	full := len(l.Fields) >= l.bounds.Fields
	l.Rest = l.Rest || full
	return full
}

// members adds the members of an object, which is valid JSON.
func (l *layout) members(path string, depth int, object string) {
	times, currency := map[string]int{}, ""
	for m := agui.MembersIn(object); m.Next(); {
		name := textOf(m.Key)
		if times[name]++; currency == "" && isCurrency(name) && len(m.Value) < maxCurrency {
			currency = textOf(m.Value)
		}
	}
	for m := agui.MembersIn(object); m.Next(); {
		if l.full() {
			return
		}
		name, at := textOf(m.Key), len(l.Fields)
		key := cutText(name, maxKey)
		l.value(member(path, key), key, depth, m.Value)
		f := &l.Fields[at]
		f.Twice = times[name] > 1
		f.KeyMarks = marks.Find(key, marks.Identifier)
		if f.Salient = isAmount(name, f); f.Salient {
			f.Currency = currency
		}
	}
}

func (l *layout) elements(path string, depth int, array string) {
	n := 0
	gjson.Parse(array).ForEach(func(_, value gjson.Result) bool {
		if l.full() {
			return false
		}
		l.value(element(path, n), "", depth, value.Raw)
		n++
		return true
	})
}

// value adds one value, which is valid JSON.
func (l *layout) value(path, key string, depth int, raw string) {
	switch raw[0] {
	case '"':
		if text := textOf(raw); text == "" {
			l.text(path, key, depth, Empty, raw, true)
		} else {
			l.text(path, key, depth, kindOf(key, text), text, false)
		}
	case '{', '[':
		kind := Object
		if raw[0] == '[' {
			kind = Array
		}
		switch {
		case strings.TrimSpace(raw[1:len(raw)-1]) == "":
			l.text(path, key, depth, Empty, raw[:1]+raw[len(raw)-1:], true)
		case depth >= deepest:
			l.text(path, key, depth, Code, indentJSON(raw), true)
		default:
			l.Fields = append(l.Fields, Field{Path: path, Key: key, Depth: depth, Kind: kind, Size: len(raw)})
			if kind == Object {
				l.members(path, depth+1, raw)
			} else {
				l.elements(path, depth+1, raw)
			}
		}
	case 't', 'f':
		l.text(path, key, depth, Boolean, raw, true)
	case 'n':
		l.text(path, key, depth, Null, raw, true)
	default:
		l.text(path, key, depth, Number, raw, true)
	}
}

// text adds a field with as much of its text as there is room for.
func (l *layout) text(path, key string, depth int, kind Kind, text string, isJSON bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	f := Field{Path: path, Key: key, Depth: depth, Kind: kind, Text: text, JSON: isJSON, Size: len(text)}
	f.Marks = marks.Find(text, howOf(kind, text, isJSON))
	if room := min(l.bounds.Text, max(l.bounds.All-l.Text, 0)); len(text) > room {
		f.Text, f.Truncated, l.Rest = head(text, room), true, true
		f.Marks = marks.Before(f.Marks, utf8.RuneCountInString(f.Text))
	}
	l.Text += len(f.Text)
	l.Fields = append(l.Fields, f)
}

// howOf returns how to look for marks in a text. In a name, such as an address or an id, characters
// other than the letters of one script are suspicious too.
func howOf(kind Kind, text string, isJSON bool) marks.How {
	switch {
	case isJSON:
		return marks.JSON
	case kind == String && !strings.ContainsAny(text, " \t\n") && strings.ContainsFunc(text, isASCIILetter):
		return marks.Identifier
	}
	return marks.Text
}

func isASCIILetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

// indentJSON indents JSON without changing its tokens. It returns raw if indenting would cost more
// than it helps.
func indentJSON(raw string) string {
	if len(raw) <= short || len(raw) > judged {
		return raw
	}
	depth, deepest := 0, 0
	for _, c := range []byte(raw) {
		switch c { // brackets in texts count too, because this only bounds the size
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	var out bytes.Buffer
	if deepest > 16 || json.Indent(&out, []byte(raw), "", "  ") != nil {
		return raw
	}
	return out.String()
}

// textOf returns the content of a JSON string, or "" for any other value. Half of a surrogate pair
// becomes U+FFFD, without its neighbors.
func textOf(raw string) (text string) {
	if raw[0] != '"' {
		return ""
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return strings.ToValidUTF8(raw[1:len(raw)-1], "\uFFFD")
	}
	_ = json.Unmarshal([]byte(raw), &text) // raw is valid JSON
	return text
}

// head returns the first bytes of a text, up to the beginning of a character.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return head(text, most) + "…"
}
