// Package fields prepares the arguments of a call for a person: one field for each value, made from
// the recorded bytes. A number keeps its digits, and a repeated key appears as often as it was
// sent. Parsing JSON into Go values would lose both.
//
// The package makes no decisions, and does not format texts: the desk's page breaks the lines. Its
// cost is linear in the number of bytes, and the size of its result is limited.
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

// A Kind says what a value is. It decides how the value is best shown.
type Kind string

// The kinds of values. Empty is a text, an object or an array without content. Prose, Code and Diff
// are kinds of texts. A value that is nested too deep, or that is not JSON, has the kind Code too.
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

// A Field is one value of the arguments. If the value is an object or an array, the fields of its
// members follow, one level deeper.
type Field struct {
	// Path is the path of the value, such as items[0].price. Key is the last part of the path: the
	// key of a member, or "" for an element of an array. A long Path or Key is cut.
	Path  string `json:"path"`
	Key   string `json:"key,omitempty"`
	Depth int    `json:"depth"`
	Kind  Kind   `json:"kind"`
	// Text is the content of a text, or the JSON of another value. It is "" for an object or array
	// whose members are fields.
	Text string `json:"text"`
	// IsJSON means that Text is JSON as it was recorded, and not the content of a text.
	IsJSON bool `json:"json,omitempty"`
	// IsRepeated means that the object has this key more than once.
	IsRepeated bool `json:"twice,omitempty"`
	// IsSalient means that the value is an amount or a count. Currency is the value of a field with
	// its currency in the same object, or "".
	IsSalient bool   `json:"salient,omitempty"`
	Currency  string `json:"currency,omitempty"`
	// Marks has the parts of Text that are hidden or look like something else. KeyMarks has such
	// parts of Key.
	Marks    []marks.Mark `json:"marks,omitempty"`
	KeyMarks []marks.Mark `json:"keyMarks,omitempty"`
	// IsTruncated means that Text is only the beginning of the value. Size is the size of the whole
	// value in bytes.
	IsTruncated bool `json:"truncated,omitempty"`
	Size        int  `json:"size"`
}

// Bounds limit the size of a Layout.
type Bounds struct {
	Fields    int // largest number of fields
	Text      int // largest number of bytes of text in one field
	TotalText int // largest number of bytes of text in all fields
}

// QuestionBounds has the bounds for a person who reads one question, and LineBounds those for a
// person who reads a list.
var (
	QuestionBounds = Bounds{Fields: 400, Text: 100 << 10, TotalText: 100 << 10}
	LineBounds     = Bounds{Fields: 12, Text: 160, TotalText: 1 << 10}
)

// A Layout has everything that is shown of the arguments.
type Layout struct {
	Fields []Field
	// HasMore means that the arguments have more fields, or that a field has more text, than is shown.
	HasMore bool
	Text    int // number of bytes of text in the fields
}

// maxDepth is the depth from which on an object or an array is shown as JSON, without fields of its
// own. Each level of fields costs a pass over the bytes.
const maxDepth = 3

// maxKey is the largest number of bytes that are shown of a key.
const maxKey = 96

// Of returns the layout of arguments within the bounds b. Arguments that are not a JSON object
// become a single field without a key.
func Of(args string, b Bounds) Layout {
	l := layout{bounds: b}
	switch {
	case args == "" || l.isFull():
	case !agui.ValidText(args):
		l.addText("", "", 0, Code, args, false)
	case gjson.Parse(args).IsObject():
		l.addMembers("", 0, strings.TrimSpace(args))
	default:
		l.addValue("", "", 0, strings.TrimSpace(args))
	}
	return l.Layout
}

type layout struct {
	Layout
	bounds Bounds
}

// isFull reports whether the layout can have no more fields. If so, it sets HasMore.
func (l *layout) isFull() bool {
	full := len(l.Fields) >= l.bounds.Fields
	l.HasMore = l.HasMore || full
	return full
}

// addMembers adds a field for each member of an object, which must be valid JSON.
func (l *layout) addMembers(path string, depth int, object string) {
	times, currency := map[string]int{}, ""
	for m := agui.MembersIn(object); m.Next(); {
		name := textOf(m.Key)
		if times[name]++; currency == "" && isCurrency(name) && len(m.Value) < maxCurrency {
			currency = textOf(m.Value)
		}
	}
	for m := agui.MembersIn(object); m.Next(); {
		if l.isFull() {
			return
		}
		name, at := textOf(m.Key), len(l.Fields)
		key := cutText(name, maxKey)
		l.addValue(member(path, key), key, depth, m.Value)
		f := &l.Fields[at]
		f.IsRepeated = times[name] > 1
		f.KeyMarks = marks.Find(key, marks.Identifier)
		if f.IsSalient = isAmount(name, f); f.IsSalient {
			f.Currency = currency
		}
	}
}

func (l *layout) addElements(path string, depth int, array string) {
	n := 0
	gjson.Parse(array).ForEach(func(_, value gjson.Result) bool {
		if l.isFull() {
			return false
		}
		l.addValue(element(path, n), "", depth, value.Raw)
		n++
		return true
	})
}

// addValue adds the field of one value, which must be valid JSON.
func (l *layout) addValue(path, key string, depth int, raw string) {
	switch raw[0] {
	case '"':
		if text := textOf(raw); text == "" {
			l.addText(path, key, depth, Empty, raw, true)
		} else {
			l.addText(path, key, depth, kindOf(key, text), text, false)
		}
	case '{', '[':
		kind := Object
		if raw[0] == '[' {
			kind = Array
		}
		switch {
		case strings.TrimSpace(raw[1:len(raw)-1]) == "":
			l.addText(path, key, depth, Empty, raw[:1]+raw[len(raw)-1:], true)
		case depth >= maxDepth:
			l.addText(path, key, depth, Code, indentJSON(raw), true)
		default:
			l.Fields = append(l.Fields, Field{Path: path, Key: key, Depth: depth, Kind: kind, Size: len(raw)})
			if kind == Object {
				l.addMembers(path, depth+1, raw)
			} else {
				l.addElements(path, depth+1, raw)
			}
		}
	case 't', 'f':
		l.addText(path, key, depth, Boolean, raw, true)
	case 'n':
		l.addText(path, key, depth, Null, raw, true)
	default:
		l.addText(path, key, depth, Number, raw, true)
	}
}

// addText adds a field with as much of the text as the bounds allow.
func (l *layout) addText(path, key string, depth int, kind Kind, text string, isJSON bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	f := Field{Path: path, Key: key, Depth: depth, Kind: kind, Text: text, IsJSON: isJSON, Size: len(text)}
	f.Marks = marks.Find(text, readingOf(kind, text, isJSON))
	if room := min(l.bounds.Text, max(l.bounds.TotalText-l.Text, 0)); len(text) > room {
		f.Text, f.IsTruncated, l.HasMore = head(text, room), true, true
		f.Marks = marks.WithinFirst(f.Marks, utf8.RuneCountInString(f.Text))
	}
	l.Text += len(f.Text)
	l.Fields = append(l.Fields, f)
}

// readingOf returns how to search a text for marks. In a name, such as an address or an id, letters
// of other scripts are suspicious too, even if they form a whole word.
func readingOf(kind Kind, text string, isJSON bool) marks.Reading {
	switch {
	case isJSON:
		return marks.JSON
	case kind == String && !strings.ContainsAny(text, " \t\n") && strings.ContainsFunc(text, isASCIILetter):
		return marks.Identifier
	}
	return marks.Text
}

func isASCIILetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

// indentJSON indents JSON without changing its tokens. It returns raw unchanged if the text is
// short, or so large that indenting costs too much.
func indentJSON(raw string) string {
	if len(raw) <= maxLineText || len(raw) > judgedBytes {
		return raw
	}
	depth, deepest := 0, 0
	for _, c := range []byte(raw) {
		switch c { // brackets in texts count too, because the depth only bounds the size
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
// becomes U+FFFD, and the characters beside it stay the same.
func textOf(raw string) (text string) {
	if raw[0] != '"' {
		return ""
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return strings.ToValidUTF8(raw[1:len(raw)-1], "\uFFFD")
	}
	_ = json.Unmarshal([]byte(raw), &text) // cannot fail, because raw is valid JSON
	return text
}

// head returns the beginning of a text: at most the first limit bytes, and no part of a character.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return head(text, limit) + "…"
}
