package kit

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Backends do not read JSON alike: .NET matches keys in any case and takes the last of two, Python
// takes tool_calls for toolCalls and the last of two equal keys. Who must not overlook a thing
// reads it as any of them might.

// Texts returns the strings at a path of names, found as by Every.
func Texts(object gjson.Result, path ...string) []string {
	var out []string
	for _, v := range Every(object, path...) {
		if v.Type == gjson.String {
			out = append(out, v.Str)
		}
	}
	return out
}

// IsTool reports whether a message is one of a tool, in any spelling.
func IsTool(m gjson.Result) bool {
	is := false
	if m.IsObject() {
		m.ForEach(func(k, v gjson.Result) bool {
			is = strings.EqualFold(v.Str, "tool") && agui.SameKey(k.Str, "role")
			return !is
		})
	}
	return is
}

// Calls returns the tool calls of a message, in any spelling.
func Calls(m gjson.Result) []gjson.Result {
	var list []gjson.Result
	for _, v := range Members(m, "toolCalls") {
		list = append(list, v.Array()...)
	}
	return list
}

// Members returns the members of an object with that name, in whatever spelling: .NET matches keys
// in any case and takes the last of two, Python takes tool_calls for toolCalls. Who must not
// overlook one looks at all of them.
func Members(object gjson.Result, name string) []gjson.Result {
	var list []gjson.Result
	if object.IsObject() {
		object.ForEach(func(k, v gjson.Result) bool {
			if agui.SameKey(k.Str, name) {
				list = append(list, v)
			}
			return true
		})
	}
	return list
}

// Every returns the values at a path of names, in whatever spelling, and of keys that stand twice
// each.
func Every(object gjson.Result, path ...string) []gjson.Result {
	list := []gjson.Result{object}
	for _, name := range path {
		var next []gjson.Result
		for _, v := range list {
			next = append(next, Members(v, name)...)
		}
		list = next
	}
	return list
}

func first(object gjson.Result, name string) gjson.Result {
	if list := Members(object, name); len(list) > 0 {
		return list[0]
	}
	return gjson.Result{}
}

// CheckText returns an error if a value is JSON text, and an object in it has a key twice. Other
// texts have no keys.
func CheckText(value gjson.Result, place agui.KeyPlace) error {
	parsed := ParseText(value)
	if value.Type != gjson.String || parsed.Type == gjson.String {
		return nil
	}
	return agui.CheckKeysIn(parsed.Raw, place)
}

// MaySay reports whether a lower-case word may stand in JSON text, in any case and in escapes. rare
// is a letter that it has once, or 0.
func MaySay(json []byte, word string, rare byte) bool {
	return hasWord(json, word, rare) || escapesLetters(json)
}

// escapesLetters reports whether an ASCII letter may be written as \u0041 to \u007a. Python escapes
// all that is not ASCII, and .NET and Go some signs, but nobody letters.
func escapesLetters(body []byte) bool {
	for {
		_, rest, found := bytes.Cut(body, []byte(`\u00`))
		if !found {
			return false
		}
		if len(rest) > 0 && rest[0] >= '4' && rest[0] <= '7' {
			return true
		}
		body = rest
	}
}

// hasWord looks for a lower-case word in any case, by a letter that it has once and texts have
// seldom. Without such a letter it takes a copy of the text.
func hasWord(body []byte, word string, rare byte) bool {
	at := strings.IndexByte(word, rare)
	if at < 0 {
		return bytes.Contains(bytes.ToLower(body), []byte(word))
	}
	for _, c := range [...]byte{rare, rare - 'a' + 'A'} {
		for from := at; from < len(body); from++ {
			next := bytes.IndexByte(body[from:], c)
			if next < 0 {
				break
			}
			from += next
			if begin := from - at; len(body)-begin >= len(word) && strings.EqualFold(string(body[begin:begin+len(word)]), word) {
				return true
			}
		}
	}
	return false
}
