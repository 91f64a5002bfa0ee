package langgraphapi

import (
	"bytes"
	"encoding/json"

	"holdpoint/internal/agui"
)

func IsNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// WithoutConfig returns the value without the keys config and runtime, at any depth. Python's
// make_json_safe removes these keys.
func WithoutConfig(value json.RawMessage) json.RawMessage {
	if !bytes.Contains(value, []byte(`"config"`)) && !bytes.Contains(value, []byte(`"runtime"`)) {
		return value
	}
	v, ok := agui.DecodeJSON(value)
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

// Members returns the members of a JSON object. If a key is repeated, the last value counts, as in
// JSON.parse and json.loads, so that Holdpoint and the backend read the same answer. gjson would
// use the first value.
func Members(object json.RawMessage) (map[string]json.RawMessage, bool) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(object, &m)
	return m, err == nil && m != nil
}

// Text returns the string that raw contains. It returns false if raw is not a JSON string.
func Text(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
