// Package netjson writes JSON exactly as .NET's System.Text.Json does: it keeps the order of
// members, and escapes strings like one of the two encoders of .NET. The Go ports of .NET's hosts
// and clients use it. It does not parse JSON.
package netjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// An Object is a JSON object that keeps the order of its members. The .NET programs write their
// members in a fixed order, and a reader may depend on it.
type Object []Member

// A Member is a member of an Object.
type Member struct {
	Key   string
	Value any
}

// New returns an object from alternating keys and values.
func New(list ...any) Object {
	var o Object
	for n := 0; n < len(list); n += 2 {
		o = append(o, Member{list[n].(string), list[n+1]})
	}
	return o
}

// With returns a copy of o with the members of list appended. list has alternating keys and values.
func (o Object) With(list ...any) Object { return append(o[:len(o):len(o)], New(list...)...) }

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for n, m := range o {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(append(out, Text(m.Key)...), ':')
		value, err := marshal(m.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Text returns v as compact JSON text. It panics if v cannot be marshalled.
func Text(v any) []byte {
	b, err := marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Relaxed returns v as JSON text, escaped like JavaScriptEncoder.UnsafeRelaxedJsonEscaping, the
// encoder that ASP.NET uses.
func Relaxed(v any) []byte { return spelled(Text(v), relaxed) }

// Escaped returns v as JSON text, escaped like JavaScriptEncoder.Default: all characters that could
// have a meaning in HTML or for a terminal are written as \uXXXX, including the quotation mark.
func Escaped(v any) []byte { return spelled(Text(v), escaped) }

// spelled returns the compact JSON in text, with every string spelled anew. write appends the new
// spelling of a string.
func spelled(text []byte, write func([]byte, string) []byte) []byte {
	var out []byte
	for n := 0; n < len(text); n++ {
		if text[n] != '"' {
			out = append(out, text[n])
			continue
		}
		end := n + 1
		for text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		var s string
		if err := json.Unmarshal(text[n:end+1], &s); err != nil {
			panic(err)
		}
		out = append(write(append(out, '"'), s), '"')
		n = end
	}
	return out
}

func relaxed(out []byte, s string) []byte {
	plain := Text(s)
	return append(out, plain[1:len(plain)-1]...)
}

func escaped(out []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '\\':
			out = append(out, `\\`...)
		case bytes.ContainsRune([]byte("\b\f\n\r\t"), r):
			out = append(out, '\\', "btn_fr"[r-'\b'])
		case r < ' ' || r == 0x7f || bytes.ContainsRune([]byte("\"'<>&+`"), r):
			out = fmt.Appendf(out, `\u%04X`, r)
		case r >= utf8.RuneSelf:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04X`, unit)
			}
		default:
			out = append(out, byte(r))
		}
	}
	return out
}
