package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdpoint/internal/agui"
)

const (
	// maxValues is the largest number of values and keys in a payload that is validated. Each of
	// them takes about 150 bytes of memory.
	maxValues = 200_000
	// maxNesting bounds how deep the library may recurse. The bound is for the number of schemas
	// times the depth of the payload.
	maxNesting = 50_000
)

// A Validator validates the payloads of one request. It is not safe for concurrent use. The type
// meter has its limits.
type Validator struct {
	meter
	// keyed by their text, because many questions have the same schema
	schemas map[string]compiledSchema
}

type compiledSchema struct {
	*schema
	err error
}

// NewValidator returns the Validator for one request. When ctx ends, the validation stops.
func NewValidator(ctx context.Context) *Validator {
	return &Validator{
		meter:   meter{ctx: ctx, until: time.Now().Add(timeOfRequest), remaining: workOfRequest},
		schemas: map[string]compiledSchema{},
	}
}

// Validate validates a payload against a JSON Schema, draft 2020-12 unless the schema names another
// draft. A nil payload counts as null. It returns nil if the payload fits. If the schema cannot be
// used, the error wraps ErrSchema. Otherwise the error says which key does not fit and what the
// schema requires (see mismatch), or why the payload cannot be validated. The error never quotes a
// value of the payload.
//
// A payload that cannot be validated within the limits is refused, even if the schema is the
// reason. Otherwise a person could get past the schema by choosing a costly payload. The question
// can still be cancelled.
func (v *Validator) Validate(text, payload json.RawMessage) error {
	s := v.compile(text)
	if s.err != nil {
		return s.err
	}
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	value, err := agui.ParseValue(payload, maxValues)
	switch {
	case errors.Is(err, agui.ErrNoJSON):
		return errors.New(textPayloadNotJSON)
	case err != nil:
		return &unjudgedError{err}
	case value.Depth*s.size > maxNesting:
		return &unjudgedError{fmt.Errorf(textPayloadDepth, value.Depth, s.size)}
	}
	v.remaining += workOfPayload + workOfValue*int64(value.Count)
	v.text += workOfByte * int64(len(payload))
	v.times = 1 + int64(max(value.Digits, s.digits))/cheapDigits
	err = v.run(s.inverse, value.Any)
	// set if the payload does not fit the inverse, so it fits the schema
	var fits *jsonschema.ValidationError
	switch {
	case err == nil:
		return v.explain(s.whole, value.Any)
	case errors.As(err, &fits):
		return nil
	}
	return &unjudgedError{err}
}

// An unjudgedError says why a payload could not be validated. The payload may fit or not.
type unjudgedError struct{ reason error }

func (e *unjudgedError) Error() string { return fmt.Sprintf(textNotJudged, e.reason) }

func (e *unjudgedError) Unwrap() error { return e.reason }

func (v *Validator) compile(text json.RawMessage) compiledSchema {
	s, known := v.schemas[string(text)]
	if !known {
		s.schema, s.err = compile(text, &v.meter)
		v.schemas[string(text)] = s
	}
	return s
}

// explain returns an error that says where a payload does not fit. It may do less work than the
// check itself, so the description may be missing.
func (v *Validator) explain(s *jsonschema.Schema, value any) error {
	left := v.remaining
	defer func() { v.remaining = left }()
	v.remaining = workToExplain
	var invalid *jsonschema.ValidationError
	if err := v.run(s, value); errors.As(err, &invalid) {
		return errors.New(mismatch(invalid))
	}
	return errors.New(textPayloadUnexplained)
}
