// Package yesno is how a backend is told yes and no, where nothing on the wire says it: by two
// templates that the operator writes. NewWords refuses a no that a backend could read as the yes.
//
// A tool message carries them as text (package calls), and an answer of an agent that takes
// any value carries them as JSON (Rules). It does not know how either travels.
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

// The placeholders of a template. Each is a whole string in a JSON object.
const (
	argumentsPlace = "$arguments" // in a yes: what the call is to run with
	reasonPlace    = "$reason"    // in a no: why, "" if nobody said
)

// maxTemplate bounds a template, in bytes.
const maxTemplate = 4 << 10

// A Template is the content of a tool message, as an option has it: a JSON object, in which
// placeholders may stand, another JSON value, or words.
type Template string

// UnmarshalText reads the value of a variable.
func (t *Template) UnmarshalText(text []byte) error {
	*t = Template(strings.TrimSpace(string(text)))
	return nil
}

// String returns the template as it was written.
func (t Template) String() string { return string(t) }

// Denials implements the check of options that are sent for a no.
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

// Words are how a backend is told yes and no. Make them with NewWords.
type Words struct {
	yes, no template
	// telling are the paths of members by which the two differ. nil: they are not objects.
	telling           [][]string
	arguments, reason []string // where those stand; nil: nowhere
}

type template struct {
	text   string
	value  gjson.Result // if isJSON
	isJSON bool
}

func (t template) isObject() bool { return t.isJSON && t.value.IsObject() }

// WordError says which of the two templates is wrong.
type WordError struct {
	No  bool // not the yes
	Err error
}

// Error says what is wrong.
func (e *WordError) Error() string {
	return map[bool]string{true: "no", false: "yes"}[e.No] + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *WordError) Unwrap() error { return e.Err }

// NewWords makes words of two templates. It refuses a no that a backend could read as the yes. Of
// the backend it assumes one of these readers:
//
//   - It compares the whole, or looks for the yes in it, in any case, with or without what is
//     neither letter nor digit.
//   - It looks for a word that says yes, in whatever language of programs: ok, true, approve, ...
//   - It looks at a member by which the yes and the no differ, in any spelling: whether it is
//     there, whether it is true, or what it is.
//   - It asks whether the JSON is true, if the yes is true or a number.
//
// No text and no object is a no to a backend that only asks whether an answer came.
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
		w.telling = differing(w.yes.value, w.no.value)
	}
	if err := w.apartValue(); err != nil {
		return Words{}, &WordError{true, err}
	}
	return w, nil
}

// check says what is wrong with one template, in which only the one placeholder may stand.
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

// checkMembers looks for names that stand twice and for strings that stand for nothing.
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

// pathOf returns where a placeholder stands, nil if it does not.
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

// each calls do for everything in an object that is not an object itself.
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

// valueAt returns the value at a path, as the template has it.
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

// differing returns the paths of the yes at which the no says something else.
func differing(yes, no gjson.Result) [][]string {
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

// with returns the template with a value in the place of a placeholder.
func (t template) with(place string, value json.RawMessage) []byte {
	if !t.isObject() {
		return []byte(t.text)
	}
	return appendWith(nil, t.value, place, value)
}

func appendWith(dst []byte, v gjson.Result, place string, value json.RawMessage) []byte {
	switch {
	case v.IsObject():
		dst = append(dst, '{')
		v.ForEach(func(k, member gjson.Result) bool {
			dst = kit.AppendMember(dst, k.Raw, string(appendWith(nil, member, place, value)))
			return true
		})
		return append(dst, '}')
	case v.Type == gjson.String && v.Str == place && place != "":
		return agui.AppendCompact(dst, value)
	}
	return agui.AppendCompact(dst, []byte(v.Raw))
}

// Schema returns the responseSchema of a question that is answered in these words.
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
