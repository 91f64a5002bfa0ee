package agui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Bounds of the work of Canonical. For each level of nesting, Canonical reads and copies the text
// once more. While it sorts an object, each member of the object needs some hundred bytes.
const (
	sortedDepth   = 64
	sortedMembers = 50_000
	oddBytes      = 64 << 10 // largest text that is parsed although ValidJSON refuses it
)

// Canonical returns the JSON of raw with sorted keys and without white space. Numbers stay as they
// are written. If a value is nested too deep, or an object has too many members, only its white
// space is removed; two such values are then equal only if they are written alike. If raw is not
// JSON, it is returned unchanged. The result is read-only, because it may be raw itself.
func Canonical(raw []byte) []byte {
	if isCanonicalString(raw) {
		return raw
	}
	if ValidJSON(raw) {
		return appendCanonical(make([]byte, 0, len(raw)), View(raw), 0)
	}
	// raw is nested too deep, or is not JSON, or has more text after the JSON.
	if len(raw) > oddBytes {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	return MustMarshal(v)
}

// isCanonicalString reports whether raw is one string, written exactly as Marshal writes it.
// Canonical can return such a string as it is. While a thread waits, Canonical is called for every
// text of the history, and most of these texts are such strings.
func isCanonicalString(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '"' {
		return false
	}
	ascii := true
	for i := 1; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			return i == len(raw)-1 && (ascii || isCanonicalUTF8(raw))
		case c < ' ':
			return false
		case c == '\\':
			i++
			if i == len(raw) || bytes.IndexByte([]byte(`"\nrt`), raw[i]) < 0 {
				return false // encoding/json may write this escape in another way
			}
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return false
}

// isCanonicalUTF8 reports whether encoding/json would write text unchanged. It would replace
// invalid UTF-8, and escape the line separators U+2028 and U+2029.
func isCanonicalUTF8(text []byte) bool {
	return utf8.Valid(text) && !bytes.Contains(text, []byte("\u2028")) && !bytes.Contains(text, []byte("\u2029"))
}

func appendCanonical(dst []byte, v gjson.Result, depth int) []byte {
	switch {
	case v.Type == gjson.String:
		return AppendString(dst, text(v))
	case v.Type != gjson.JSON:
		return append(dst, v.Raw...)
	case depth == sortedDepth:
		return AppendCompact(dst, bytesOf(v))
	case v.IsObject():
		return appendMembers(dst, v, depth)
	}
	dst = append(dst, '[')
	first := len(dst)
	v.ForEach(func(_, one gjson.Result) bool {
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = appendCanonical(dst, one, depth+1)
		return true
	})
	return append(dst, ']')
}

// appendMembers appends the object v with sorted keys. If a key is repeated, its last value counts.
func appendMembers(dst []byte, v gjson.Result, depth int) []byte {
	type member struct{ key, value string } // a gjson.Result would need three times the memory
	var few [8]member
	list := few[:0]
	v.ForEach(func(k, value gjson.Result) bool {
		if len(list) == cap(list) {
			list = slices.Grow(list, 3*len(list)) // moving a long list costs more than reading it
		}
		list = append(list, member{text(k), value.Raw})
		return len(list) <= sortedMembers
	})
	if len(list) > sortedMembers {
		return AppendCompact(dst, bytesOf(v))
	}
	slices.SortStableFunc(list, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	first := len(dst)
	for n, m := range list {
		if n+1 < len(list) && list[n+1].key == m.key {
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, m.key), ':')
		dst = appendCanonical(dst, gjson.Parse(m.value), depth+1)
	}
	return append(dst, '}')
}

// text returns the text of a JSON string as encoding/json decodes it. gjson differs from it at
// invalid UTF-8 and at half of a surrogate pair.
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
