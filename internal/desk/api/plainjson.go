package api

import (
	"encoding/json"
	"unicode/utf8"
)

// maxNested is the deepest nesting of foreign JSON in a response. .NET's parser accepts 64 levels,
// Jackson's and Python's about 1,000. The response itself has ten levels.
const maxNested = 50

// isPlainJSON reports whether every client can read this foreign JSON in a response: it is valid
// UTF-8, and not nested too deep. One value that a client cannot read would make the whole list
// unreadable.
func isPlainJSON(text []byte) bool { return utf8.Valid(text) && !isNestedDeeper(text, maxNested) }

// isNestedDeeper reports whether the objects and arrays in valid JSON are nested deeper than the
// number levels.
func isNestedDeeper(text []byte, levels int) bool {
	open, inText := 0, false
	for n := 0; n < len(text); n++ {
		switch c := text[n]; {
		case inText:
			switch c {
			case '\\':
				n++
			case '"':
				inText = false
			}
		case c == '"':
			inText = true
		case c == '{', c == '[':
			if open++; open > levels {
				return true
			}
		case c == '}', c == ']':
			open--
		}
	}
	return false
}

// valueOrRaw returns foreign JSON unchanged as value if all clients can read it. Otherwise it
// returns its text as raw, with a note that explains why.
func valueOrRaw(text json.RawMessage) (value json.RawMessage, raw, note string) {
	switch {
	case !utf8.Valid(text):
		return nil, string(text), noteBroken
	case !isPlainJSON(text):
		return nil, string(text), noteDeep
	}
	return text, "", ""
}
