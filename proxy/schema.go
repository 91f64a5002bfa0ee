package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchemaBytes bounds a backend's responseSchema: it is input from outside, compiled at every answer.
const maxSchemaBytes = 64 << 10

// errSchema marks a schema that cannot be used: too large, not valid, or with a reference to elsewhere.
var errSchema = errors.New("proxy: responseSchema cannot be used")

// validate judges a payload (nil is null) by a JSON Schema, draft 2020-12 unless it names another. The error is nil,
// wraps errSchema, or says where the payload does not fit, without quoting any of its values.
func validate(schema, payload json.RawMessage) error {
	if len(schema) > maxSchemaBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are read", errSchema, len(schema), maxSchemaBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("%w: %w", errSchema, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("urn:holdpoint:schema", doc); err != nil {
		return fmt.Errorf("%w: %w", errSchema, err)
	}
	compiled, err := c.Compile("urn:holdpoint:schema")
	if err != nil {
		return fmt.Errorf("%w: %w", errSchema, err)
	}
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return errors.New("not valid JSON")
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(value); errors.As(err, &invalid) {
		return errors.New(firstCause(invalid))
	} else if err != nil {
		return err
	}
	return nil
}

// noLoader refuses every reference out of the schema: a backend must not make the proxy fetch anything.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}

// firstCause says where and by which keyword the payload fails; the library's own text quotes values.
func firstCause(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	where := "/" + strings.Join(e.InstanceLocation, "/")
	if len(e.InstanceLocation) == 0 {
		where = "the payload"
	}
	return fmt.Sprintf("%s fails %q", where, strings.Join(e.ErrorKind.KeywordPath(), "/"))
}
