package tanstack

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// hash returns the client's digest of a JSON value. ok is false for a value that the client cannot
// hash, or whose texts Go cannot hold (half of a surrogate pair).
func hash(v gjson.Result) (sum string, ok bool) {
	text, ok := appendCanonical(make([]byte, 0, len(v.Raw)), v)
	return digest(string(text)), ok
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// appendCanonical appends JSON as canonicalInterruptJson writes it: what JSON.stringify makes of
// each value, with the keys in the order of JavaScript's sort.
func appendCanonical(dst []byte, v gjson.Result) (text []byte, ok bool) {
	switch {
	case v.Type == gjson.String:
		return appendText(dst, v.Str)
	case v.Type == gjson.Number:
		return appendNumber(dst, v.Raw)
	case v.IsObject():
		return appendObject(dst, v)
	case v.IsArray():
		dst, ok = append(dst, '['), true
		first := len(dst)
		v.ForEach(func(_, one gjson.Result) bool {
			if len(dst) > first {
				dst = append(dst, ',')
			}
			dst, ok = appendCanonical(dst, one)
			return ok
		})
		return append(dst, ']'), ok
	}
	return append(dst, v.Raw...), v.Exists()
}

func appendObject(dst []byte, v gjson.Result) (text []byte, ok bool) {
	type member struct {
		key   string
		units []uint16
		value gjson.Result
	}
	var list []member
	v.ForEach(func(k, value gjson.Result) bool {
		list = append(list, member{k.Str, utf16.Encode([]rune(k.Str)), value})
		return true
	})
	slices.SortStableFunc(list, func(a, b member) int { return slices.Compare(a.units, b.units) })
	dst = append(dst, '{')
	first := len(dst)
	for n, m := range list {
		if n+1 < len(list) && cmp.Compare(m.key, list[n+1].key) == 0 {
			continue // of equal keys the last one counts
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		if dst, ok = appendText(dst, m.key); !ok {
			return dst, false
		}
		if dst, ok = appendCanonical(append(dst, ':'), m.value); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// appendText appends a text as JSON.stringify does.
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
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			dst = append(dst, '\\', "btn.fr"[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	return append(dst, '"'), true
}

// appendNumber appends a number as JavaScript writes it.
func appendNumber(dst []byte, raw string) (text []byte, ok bool) {
	f, err := strconv.ParseFloat(raw, 64)
	size := math.Abs(f)
	switch {
	case err != nil: // it is infinite there
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
