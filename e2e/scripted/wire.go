package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf16"
	"unicode/utf8"
)

// An object is a JSON object whose members keep their order: the originals write them in one, and a
// client may depend on it without knowing.
type object []member

type member struct {
	key   string
	value any
}

// obj makes an object of keys and values in turn.
func obj(list ...any) object {
	var o object
	for n := 0; n < len(list); n += 2 {
		o = append(o, member{list[n].(string), list[n+1]})
	}
	return o
}

// with adds members.
func (o object) with(list ...any) object { return append(o[:len(o):len(o)], obj(list...)...) }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for n, m := range o {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(append(out, text(m.key)...), ':')
		value, err := marshal(m.value)
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

// text is v as compact JSON text.
func text(v any) []byte {
	b, err := marshal(v)
	if err != nil {
		panic(err) // everything here was made by us or parsed before
	}
	return b
}

// netText is JSON text as System.Text.Json writes it by default: everything that could matter to
// HTML or to somebody's terminal is written as \uXXXX, the quotation mark too.
func netText(v any) []byte {
	plain := text(v)
	var out []byte
	in := false
	for n := 0; n < len(plain); {
		c := plain[n]
		switch {
		case c == '\\':
			if plain[n+1] == '"' {
				out = append(out, `\u0022`...)
			} else {
				out = append(out, plain[n], plain[n+1])
			}
			n += 2
			continue
		case c == '"':
			in = !in
		case in && bytes.IndexByte([]byte("'<>&+`"), c) >= 0 || c == 0x7f:
			out = fmt.Appendf(out, `\u%04X`, c)
			n++
			continue
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(plain[n:])
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04X`, unit)
			}
			n += size
			continue
		}
		out = append(out, c)
		n++
	}
	return out
}

// A stream is the answer to one run. Its header goes out with the first event.
type stream struct {
	w      http.ResponseWriter
	encode func(any) []byte
	began  bool
}

func (s *stream) send(event object) {
	if !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-cache,no-store")
	}
	s.w.Write(append(append([]byte("data: "), s.encode(event)...), "\n\n"...))
	s.w.(http.Flusher).Flush()
}
