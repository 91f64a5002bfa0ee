package agui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Marshal is json.Marshal without the escaping of <, > and &, so that what a raw message holds keeps its bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MustMarshal is Marshal for values that cannot fail: maps and structs of strings and of raw JSON that was checked.
func MustMarshal(v any) []byte {
	b, err := Marshal(v)
	if err != nil {
		panic("agui: " + err.Error())
	}
	return b
}

// List is the JSON array of values that are JSON, without white space between their tokens.
func List(values []json.RawMessage) json.RawMessage {
	size := len("[]")
	for _, v := range values {
		size += len(v) + 1
	}
	list := append(make([]byte, 0, size), '[')
	for n, v := range values {
		if n > 0 {
			list = append(list, ',')
		}
		list = AppendCompact(list, v)
	}
	return append(list, ']')
}

// AppendCompact appends a value that is JSON without white space between its tokens.
func AppendCompact(dst, value []byte) []byte {
	b := bytes.NewBuffer(dst)
	if err := json.Compact(b, value); err != nil {
		panic("agui: " + err.Error())
	}
	return b.Bytes()
}

// HasMembers says whether raw is an object that is not empty.
func HasMembers(raw []byte) (has bool) {
	if v := View(raw); v.IsObject() {
		v.ForEach(func(_, _ gjson.Result) bool {
			has = true
			return false
		})
	}
	return has
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as JSON text, byte for byte as Marshal writes it.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // what of s is written
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
			if size > 1 && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
		}
		dst = appendEscaped(append(dst, s[done:i]...), r)
		i += size
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}

// appendEscaped appends a character that cannot stand in JSON text, or in JavaScript's, as it is; utf8.RuneError stands for a
// byte that is none.
func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// Canonical is JSON with the keys of objects sorted and white space gone, numbers as they were written. Text that is
// no JSON is returned as it is.
func Canonical(raw []byte) []byte {
	if ValidJSON(raw) {
		return appendValue(make([]byte, 0, len(raw)), View(raw))
	}
	// It is nested deeper than is looked into here, no JSON, or not JSON alone.
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	return MustMarshal(v)
}

func appendValue(dst []byte, v gjson.Result) []byte {
	switch {
	case v.Type == gjson.String:
		return AppendString(dst, text(v))
	case v.IsArray():
		dst = append(dst, '[')
		n := len(dst)
		v.ForEach(func(_, one gjson.Result) bool {
			if len(dst) > n {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, one)
			return true
		})
		return append(dst, ']')
	case v.IsObject():
		return appendObject(dst, v)
	}
	return append(dst, v.Raw...)
}

func appendObject(dst []byte, v gjson.Result) []byte {
	type member struct {
		key   string
		value gjson.Result
	}
	var few [8]member
	list := few[:0]
	v.ForEach(func(k, value gjson.Result) bool {
		list = append(list, member{text(k), value})
		return true
	})
	slices.SortStableFunc(list, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for n, m := range list {
		if n+1 < len(list) && list[n+1].key == m.key {
			continue // of equal keys the last one counts
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, m.key), ':')
		dst = appendValue(dst, m.value)
	}
	return append(dst, '}')
}

// text is a string as encoding/json reads it, which of half a surrogate pair makes something else than gjson does, and a
// character of what is no UTF-8.
func text(v gjson.Result) string {
	if !strings.Contains(v.Raw, `\u`) && utf8.ValidString(v.Str) {
		return v.Str
	}
	var s string
	if json.Unmarshal([]byte(v.Raw), &s) != nil {
		return v.Str
	}
	return s
}
