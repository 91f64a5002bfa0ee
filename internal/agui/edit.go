package agui

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// An Edit is a new value for one of an object's own keys. The value is JSON, or a text if the JSON
// is nil.
type Edit struct {
	Key  string // constant, of letters and underscores
	JSON []byte
	Text string
	Gone bool // the key goes, with its value

	messages []Message // with listed: the list of them, written where it goes
	listed   bool
}

// size is about how many bytes the value takes.
func (e Edit) size() int {
	size := len(e.JSON) + len(e.Text)
	for n := range e.messages {
		size += len(e.messages[n].JSON) + 1
	}
	return size
}

// SetKeys returns the object with some values replaced or added, in one copy. Every other byte
// stays. The keys must differ. object must be valid JSON and an object.
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
		case e.Gone:
			from, to := extent(object, e.old)
			out, done = append(out, object[done:max(from, done)]...), to
		default:
			out = e.appendTo(append(out, object[done:e.old.Index]...))
			done = e.old.Index + len(e.old.Raw)
		}
	}
	out = append(out, object[done:]...)
	for _, e := range list {
		if !e.old.Exists() && !e.Gone {
			out = e.addTo(bytes.Trim(out, whiteSpace))
		}
	}
	return out
}

// editWithOld is an edit with the value that it replaces, if there is one.
type editWithOld struct {
	Edit
	old gjson.Result
}

func (e editWithOld) appendTo(dst []byte) []byte {
	switch {
	case e.listed:
		return appendList(dst, e.messages)
	case e.JSON != nil:
		return append(dst, e.JSON...)
	}
	return AppendString(dst, e.Text)
}

// addTo appends it to an object as the last member.
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

// SetKey returns the object with one value replaced or added. Every other byte stays. object must
// be valid JSON, because sjson makes a new object of anything else. path must be constant, because
// a client's text could be a path of its own.
func SetKey(object []byte, path string, value []byte) []byte {
	if isOwn(object, path) {
		return SetKeys(object, Edit{Key: path, JSON: value})
	}
	out, err := sjson.SetRawBytes(object, path, slices.Clone(value))
	if err != nil { // only an empty or wild path
		panic("agui: " + err.Error())
	}
	return out
}

// SetString is SetKey with a string value.
func SetString(object []byte, path, value string) []byte {
	if isOwn(object, path) {
		return SetKeys(object, Edit{Key: path, Text: value})
	}
	return SetKey(object, path, AppendString(nil, value))
}

// DeleteKey returns the object without the value at the constant path.
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

// isOwn reports whether the path is a key of the object's own, as in nearly every edit. What takes
// sjson four allocations takes one here.
func isOwn(object []byte, path string) bool {
	for n := range len(path) {
		if c := path[n]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return path != "" && View(object).IsObject()
}

// withoutMember returns the object without a member and without one comma: the one before it, or
// the one behind it if it is the first.
func withoutMember(object []byte, value gjson.Result) []byte {
	from, to := extent(object, value)
	return append(append(make([]byte, 0, len(object)-(to-from)), object[:from]...), object[to:]...)
}

// extent returns where the member with a value stands, with the comma before it, or behind it if it
// is the first.
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

// LastOf returns the object with the last of its members of that name, as JSON.parse has it, and
// without the others. An object with at most one is returned as it is.
func LastOf(object []byte, name string) []byte {
	times := 0
	for m := MembersOf(object); m.Next(); {
		if m.Name() == name {
			times++
		}
	}
	if times < 2 {
		return object
	}
	out := append(make([]byte, 0, len(object)), '{')
	for m := MembersOf(object); m.Next(); {
		if m.Name() == name {
			if times--; times > 0 {
				continue
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.Key...), ':'), m.Value...)
	}
	return append(out, '}')
}

// WithID returns an object with the id in the first place, where every producer has it.
func WithID(object []byte, id string) []byte {
	object = DeleteKey(object, "id")
	out := append(make([]byte, 0, len(object)+len(id)+len(`{"id":"",`)), `{"id":`...)
	out = AppendString(out, id)
	if !HasMembers(object) {
		return append(out, '}')
	}
	return append(append(out, ','), object[1:]...)
}
