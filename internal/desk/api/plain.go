package api

import (
	"encoding/json"
	"unicode/utf8"
)

// maxNested bounds how deep JSON of others may be nested inside an answer. .NET's reader takes 64
// levels, Jackson's and Python's about 1,000, and the answer itself has ten.
const maxNested = 50

// plain reports whether every client can read JSON that stands in an answer as it is: valid UTF-8,
// not nested too deep. One value that is not would make the whole list unreadable.
func plain(text []byte) bool { return utf8.Valid(text) && !nestedDeeper(text, maxNested) }

// nestedDeeper reports whether valid JSON has more than levels objects and arrays in each other.
func nestedDeeper(text []byte, levels int) bool {
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

// orRaw returns JSON of others as it stands in an answer. Where clients could not read that, it
// returns its text and why.
func orRaw(text json.RawMessage) (value json.RawMessage, raw, note string) {
	switch {
	case !utf8.Valid(text):
		return nil, string(text), noteBroken
	case !plain(text):
		return nil, string(text), noteDeep
	}
	return text, "", ""
}
