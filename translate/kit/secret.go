package kit

import (
	"bytes"
	"encoding/json"

	"holdpoint/internal/agui"
)

// maxSchemaValues is the maximum number of values and keys in a schema that WantsSecret searches.
// It limits the memory that the search needs.
const maxSchemaValues = 64 << 10

// WantsSecret reports whether a schema asks for a secret. It does if a member, at any depth, has
// the format password or is writeOnly, as pydantic's SecretStr is. WantsSecret also returns true
// for a schema that it cannot read completely, because less of the answer is then stored.
func WantsSecret(schema json.RawMessage) bool {
	if !bytes.Contains(schema, []byte("password")) && !bytes.Contains(schema, []byte("writeOnly")) &&
		bytes.IndexByte(schema, '\\') < 0 {
		return false
	}
	value, err := agui.ParseValue(schema, maxSchemaValues)
	return err != nil || wantsSecret(value.Any)
}

func wantsSecret(part any) bool {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			if wantsSecret(one) {
				return true
			}
		}
	case map[string]any:
		if part["format"] == "password" || part["writeOnly"] == true {
			return true
		}
		for _, one := range part {
			if wantsSecret(one) {
				return true
			}
		}
	}
	return false
}
