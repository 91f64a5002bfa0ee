// Package yesno writes and reads the yes and the no of backends whose streams do not show how to
// answer. The operator configures a template for the yes and one for the no. NewWords refuses a no
// that a backend could read as the yes.
//
// A tool message contains the yes or the no as text (package calls). An answer to an agent that
// accepts any value contains it as JSON (Rules). Package yesno does not know how the messages and
// answers are sent.
package yesno

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// These are the placeholders of a template. A placeholder must be the whole value of a member of a
// JSON object.
const (
	argumentsPlace = "$arguments" // in a yes: the arguments with which the call must run
	reasonPlace    = "$reason"    // in a no: the reason, or "" without a reason
)

// maxTemplate is the maximum size of a template in bytes.
const maxTemplate = 4 << 10

// A Template is the content for a yes or a no, as the operator writes it in a variable. It is a
// JSON object, which may have placeholders, or another JSON value, or plain words.
type Template string

// UnmarshalText sets the template to the value of the variable, without white space around it.
func (t *Template) UnmarshalText(text []byte) error {
	*t = Template(strings.TrimSpace(string(text)))
	return nil
}

// String returns the template as it was configured.
func (t Template) String() string { return string(t) }

// Denials returns the contents that the template makes for a denial. Package dialects checks them.
func (t Template) Denials() []json.RawMessage {
	if one := t.read(); one.isJSON {
		return []json.RawMessage{one.with(reasonPlace, json.RawMessage(`""`))}
	}
	return []json.RawMessage{agui.MustMarshal(string(t))}
}

func (t Template) read() template {
	if agui.ValidJSON([]byte(t)) {
		return template{text: string(t), value: gjson.Parse(string(t)), isJSON: true}
	}
	return template{text: string(t)}
}

// Words are the yes and the no of a backend, as NewWords has checked them.
type Words struct {
	yes, no template
	// differences are the paths of the members of the yes that have another value in the no. It is
	// nil if the yes is not an object.
	differences       [][]string
	arguments, reason []string // paths of the placeholders; nil if the template has none
}

type template struct {
	text   string
	value  gjson.Result // set only if isJSON is true
	isJSON bool
}

func (t template) isObject() bool { return t.isJSON && t.value.IsObject() }

// A WordError is an error in the template for the yes or in the template for the no.
type WordError struct {
	No  bool // the error is in the template for the no
	Err error
}

// Error returns "yes" or "no" and the text of the cause.
func (e *WordError) Error() string {
	return map[bool]string{true: "no", false: "yes"}[e.No] + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *WordError) Unwrap() error { return e.Err }

// NewWords returns the words for two templates. It returns an error if a backend could read the no
// as the yes. It assumes that the backend reads an answer in one of these ways:
//
//   - It compares the whole text with the yes, or searches the text for the yes. It may ignore
//     case, and characters that are not letters or digits.
//   - It searches for a common word for yes: ok, true, approve, ...
//   - It reads a member that differs between the yes and the no, spelled in any way. It tests
//     whether the member exists, whether it is true, or which value it has.
//   - It tests whether the JSON value is true, if the yes is true or a number.
//
// NewWords cannot protect a backend that only tests whether there is an answer. Such a backend
// reads every text and every object as a yes.
func NewWords(yes, no Template) (Words, error) {
	w := Words{yes: yes.read(), no: no.read()}
	for _, one := range []struct {
		t     template
		no    bool
		place string
	}{{w.yes, false, argumentsPlace}, {w.no, true, reasonPlace}} {
		if err := one.t.check(one.place); err != nil {
			return Words{}, &WordError{one.no, err}
		}
	}
	w.arguments, w.reason = w.yes.pathOf(argumentsPlace), w.no.pathOf(reasonPlace)
	if w.yes.isObject() {
		w.differences = differingPaths(w.yes.value, w.no.value)
	}
	if err := w.checkNo(); err != nil {
		return Words{}, &WordError{true, err}
	}
	return w, nil
}

// check returns an error if the template is not valid. place is the only placeholder that the
// template may have.
func (t template) check(place string) error {
	switch {
	case t.text == "":
		return errors.New(textEmpty)
	case len(t.text) > maxTemplate:
		return fmt.Errorf(textTooLong, len(t.text), maxTemplate)
	case t.isJSON && (t.value.IsArray() || t.value.Type == gjson.Null):
		return errors.New(textNotTemplate)
	case strings.HasPrefix(t.text, "{") && !t.isJSON:
		return errors.New(textBrokenObject)
	case !t.isObject() && (strings.Contains(t.text, argumentsPlace) || strings.Contains(t.text, reasonPlace)):
		return fmt.Errorf(textPlaceOutside, argumentsPlace, reasonPlace)
	}
	if t.isObject() {
		return checkMembers(t.value, place, new(int))
	}
	return nil
}

// checkMembers returns an error if a name is repeated in an object, or if a placeholder is not
// valid. places counts the placeholders.
func checkMembers(v gjson.Result, place string, places *int) (err error) {
	var names []string
	v.ForEach(func(k, member gjson.Result) bool {
		if v.IsObject() {
			if slices.ContainsFunc(names, func(name string) bool { return agui.SameKey(name, k.Str) }) {
				err = fmt.Errorf(textNameTwice, k.Str)
				return false
			}
			names = append(names, k.Str)
		}
		switch text := member.Str; {
		case strings.Contains(k.Str, argumentsPlace), strings.Contains(k.Str, reasonPlace):
			err = fmt.Errorf(textPlaceAsName, k.Str)
		case member.IsObject() || member.IsArray():
			err = checkMembers(member, place, places)
		case text == place:
			if *places++; *places > 1 || !v.IsObject() {
				err = fmt.Errorf(textPlaceTwice, place)
			}
		case strings.HasPrefix(text, "$"), strings.Contains(text, argumentsPlace), strings.Contains(text, reasonPlace):
			err = fmt.Errorf(textUnknownPlace, text, place)
		}
		return err == nil
	})
	return err
}

// pathOf returns the path of a placeholder in the template, or nil if the template does not have
// it.
func (t template) pathOf(place string) []string {
	if !t.isObject() {
		return nil
	}
	var path []string
	each(t.value, nil, func(at []string, v gjson.Result) {
		if v.Str == place {
			path = at
		}
	})
	return path
}

// each calls do for every value in an object, also in nested objects, except for the objects
// themselves. at is the path of the value.
func each(v gjson.Result, at []string, do func(at []string, v gjson.Result)) {
	v.ForEach(func(k, member gjson.Result) bool {
		if here := append(slices.Clone(at), k.Str); member.IsObject() {
			each(member, here, do)
		} else {
			do(here, member)
		}
		return true
	})
}

// valueAt returns the value at a path. The names in the path must match exactly.
func valueAt(v gjson.Result, path []string) gjson.Result {
	for _, name := range path {
		next := gjson.Result{}
		v.ForEach(func(k, member gjson.Result) bool {
			if k.Str == name {
				next = member
			}
			return !next.Exists()
		})
		v = next
	}
	return v
}

// differingPaths returns the paths of those members of the yes that have another value in the no,
// or do not exist there.
func differingPaths(yes, no gjson.Result) [][]string {
	var paths [][]string
	each(yes, nil, func(path []string, v gjson.Result) {
		if v.Str != argumentsPlace && !same(v, valueAt(no, path)) {
			paths = append(paths, path)
		}
	})
	return paths
}

func same(a, b gjson.Result) bool {
	return a.Exists() && b.Exists() && bytes.Equal(agui.Canonical([]byte(a.Raw)), agui.Canonical([]byte(b.Raw)))
}

// with returns the template with value in place of the placeholder.
func (t template) with(place string, value json.RawMessage) []byte {
	if !t.isObject() {
		return []byte(t.text)
	}
	return appendWith(nil, t.value, place, value)
}

func appendWith(dst []byte, v gjson.Result, place string, value json.RawMessage) []byte {
	switch {
	case v.IsObject():
		return append(dst, kit.MapMembers(v, func(_, member gjson.Result) string { return string(appendWith(nil, member, place, value)) })...)
	case v.Type == gjson.String && v.Str == place && place != "":
		return agui.AppendCompact(dst, value)
	}
	return agui.AppendCompact(dst, []byte(v.Raw))
}

// Schema returns the responseSchema of a question that is answered with these words.
func (w Words) Schema() string {
	if w.arguments == nil && w.reason == nil {
		return kit.ApprovalSchema
	}
	properties := `{"approved":{"type":"boolean"}`
	if w.arguments != nil {
		properties += `,"editedArgs":{"type":"object"}`
	}
	if w.reason != nil {
		properties += `,"reason":{"type":"string"}`
	}
	return `{"type":"object","properties":` + properties + `},"required":["approved"]}`
}
