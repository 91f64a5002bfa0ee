package agui

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// An Edit replaces, adds or removes the value of one key of an object. The new value is JSON, or,
// if JSON is nil, Text as a JSON string.
type Edit struct {
	Key    string // must be a constant of letters and underscores
	JSON   []byte
	Text   string
	Remove bool // removes the key and its value

	messages []Message // the new value as a list of messages, if isList
	isList   bool
}

// size returns roughly the number of bytes of the new value.
func (e Edit) size() int {
	size := len(e.JSON) + len(e.Text)
	for n := range e.messages {
		size += len(e.messages[n].JSON) + 1
	}
	return size
}

// SetKeys returns a copy of the object with the edits applied. All other bytes stay the same. The
// edits must have different keys. object must be a valid JSON object.
func SetKeys(object []byte, edits ...Edit) []byte {
	var few [4]editWithOld
	list := few[:0]
	size := len(object)
	for _, e := range edits {
		old := View(object).Get(e.Key)
		list = append(list, editWithOld{e, old})
		size += len(`,"":""`) + len(e.Key) + e.size() - len(old.Raw)
	}
	slices.SortStableFunc(list, func(a, b editWithOld) int { return cmp.Compare(a.old.Index, b.old.Index) })
	out, done := make([]byte, 0, size), 0
	for _, e := range list {
		switch {
		case !e.old.Exists():
		case e.Remove:
			from, to := extent(object, e.old)
			out, done = append(out, object[done:max(from, done)]...), to
		default:
			out = e.appendTo(append(out, object[done:e.old.Index]...))
			done = e.old.Index + len(e.old.Raw)
		}
	}
	out = append(out, object[done:]...)
	for _, e := range list {
		if !e.old.Exists() && !e.Remove {
			out = e.addTo(bytes.Trim(out, whiteSpace))
		}
	}
	return out
}

// editWithOld is an Edit together with the value that it replaces, if the object has the key.
type editWithOld struct {
	Edit
	old gjson.Result
}

func (e editWithOld) appendTo(dst []byte) []byte {
	switch {
	case e.isList:
		return appendList(dst, e.messages)
	case e.JSON != nil:
		return append(dst, e.JSON...)
	}
	return AppendString(dst, e.Text)
}

// addTo adds the key with its value to the object, as the last member.
func (e editWithOld) addTo(object []byte) []byte {
	some := HasMembers(object)
	object = object[:len(object)-1]
	if some {
		object = append(object, ',')
	}
	object = append(append(append(object, '"'), e.Key...), '"', ':')
	return append(e.appendTo(object), '}')
}

const whiteSpace = " \t\r\n"

// SetKey returns the object with the value at path replaced or added. All other bytes stay the
// same. object must be valid JSON, because sjson would replace anything else by a new object. path
// must be a constant, because a text of a client could contain characters with a special meaning in
// paths.
func SetKey(object []byte, path string, value []byte) []byte {
	if isOwn(object, path) {
		return SetKeys(object, Edit{Key: path, JSON: value})
	}
	out, err := sjson.SetRawBytes(object, path, slices.Clone(value))
	if err != nil { // SetRawBytes fails only for an empty path, or one with wildcards
		panic("agui: " + err.Error())
	}
	return out
}

// SetString is like SetKey, with a string as the value.
func SetString(object []byte, path, value string) []byte {
	if isOwn(object, path) {
		return SetKeys(object, Edit{Key: path, Text: value})
	}
	return SetKey(object, path, AppendString(nil, value))
}

// DeleteKey returns the object without the value at path, which must be a constant.
func DeleteKey(object []byte, path string) []byte {
	old := View(object).Get(path)
	switch {
	case !old.Exists():
		return object
	case isOwn(object, path):
		return withoutMember(object, old)
	}
	out, err := sjson.DeleteBytes(object, path)
	if err != nil {
		panic("agui: " + err.Error())
	}
	return out
}

// isOwn reports whether path is a key of the object itself and not of a nested one. This is so in
// nearly every edit. SetKeys then needs one allocation, and sjson would need four.
func isOwn(object []byte, path string) bool {
	for n := range len(path) {
		if c := path[n]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return path != "" && View(object).IsObject()
}

// withoutMember returns the object without the member that has this value, and without the member's
// comma.
func withoutMember(object []byte, value gjson.Result) []byte {
	from, to := extent(object, value)
	return append(append(make([]byte, 0, len(object)-(to-from)), object[:from]...), object[to:]...)
}

// extent returns the bounds of the member that has this value. They include the comma before the
// member, or, for the first member, the comma after it.
func extent(object []byte, value gjson.Result) (from, to int) {
	colon := bytes.LastIndexByte(object[:value.Index], ':')
	key := object[:bytes.LastIndexByte(object[:colon], '"')]
	before := bytes.TrimRight(key[:bytes.LastIndexByte(key, '"')], whiteSpace)
	behind := object[value.Index+len(value.Raw):]
	if last := len(before) - 1; before[last] == ',' {
		before = before[:last]
	} else if rest := bytes.TrimLeft(behind, whiteSpace); rest[0] == ',' {
		behind = rest[1:]
	}
	return len(before), len(object) - len(behind)
}

// WithID returns the object with id as its first member, because all backends write the id first.
func WithID(object []byte, id string) []byte {
	object = DeleteKey(object, "id")
	out := append(make([]byte, 0, len(object)+len(id)+len(`{"id":"",`)), `{"id":`...)
	out = AppendString(out, id)
	if !HasMembers(object) {
		return append(out, '}')
	}
	return append(append(out, ','), object[1:]...)
}
