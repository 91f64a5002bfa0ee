package agui

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// EqualJSON reports whether two JSON values are equal. An absent value equals null. Two numbers are
// equal if they are written the same or have the same float value, because Python and JavaScript
// write numbers like 1.0 and 1e3 differently. Whole numbers are compared by their digits, because a
// float cannot hold all digits of a large one.
func EqualJSON(a, b json.RawMessage) bool {
	if isNull(a) || isNull(b) {
		return isNull(a) && isNull(b)
	}
	if bytes.Equal(a, b) {
		return true
	}
	va, oka := DecodeJSON(a)
	vb, okb := DecodeJSON(b)
	return oka && okb && equalValues(va, vb)
}

// longerJSON is how many times as long as another JSON text of the same value a JSON text can be.
const longerJSON = 8

// EqualTo returns a function that reports EqualJSON(a, b), for a caller that compares a with many
// values. It parses a at most once. If a is far longer than b, it does not parse a and returns
// false: escapes and white space can make a text only a few times longer.
func EqualTo(a json.RawMessage) func(b json.RawMessage) bool {
	var va any
	oka, read := false, false
	return func(b json.RawMessage) bool {
		switch {
		case isNull(a) || isNull(b):
			return isNull(a) && isNull(b)
		case bytes.Equal(a, b):
			return true
		case len(a) > longerJSON*len(b)+1024:
			return false
		case !read:
			va, oka = DecodeJSON(a)
			read = true
		}
		vb, okb := DecodeJSON(b)
		return oka && okb && equalValues(va, vb)
	}
}

// DecodeJSON decodes a value with its numbers as json.Number. ok is false if raw does not begin
// with a JSON value.
func DecodeJSON(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil
}

func equalValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equalValues(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalValues(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(string(a), string(b))
	}
	return a == b
}

func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a, ".eE") && !strings.ContainsAny(b, ".eE") {
		return false
	}
	x, errx := strconv.ParseFloat(a, 64)
	y, erry := strconv.ParseFloat(b, 64)
	return errx == nil && erry == nil && x == y
}

// isNull reports whether a JSON value is absent or null.
func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }
