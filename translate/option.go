package translate

import (
	"encoding/json"
	"errors"
)

// JSON is a JSON value in an option of a dialect.
type JSON json.RawMessage

// UnmarshalText reads the value of a variable.
func (j *JSON) UnmarshalText(text []byte) error {
	if !json.Valid(text) {
		return errors.New("want JSON, for example false or null")
	}
	*j = append(JSON(nil), text...)
	return nil
}

// String is the value as it was written.
func (j JSON) String() string { return string(j) }
