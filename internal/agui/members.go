package agui

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Members are the members of a JSON object, read one after another and without a copy. The same
// pass finds out whether the text is JSON of at most MaxDepth. A look at it for that, and for each
// of its keys, would be a pass each.
//
//	m := MembersOf(json)
//	for m.Next() { .. m.Name(), m.Value .. }
//	if !m.Whole() { .. what was read must not be acted on .. }
type Members struct {
	// Key and Value are JSON text and lie in the object. A key has its quotes.
	Key, Value string

	text    string
	at      int  // behind the last value
	escaped bool // something is, in the key
	whole   bool
}

// MembersOf reads an object.
func MembersOf(json []byte) Members {
	return MembersIn(unsafe.String(unsafe.SliceData(json), len(json)))
}

// MembersIn is MembersOf for a text.
func MembersIn(json string) Members { return Members{text: json} }

// Next goes to the next member. It returns false behind the last one, and at text that is not JSON.
func (m *Members) Next() bool {
	s := m.text
	i := skipSpace(s, m.at)
	if i >= len(s) {
		return s != "" && m.end(-1)
	}
	switch first := m.at == 0; {
	case first && s[i] == '{':
		i = skipSpace(s, i+1)
		if i < len(s) && s[i] == '}' {
			return m.end(i + 1)
		}
	case !first && s[i] == ',':
		i = skipSpace(s, i+1)
	case !first && s[i] == '}':
		return m.end(i + 1)
	default:
		return m.end(-1)
	}
	behind, escaped, value, end := member(s, i, 1)
	if end < 0 {
		return m.end(-1)
	}
	m.escaped = escaped
	m.Key, m.Value, m.at = s[i:behind], s[value:end], end
	return true
}

// end ends the reading behind the object's last brace, or at a mistake.
func (m *Members) end(i int) bool {
	m.whole = i >= 0 && skipSpace(m.text, i) == len(m.text)
	m.Key, m.Value, m.text, m.at = "", "", "", max(i, 0)
	return false
}

// End returns where the object ends, behind its last brace. It is 0 after a mistake. Something else
// may follow.
func (m *Members) End() int { return m.at }

// Whole reports whether the object was read to its end and nothing stands behind it.
func (m *Members) Whole() bool { return m.whole }

// Name returns the text of the key.
func (m *Members) Name() string {
	if m.escaped {
		return Text(m.Key)
	}
	return m.Key[1 : len(m.Key)-1]
}

// Index returns where Value begins.
func (m *Members) Index() int { return m.at - len(m.Value) }

// Text returns the text of a JSON string, and "" for any other value. It lies in raw if nothing in
// it is escaped.
func Text(raw string) string {
	switch {
	case raw == "" || raw[0] != '"':
		return ""
	case strings.IndexByte(raw, '\\') < 0:
		return raw[1 : len(raw)-1]
	}
	return gjson.Parse(raw).Str
}

// AppendText appends the Text of raw, which is valid JSON.
func AppendText(dst []byte, raw string) []byte {
	if raw == "" || raw[0] != '"' {
		return dst
	}
	rest := raw[1 : len(raw)-1]
	for {
		n := strings.IndexByte(rest, '\\')
		if n < 0 {
			return append(dst, rest...)
		}
		dst = append(dst, rest[:n]...)
		c := rest[n+1]
		rest = rest[n+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := codeUnit(rest)
			rest = rest[4:]
			if utf16.IsSurrogate(r) && strings.HasPrefix(rest, `\u`) {
				r = utf16.DecodeRune(r, codeUnit(rest[2:])) // as gjson does it: of two that are not a pair nothing is left
				rest = rest[6:]
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// codeUnit returns the number that the first four hex digits stand for.
func codeUnit(digits string) (r rune) {
	for n := range 4 {
		c := digits[n]
		if c > '9' {
			c += 9 // of A and a the lower four bits are 1
		}
		r = r<<4 | rune(c&0xf)
	}
	return r
}
