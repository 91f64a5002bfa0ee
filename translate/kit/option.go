package kit

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// An OptionError says what is wrong with an option of a dialect. Name is the variable's, without
// the dialect's prefix.
type OptionError struct {
	Name string
	Err  error
}

// WrongOption makes one.
func WrongOption(name string, err error) error { return &OptionError{name, err} }

// Error says what is wrong.
func (e *OptionError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

// Text is a text in an option of a dialect that a backend gets as words.
type Text string

// DeniesOnly is nil for a text that no reader could take for a yes, by one of its words or as a
// whole.
func (t Text) DeniesOnly() error {
	const example = "want for example \"No. Do not do it.\""
	words := t.Words()
	if len(words) == 0 {
		return errors.New(textEmptyNo + example)
	}
	if slices.ContainsFunc(append(words, strings.Join(words, " ")), isYes) {
		return errors.New(textNoLikeYes + example)
	}
	return nil
}

// Words returns those of the text, in lower case.
func (t Text) Words() []string {
	return strings.FieldsFunc(strings.ToLower(string(t)), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// JSON is a JSON value in an option of a dialect.
type JSON json.RawMessage

// UnmarshalText reads the value of a variable.
func (j *JSON) UnmarshalText(text []byte) error {
	if !json.Valid(text) {
		return errors.New(textNotJSON)
	}
	*j = append(JSON(nil), text...)
	return nil
}

// String returns the value as it was written.
func (j JSON) String() string { return string(j) }

// SaysNothing reports whether the value is null, empty text, an empty object or an empty array.
func (j JSON) SaysNothing() bool { return saysNothing(gjson.ParseBytes(j)) }

// DeniesOnly is nil for a value that no backend could take for a yes: not by what it says, and not
// because it says nothing.
func (j JSON) DeniesOnly() error {
	v := gjson.ParseBytes(j)
	switch {
	case !agui.ValidJSON(j):
		return errors.New(textNoNotJSON)
	case saysNothing(v):
		return errors.New(textEmptyNoValue)
	case mayBeYes(v):
		return errors.New(textNoValueLikeYes)
	}
	return nil
}

// has reports whether a member of an object, or an element of an array, is as the function asks. It
// makes no list of them: a payload may have a million.
func has(v gjson.Result, is func(k, member gjson.Result) bool) bool {
	found := false
	v.ForEach(func(k, member gjson.Result) bool {
		found = is(k, member)
		return !found
	})
	return found
}

func saysNothing(v gjson.Result) bool {
	if v.IsObject() || v.IsArray() {
		return !has(v, func(_, _ gjson.Result) bool { return true })
	}
	return v.Type == gjson.Null || v.Type == gjson.String && v.Str == ""
}

// mayBeYes reports whether some backend could take the value for a yes by what it says. Any object
// is a yes to a backend that only asks whether an answer came; no value can be sent that is none to
// every backend.
func mayBeYes(v gjson.Result) bool {
	switch {
	case v.Type == gjson.True:
		return true
	case v.Type == gjson.Number:
		return v.Num != 0
	case v.Type == gjson.String:
		return isYes(v.Str)
	case v.IsArray():
		return has(v, func(_, one gjson.Result) bool { return mayBeYes(one) })
	case v.IsObject():
		return has(v, func(k, member gjson.Result) bool {
			no := member.Type == gjson.False || member.Type == gjson.Null
			nested := member.Type != gjson.True && member.Type != gjson.Number && mayBeYes(member)
			return isYes(k.Str) && !no || nested
		})
	}
	return false
}

// isYes knows the words with which backends are told to go on, as values and as keys of a value
// that is not false.
func isYes(word string) bool {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "accept", "accepted", "allow", "allowed", "approve", "approved", "confirm", "confirmed", "continue", "edit", "ok", "okay",
		"proceed", "true", "trust", "y", "yeah", "yep", "yes":
		return true
	}
	return false
}
