package langgraphapi

import (
	"bytes"
	"encoding/json"

	"holdpoint/internal/agui"
)

func decode(raw []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil
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
