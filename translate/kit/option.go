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

// An OptionError is an error in an option of a dialect. Name is the name of the variable without
// the prefix that all variables of the dialect have.
type OptionError struct {
	Name string
	Err  error
}

// WrongOption returns a list with the OptionError, or nil if err is nil.
func WrongOption(name string, err error) []error {
	if err == nil {
		return nil
	}
	return []error{&OptionError{name, err}}
}

// Error returns the name of the variable, a colon, and the text of Err.
func (e *OptionError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *OptionError) Unwrap() error { return e.Err }

// A Text is an option that a dialect sends to its backend as plain text.
type Text string

// DeniesOnly returns an error if a reader could take the text, or one of its words, for an
// approval. It also returns an error if the text has no words.
func (t Text) DeniesOnly() error {
	words := t.Words()
	if len(words) == 0 {
		return errors.New(textEmptyNo + textExampleNo)
	}
	if slices.ContainsFunc(append(words, strings.Join(words, " ")), isYes) {
		return errors.New(textNoLikeYes + textExampleNo)
	}
	return nil
}

// Words returns the words of the text, in lower case.
func (t Text) Words() []string {
	return strings.FieldsFunc(strings.ToLower(string(t)), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// A JSON is an option of a dialect whose value is JSON.
type JSON json.RawMessage

// UnmarshalText reads the value of a variable.
func (j *JSON) UnmarshalText(text []byte) error {
	if !json.Valid(text) {
		return errors.New(textNotJSON)
	}
	*j = append(JSON(nil), text...)
	return nil
}

// String returns the value as it was configured.
func (j JSON) String() string { return string(j) }

// IsEmpty reports whether the value is null, "", an empty object or an empty array.
func (j JSON) IsEmpty() bool { return isEmpty(gjson.ParseBytes(j)) }

// DeniesOnly returns an error if a backend could take the value for an approval, because of its
// words or because it is empty.
func (j JSON) DeniesOnly() error {
	v := gjson.ParseBytes(j)
	switch {
	case !agui.ValidJSON(j):
		return errors.New(textNoNotJSON)
	case isEmpty(v):
		return errors.New(textEmptyNoValue)
	case mayBeYes(v):
		return errors.New(textNoValueLikeYes)
	}
	return nil
}

// has reports whether the function is returns true for a member of an object or for an element of
// an array. It does not build a list, because a payload may have a million members.
func has(v gjson.Result, is func(k, member gjson.Result) bool) bool {
	found := false
	v.ForEach(func(k, member gjson.Result) bool {
		found = is(k, member)
		return !found
	})
	return found
}

func isEmpty(v gjson.Result) bool {
	if v.IsObject() || v.IsArray() {
		return !has(v, func(_, _ gjson.Result) bool { return true })
	}
	return v.Type == gjson.Null || v.Type == gjson.String && v.Str == ""
}

// mayBeYes reports whether the value contains something that a backend could read as an approval.
// It returns false for an object without an approving word. But a backend that checks only whether
// an answer exists reads any object as an approval. No value is a denial for such a backend.
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

// isYes reports whether a word usually means an approval. The word may be a value, or the key of a
// value that is not false.
func isYes(word string) bool {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "accept", "accepted", "allow", "allowed", "approve", "approved", "confirm", "confirmed", "continue", "edit", "ok", "okay",
		"proceed", "true", "trust", "y", "yeah", "yep", "yes":
		return true
	}
	return false
}
