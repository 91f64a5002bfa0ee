package kit

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Backends do not read JSON alike. .NET matches keys in any case and uses the last of two equal
// keys. Python accepts tool_calls for toolCalls and uses the last of two equal keys. Code that must
// not miss a value reads it in every spelling that one of them accepts.

// Texts returns the strings among the values that ValuesAt returns.
func Texts(object gjson.Result, path ...string) []string {
	var out []string
	for _, v := range ValuesAt(object, path...) {
		if v.Type == gjson.String {
			out = append(out, v.Str)
		}
	}
	return out
}

// IsTool reports whether a message has the role tool, in any spelling.
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

// Calls returns the tool calls of a message, with keys in any spelling.
func Calls(m gjson.Result) []gjson.Result {
	var list []gjson.Result
	for _, v := range Members(m, "toolCalls") {
		list = append(list, v.Array()...)
	}
	return list
}

// Members returns all members of an object with the name, in any spelling. Code that must not miss
// a value reads all of them, because backends differ in the one that they use.
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

// ValuesAt returns all values at a path of names, in any spelling and including repeated keys.
func ValuesAt(object gjson.Result, path ...string) []gjson.Result {
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

// CheckText returns an error if value is a string with JSON text in which an object has a key
// twice. Other texts have no keys, so the error is nil.
func CheckText(value gjson.Result, place agui.KeyPlace) error {
	parsed := ParseText(value)
	if value.Type != gjson.String || parsed.Type == gjson.String {
		return nil
	}
	return agui.CheckKeysIn(parsed.Raw, place)
}

// MayContain reports whether a lower-case word may appear in JSON text, in any case and in escapes.
// rare is a letter that occurs once in the word and rarely in texts, or 0.
func MayContain(json []byte, word string, rare byte) bool {
	return hasWord(json, word, rare) || escapesLetters(json)
}

// escapesLetters reports whether an ASCII letter may be written as \u0041 to \u007a. Python escapes
// what is not ASCII, and .NET and Go escape some signs, but no common encoder escapes letters.
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

// hasWord reports whether the text contains a lower-case word in any case. It searches for the
// letter rare. If rare is 0, it makes a copy of the text.
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
