package agui

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// SetKey is the object with one value replaced or added, every other byte as it was. object must be valid JSON (sjson
// makes a new object of anything else) and path constant (a client's text could be a path of its own).
func SetKey(object []byte, path string, value []byte) []byte {
	if old, ok := member(object, path); ok {
		if !old.Exists() {
			return added(object, path, value)
		}
		return slices.Concat(object[:old.Index], value, object[old.Index+len(old.Raw):])
	}
	out, err := sjson.SetRawBytes(object, path, slices.Clone(value))
	if err != nil { // only an empty or wild path
		panic("agui: " + err.Error())
	}
	return out
}

// SetString is SetKey with a string value.
func SetString(object []byte, path, value string) []byte {
	var few [256]byte
	return SetKey(object, path, AppendString(few[:0], value))
}

// DeleteKey is the object without the value at the constant path.
func DeleteKey(object []byte, path string) []byte {
	if !View(object).Get(path).Exists() {
		return object
	}
	out, err := sjson.DeleteBytes(object, path)
	if err != nil {
		panic("agui: " + err.Error())
	}
	return out
}

// member is the object's own value under a name, which need not exist. What sjson would do to it takes one allocation here, not
// four: nearly every edit is of one. false where it is for sjson: the path goes deeper, or object is none.
func member(object []byte, path string) (gjson.Result, bool) {
	for n := range len(path) {
		if c := path[n]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return gjson.Result{}, false
		}
	}
	root := View(object)
	if path == "" || !root.IsObject() {
		return gjson.Result{}, false
	}
	return root.Get(path), true
}

// added is the object with one more member, the last one. White space around it goes.
func added(object []byte, name string, value []byte) []byte {
	object = bytes.Trim(object, whiteSpace)
	before := bytes.TrimRight(object[:len(object)-1], whiteSpace)
	comma := ","
	if len(before) == 1 {
		comma = ""
	}
	return slices.Concat(object[:len(object)-1], []byte(comma), []byte(`"`), []byte(name), []byte(`":`), value, []byte("}"))
}

const whiteSpace = " \t\r\n"
