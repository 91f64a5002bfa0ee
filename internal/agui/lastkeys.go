package agui

import (
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// WithLastKeys returns the JSON without those members that a later member with the same key
// replaces, in every object of the text. JSON.parse and most other readers use the last of two
// equal keys, and gjson uses the first. So after WithLastKeys, both read the same. If no key is
// repeated, it returns json itself. The text must be valid JSON that is nested at most MaxDepth
// deep. The cost is linear in the size of the text.
func WithLastKeys(json []byte) []byte {
	if CheckKeys(json, KeysOfData) == nil {
		return json
	}
	w := replacedMembers{text: unsafe.String(unsafe.SliceData(json), len(json))}
	w.value(skipSpace(w.text, 0))
	slices.SortFunc(w.found, func(a, b [2]int) int { return a[0] - b[0] })
	out, done := make([]byte, 0, len(json)), 0
	for _, one := range w.found {
		if one[0] >= done { // otherwise a member around it is left out
			out, done = append(out, json[done:one[0]]...), one[1]
		}
	}
	return append(out, json[done:]...)
}

// replacedMembers finds the members that a later member with the same key replaces.
type replacedMembers struct {
	text string
	// found has the bounds of each such member. They include the comma after it, because another
	// member follows.
	found [][2]int
}

// value reads the JSON value at index i and returns the index after it.
func (w *replacedMembers) value(i int) int {
	switch w.text[i] {
	case '{':
		return w.object(i)
	case '[':
		for i = skipSpace(w.text, i+1); w.text[i] != ']'; {
			if i = skipSpace(w.text, w.value(i)); w.text[i] == ',' {
				i = skipSpace(w.text, i+1)
			}
		}
		return i + 1
	}
	return valueEnd(w.text, i, 0)
}

func (w *replacedMembers) object(begin int) int {
	s := w.text
	latest := map[string][2]int{} // the bounds of the latest member with each key
	i := skipSpace(s, begin+1)
	for s[i] != '}' {
		from := i
		behind, _ := stringEnd(s, i+1)
		key := decodeKey(s[i:behind])
		i = skipSpace(s, w.value(skipSpace(s, skipSpace(s, behind)+1)))
		if s[i] == ',' {
			i = skipSpace(s, i+1)
		}
		// U+FFFD may stand for any half of a surrogate pair, so such keys may differ
		if !strings.ContainsRune(key, utf8.RuneError) {
			if before, repeated := latest[key]; repeated {
				w.found = append(w.found, before)
			}
			latest[key] = [2]int{from, i}
		}
	}
	return i + 1
}
