package agui

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

func init() {
	gjson.SetEscapeHTML(false) // in what AppendString appends: no <, > or & is another byte than it was
}

// Marshal is json.Marshal without the escaping of <, > and &, so that what a raw message holds keeps its bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MustMarshal is Marshal for values that cannot fail: maps and structs of strings and of raw JSON that was checked.
func MustMarshal(v any) []byte {
	b, err := Marshal(v)
	if err != nil {
		panic("agui: " + err.Error())
	}
	return b
}

// AppendString appends s as JSON text: what Marshal makes of it, but without the allocations.
func AppendString(dst []byte, s string) []byte { return gjson.AppendJSONString(dst, s) }
