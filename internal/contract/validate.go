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
	// maxValues is how many values and keys a payload may have that a schema judges: each takes
	// some 150 bytes then.
	maxValues = 200_000
	// maxNesting bounds how many calls of the library are in one another: the schemas times the
	// payload's depth.
	maxNesting = 50_000
)

// A Validator judges the payloads of one request, by one goroutine; see meter for what that may
// take.
type Validator struct {
	meter
	schemas map[string]compiledSchema // by their text: many questions have the same
}

type compiledSchema struct {
	*schema
	err error
}

// NewValidator makes the Validator of one request. Its context ends the judging.
func NewValidator(ctx context.Context) *Validator {
	return &Validator{
		meter:   meter{ctx: ctx, until: time.Now().Add(timeOfRequest), left: workOfRequest},
		schemas: map[string]compiledSchema{},
	}
}

// Validate judges a payload (nil is null) by a JSON Schema, draft 2020-12 unless it names another.
// The error is nil, wraps ErrSchema, or says in words which key does not fit and what is wanted
// there (see mismatch), or why the payload cannot be judged. It quotes no value of the payload.
//
// A payload that cannot be judged within the bounds is refused, also where the schema alone is to
// blame: whoever answers chooses the payload, and must not get past the schema by it. The question
// can be cancelled all the same.
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
	v.left += workOfPayload + workOfValue*int64(value.Count)
	v.text += workOfByte * int64(len(payload))
	v.times = 1 + int64(max(value.Digits, s.digits))/cheapDigits
	err = v.run(s.inverse, value.Any)
	var fits *jsonschema.ValidationError // the inverse
	switch {
	case err == nil:
		return v.explain(s.whole, value.Any)
	case errors.As(err, &fits):
		return nil
	}
	return &unjudgedError{err}
}

// An unjudgedError is why a payload cannot be judged. It says nothing of whether it fits.
type unjudgedError struct{ why error }

func (e *unjudgedError) Error() string { return "it cannot be judged: " + e.why.Error() }

func (e *unjudgedError) Unwrap() error { return e.why }

func (v *Validator) compile(text json.RawMessage) compiledSchema {
	s, known := v.schemas[string(text)]
	if !known {
		s.schema, s.err = compile(text, &v.meter)
		v.schemas[string(text)] = s
	}
	return s
}

// explain says where a payload that does not fit fails. That takes more memory than to know it, so
// it is not always told.
func (v *Validator) explain(s *jsonschema.Schema, value any) error {
	left := v.left
	defer func() { v.left = left }()
	v.left = workToExplain
	var invalid *jsonschema.ValidationError
	if err := v.run(s, value); errors.As(err, &invalid) {
		return errors.New(mismatch(invalid))
	}
	return errors.New(textPayloadUnexplained)
}
