package kit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Backends read JSON in different ways. .NET matches keys in upper or lower case, and uses the last
// of two equal keys. Python accepts tool_calls for toolCalls, and uses the last of two equal keys.
// Code that must not miss a value reads it in every spelling that a backend accepts.

// Texts returns those values of ValuesAt that are strings.
func Texts(object gjson.Result, path ...string) []string {
	var out []string
	for _, v := range ValuesAt(object, path...) {
		if v.Type == gjson.String {
			out = append(out, v.Str)
		}
	}
	return out
}

// IDs returns the ids at a path of names: the texts of those values of ValuesAt that are ids
// (agui.IDText).
func IDs(object gjson.Result, path ...string) []string {
	var out []string
	for _, v := range ValuesAt(object, path...) {
		if id := agui.IDText(v); id != "" {
			out = append(out, id)
		}
	}
	return out
}

// IDsOrNone returns the ids at a path of names, as IDs does. If there is none, it returns one "",
// which stands for a call without an id.
func IDsOrNone(object gjson.Result, path ...string) []string {
	if ids := IDs(object, path...); len(ids) > 0 {
		return ids
	}
	return []string{""}
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

// Members returns the values of all members of an object that have the name, in any spelling. Code
// that must not miss a value reads all of them, because backends differ in which one they use.
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

// ValuesAt returns all values at a path of names. It reads the names in any spelling, and includes
// the values of repeated keys.
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

// CheckText returns an error if value is a string that contains JSON with a repeated key. It
// returns nil for any other string, because a plain text has no keys. There is one exception: JSON
// that is nested deeper than agui.MaxDepth is an error too. Holdpoint does not read it, but some
// backends do.
func CheckText(value gjson.Result, place agui.KeyPlace) error {
	if value.Type != gjson.String {
		return nil
	}
	parsed := ParseText(value)
	switch {
	case parsed.Type != gjson.String:
		return agui.CheckKeysIn(parsed.Raw, place)
	case beginsJSON(value.Str) && agui.TooDeep([]byte(value.Str)):
		return fmt.Errorf(textTooDeep, agui.MaxDepth)
	}
	return nil
}

// MayContain reports whether a lower-case word may appear in the JSON, in upper or lower case or
// with escaped letters. The parameter rare is a letter that occurs once in the word and rarely in
// texts, or 0.
func MayContain(json []byte, word string, rare byte) bool {
	return hasWord(json, word, rare) || escapesLetters(json)
}

// escapesLetters reports whether the body may contain an ASCII letter that is written as an escape,
// \u0041 to \u007a. Python escapes characters that are not ASCII, and .NET and Go escape some
// signs. No common encoder escapes letters.
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

// hasWord reports whether the body contains a lower-case word, in upper or lower case. To be fast,
// it searches for the letter rare. If rare is 0, it makes a copy of the body in lower case.
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
