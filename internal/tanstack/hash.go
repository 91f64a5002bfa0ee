package tanstack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"holdpoint/internal/agui"
)

// maxValues bounds how many values and keys a schema may have that is hashed, because each needs
// memory.
const maxValues = 64 << 10

// hash returns the same digest of a JSON value as TanStack AI's client. ok is false if the client
// cannot hash the value, if Go cannot represent the value (half of a surrogate pair), or if the
// value consists of too many values.
func hash(raw []byte) (sum string, ok bool) {
	value, err := agui.ParseValue(raw, maxValues)
	if err != nil {
		return "", false
	}
	text, ok := appendCanonical(make([]byte, 0, len(raw)), value.Any)
	return digest(text), ok
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// appendCanonical appends a JSON value to dst in the form of the client's function
// canonicalInterruptJson. Each value is written as by JSON.stringify, and keys are in the order of
// JavaScript's sort.
func appendCanonical(dst []byte, value any) (text []byte, ok bool) {
	switch value := value.(type) {
	case string:
		return appendText(dst, value)
	case json.Number:
		return appendNumber(dst, string(value))
	case bool:
		return strconv.AppendBool(dst, value), true
	case map[string]any:
		return appendObject(dst, value)
	case []any:
		return appendArray(dst, value)
	}
	return append(dst, "null"...), true
}

func appendArray(dst []byte, list []any) (text []byte, ok bool) {
	dst = append(dst, '[')
	for n, one := range list {
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, ok = appendCanonical(dst, one); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

func appendObject(dst []byte, object map[string]any) (text []byte, ok bool) {
	type member struct {
		key   string
		units []uint16
	}
	list := make([]member, 0, len(object))
	for key := range object {
		list = append(list, member{key, utf16.Encode([]rune(key))})
	}
	slices.SortFunc(list, func(a, b member) int { return slices.Compare(a.units, b.units) })
	dst = append(dst, '{')
	for n, m := range list {
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, ok = appendText(dst, m.key); !ok {
			return dst, false
		}
		if dst, ok = appendCanonical(append(dst, ':'), object[m.key]); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// appendText appends a text to dst in the same form as JSON.stringify.
func appendText(dst []byte, s string) (text []byte, ok bool) {
	if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
		return dst, false
	}
	dst = append(dst, '"')
	for n := range len(s) {
		switch c := s[n]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	return append(dst, '"'), true
}

// appendNumber appends a number to dst in the form in which JavaScript writes numbers.
func appendNumber(dst []byte, raw string) (text []byte, ok bool) {
	f, err := strconv.ParseFloat(raw, 64)
	size := math.Abs(f)
	switch {
	case err != nil: // the number is infinite in JavaScript
		return dst, false
	case f == 0:
		return append(dst, '0'), true
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64), true
	}
	written := strconv.FormatFloat(f, 'e', -1, 64)
	written = strings.Replace(strings.Replace(written, "e-0", "e-", 1), "e+0", "e+", 1)
	return append(dst, written...), true
}
