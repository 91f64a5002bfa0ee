package langgraphapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"holdpoint/internal/agui"
)

// EqualJSON compares by value. Absent and null are the same. Numbers are equal if they are written
// the same or mean the same float. Python and JavaScript write numbers like 1.0 and 1e3 in
// different ways, and one value may come once from each. Whole numbers are compared digit by digit,
// because a float has too few digits for them.
func EqualJSON(a, b json.RawMessage) bool {
	if IsNull(a) || IsNull(b) {
		return IsNull(a) && IsNull(b)
	}
	if bytes.Equal(a, b) {
		return true
	}
	va, oka := decode(a)
	vb, okb := decode(b)
	return oka && okb && equal(va, vb)
}

// equalTo returns EqualJSON with a, for a caller that compares many values. It reads a once. It
// reads nothing if a is far longer than the other value. Escapes and white space make a value some
// times longer, no more.
func equalTo(a json.RawMessage) func(b json.RawMessage) bool {
	const longer = 8
	var va any
	oka, read := false, false
	return func(b json.RawMessage) bool {
		switch {
		case IsNull(a) || IsNull(b):
			return IsNull(a) && IsNull(b)
		case bytes.Equal(a, b):
			return true
		case len(a) > longer*len(b)+1024:
			return false
		case !read:
			va, oka = decode(a)
			read = true
		}
		vb, okb := decode(b)
		return oka && okb && equal(va, vb)
	}
}

func decode(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equal(v, w) {
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
			if !equal(a[i], b[i]) {
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

func IsNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// WithoutConfig takes out of a value what Python's make_json_safe takes out: keys named config or
// runtime, at any depth.
func WithoutConfig(value json.RawMessage) json.RawMessage {
	if !bytes.Contains(value, []byte(`"config"`)) && !bytes.Contains(value, []byte(`"runtime"`)) {
		return value
	}
	v, ok := decode(value)
	if !ok {
		return value
	}
	return agui.MustMarshal(dropConfig(v))
}

func dropConfig(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "config")
		delete(v, "runtime")
		for k := range v {
			v[k] = dropConfig(v[k])
		}
	case []any:
		for i := range v {
			v[i] = dropConfig(v[i])
		}
	}
	return v
}

// Members returns the members of a JSON object. Of two equal keys the last one counts, as in
// JSON.parse and json.loads. gjson takes the first. An answer must not be read as one thing here
// and as another there.
func Members(object json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(object, &m)
	return m, err == nil && m != nil
}

// Text returns the string that raw holds.
func Text(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
