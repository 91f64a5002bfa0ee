package kit

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// WantsSecret reports whether a schema asks for a secret: a member, at any depth, has the format
// password or is writeOnly, as pydantic's SecretStr is.
func WantsSecret(schema json.RawMessage) bool {
	if !bytes.Contains(schema, []byte("password")) && !bytes.Contains(schema, []byte("writeOnly")) &&
		bytes.IndexByte(schema, '\\') < 0 {
		return false
	}
	return wantsSecret(gjson.ParseBytes(schema))
}

func wantsSecret(part gjson.Result) (secret bool) {
	if !part.IsObject() && !part.IsArray() {
		return false
	}
	object := part.IsObject()
	part.ForEach(func(name, value gjson.Result) bool {
		secret = object && (name.Str == "format" && value.Str == "password" || name.Str == "writeOnly" && value.Type == gjson.True) || wantsSecret(value)
		return !secret
	})
	return secret
}
