package strands

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A Body is the JSON of a request to the backend, with placeholders. A string that is a placeholder
// is replaced by its value, which may be of any type.
type Body string

// placeholders maps each placeholder of a Body to the key of the client's request that has its
// value. If the key is "", the dialect makes the value.
var placeholders = map[string]string{
	"$prompt": "", "$session": "",
	"$thread": "threadId", "$run": "runId", "$state": "state", "$forwardedProps": "forwardedProps", "$messages": "messages", "$context": "context", "$tools": "tools",
}

var errBody = errors.New(textNotBody)

func (b Body) check() error {
	if !agui.ValidJSON([]byte(b)) || !gjson.Parse(string(b)).IsObject() {
		return errBody
	}
	prompts := 0
	var unknown string
	b.walk(gjson.Parse(string(b)), func(name string) {
		if _, known := placeholders[name]; !known {
			unknown = name
		}
		if name == "$prompt" {
			prompts++
		}
	})
	switch {
	case unknown != "":
		return fmt.Errorf(textUnknownPlaceholder, unknown, strings.Join(sortedKeys(placeholders), ", "))
	case prompts != 1:
		return errBody
	}
	return nil
}

func (b Body) walk(v gjson.Result, each func(name string)) {
	switch {
	case v.IsObject() || v.IsArray():
		v.ForEach(func(_, inner gjson.Result) bool {
			b.walk(inner, each)
			return true
		})
	case v.Type == gjson.String && strings.HasPrefix(v.Str, "$"):
		each(v.Str)
	}
}

// with returns the body of a run: b with the values in place of the placeholders. prompt is JSON
// text.
func (b Body) with(in agui.RunInput, prompt []byte, session string) []byte {
	return appendWith(nil, gjson.Parse(string(b)), func(name string) json.RawMessage {
		switch name {
		case "$prompt":
			return prompt
		case "$session":
			return agui.MustMarshal(session)
		}
		if v := gjson.GetBytes(in.Raw, placeholders[name]); v.Exists() { // the path is a constant, not the client's
			return json.RawMessage(v.Raw)
		}
		return json.RawMessage("null")
	})
}

func appendWith(dst []byte, v gjson.Result, of func(name string) json.RawMessage) []byte {
	switch {
	case v.IsObject():
		return append(dst, kit.MapMembers(v, func(_, inner gjson.Result) string { return string(appendWith(nil, inner, of)) })...)
	case v.IsArray():
		dst = append(dst, '[')
		for n, inner := range v.Array() {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = appendWith(dst, inner, of)
		}
		return append(dst, ']')
	case v.Type == gjson.String && strings.HasPrefix(v.Str, "$"):
		return append(dst, of(v.Str)...)
	}
	return append(dst, v.Raw...)
}

// Headers are the headers of every request to the backend. The method with replaces $session in
// their values.
type Headers []header

type header struct{ name, value string }

func (h Headers) with(session string) map[string][]string {
	m := map[string][]string{}
	for _, one := range h {
		m[one.name] = []string{strings.ReplaceAll(one.value, "$session", session)}
	}
	return m
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}

// canonical returns the name of a header in the form of net/http.
func canonical(name string) string {
	b, upper := []byte(strings.ToLower(name)), true
	for i, c := range b {
		if upper && c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
		upper = c == '-'
	}
	return string(b)
}
