package agui

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Members iterates over the members of a JSON object without copying them. In the same pass it
// checks that the text is valid JSON, nested at most MaxDepth deep, so that no second pass is
// needed.
//
//	m := MembersOf(json)
//	for m.Next() { .. m.Name(), m.Value .. }
//	if !m.IsComplete() { .. the members must not be used .. }
type Members struct {
	// Key and Value are JSON text and share the memory of the object. Key includes its quotes.
	Key, Value string

	text     string
	at       int  // position after the last value
	escaped  bool // the key has escapes
	checked  bool // the text is known to be valid
	complete bool
}

// MembersOf returns an iterator over the members of an object.
func MembersOf(json []byte) Members {
	return MembersIn(unsafe.String(unsafe.SliceData(json), len(json)))
}

// MembersIn is like MembersOf, for a string.
func MembersIn(json string) Members { return Members{text: json} }

// CheckedMembers is MembersOf for JSON that is known to be valid, such as a part of a body that
// ParseInput accepted. It skips strings and nested values, which takes a tenth of the time for long
// ones.
func CheckedMembers(json []byte) Members {
	m := MembersOf(json)
	m.checked = true
	return m
}

// Next moves to the next member. It returns false after the last member, and at invalid JSON.
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
	behind, escaped, value, end := member(s, i, 1, m.checked)
	if end < 0 {
		return m.end(-1)
	}
	m.escaped = escaped
	m.Key, m.Value, m.at = s[i:behind], s[value:end], end
	return true
}

// end ends the iteration. i is the position after the object's last brace, or -1 if the JSON is
// invalid.
func (m *Members) end(i int) bool {
	m.complete = i >= 0 && skipSpace(m.text, i) == len(m.text)
	m.Key, m.Value, m.text, m.at = "", "", "", max(i, 0)
	return false
}

// End returns the position after the object's last brace, or 0 if the JSON is invalid. Other text
// may follow the brace.
func (m *Members) End() int { return m.at }

// IsComplete reports whether the object was read to its end and no other text follows.
func (m *Members) IsComplete() bool { return m.complete }

// Name returns the decoded text of the key.
func (m *Members) Name() string {
	if m.escaped {
		return Text(m.Key)
	}
	return m.Key[1 : len(m.Key)-1]
}

// Index returns the position of Value in the text.
func (m *Members) Index() int { return m.at - len(m.Value) }

// Text returns the decoded text of a JSON string, and "" for any other value. If the string has no
// escapes, the result shares the memory of raw.
func Text(raw string) string {
	switch {
	case raw == "" || raw[0] != '"':
		return ""
	case strings.IndexByte(raw, '\\') < 0:
		return raw[1 : len(raw)-1]
	}
	return gjson.Parse(raw).Str
}

// IDText returns the text of an id in JSON. An id is a string. Clients and backends in JavaScript
// also use numbers, and such a number is the same id as its text. Any other value has the text "".
func IDText(id gjson.Result) string {
	if id.Type == gjson.String || id.Type == gjson.Number {
		return id.String()
	}
	return ""
}

// AppendText appends the text that Text returns for raw. If raw is not valid JSON, it may append
// anything.
func AppendText(dst []byte, raw string) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return dst
	}
	return appendUnescaped(dst, raw[1:len(raw)-1])
}

// appendUnescaped appends the text of a JSON string, whose quotes are not in rest.
func appendUnescaped(dst []byte, rest string) []byte {
	for {
		n := strings.IndexByte(rest, '\\')
		if n < 0 || n+1 == len(rest) {
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
			if len(rest) < 4 {
				return dst
			}
			r := codeUnit(rest)
			rest = rest[4:]
			if utf16.IsSurrogate(r) && len(rest) >= 6 && strings.HasPrefix(rest, `\u`) {
				// writes U+FFFD for two that are not a pair, like gjson
				r = utf16.DecodeRune(r, codeUnit(rest[2:]))
				rest = rest[6:]
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// AppendPiece appends the text of raw, which is a piece of a longer text, as AppendText does. A
// backend in JavaScript may cut a text between the two halves of a surrogate pair, as with
// text.slice. Its clients join the halves. So AppendPiece keeps a half at the end of a piece in
// *half, and replaces the U+FFFD that it has written for it when the other half follows. The
// initial value of *half is 0. It belongs to dst.
func AppendPiece(dst []byte, raw string, half *rune) []byte {
	if len(raw) <= len(`""`) || raw[0] != '"' {
		return dst
	}
	text, first := raw[1:len(raw)-1], *half
	*half = halfAtEnd(text)
	if first != 0 && len(text) >= len(`\udc00`) && text[:2] == `\u` && bytes.HasSuffix(dst, []byte("\ufffd")) {
		if r := utf16.DecodeRune(first, codeUnit(text[2:])); r != utf8.RuneError {
			dst, text = utf8.AppendRune(dst[:len(dst)-len("\ufffd")], r), text[len(`\udc00`):]
		}
	}
	return appendUnescaped(dst, text)
}

// halfAtEnd returns the first half of a surrogate pair with which the text of a JSON string ends.
// It returns 0 if the text does not end with one.
func halfAtEnd(text string) rune {
	at := len(text) - len(`\ud800`)
	if at < 0 || text[at:at+2] != `\u` {
		return 0
	}
	escapes := at
	for escapes > 0 && text[escapes-1] == '\\' {
		escapes--
	}
	if r := codeUnit(text[at+2:]); (at-escapes)%2 == 0 && r >= 0xd800 && r < 0xdc00 {
		return r
	}
	return 0
}

// codeUnit returns the value of the first four hex digits in digits.
func codeUnit(digits string) (r rune) {
	for n := range 4 {
		c := digits[n]
		if c > '9' {
			c += 9 // the lower four bits of A and of a are 1
		}
		r = r<<4 | rune(c&0xf)
	}
	return r
}
