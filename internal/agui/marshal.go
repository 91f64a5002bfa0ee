package agui

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

func init() {
	gjson.SetEscapeHTML(false) // AppendString must not escape <, > and &
}

// Marshal is like json.Marshal, but it does not escape <, > and &, so that raw messages keep their
// bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MustMarshal is like Marshal, for values whose encoding cannot fail: maps and structs of strings
// and valid raw JSON.
func MustMarshal(v any) []byte {
	b, err := Marshal(v)
	if err != nil {
		panic("agui: " + err.Error())
	}
	return b
}

// List returns a JSON array with the given values, without white space between tokens.
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

// AppendCompact appends a JSON value without white space between its tokens.
func AppendCompact(dst, value []byte) []byte {
	done := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i = endOfString(value, i+1)
		case ' ', '\t', '\r', '\n':
			dst = append(dst, value[done:i]...)
			done = i + 1
		}
	}
	return append(dst, value[done:]...)
}

// HasMembers reports whether raw is an object with at least one member.
func HasMembers(raw []byte) (has bool) {
	if v := View(raw); v.IsObject() {
		v.ForEach(func(_, _ gjson.Result) bool {
			has = true
			return false
		})
	}
	return has
}

// AppendString appends s as a JSON string, as Marshal writes it but without allocations. The two
// differ only if s is not valid UTF-8: Marshal writes the escape \ufffd, and AppendString the
// character itself.
func AppendString(dst []byte, s string) []byte { return gjson.AppendJSONString(dst, s) }
