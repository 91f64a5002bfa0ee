package marks

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads the characters of a text in order.
type scanner struct {
	text    string
	reading Reading

	i, at   int  // position of the next character, in bytes and in characters
	prev    rune // the previous character, -1 at the beginning
	base    rune // the last character that does not modify the emoji before it
	accents int  // number of accents on the current letter so far
	words   bool // the text may have letters beyond ASCII

	flagEnd          int  // end of the tags of the last flag
	wordEnd          int  // end of the last word
	lookalikesMarked bool // the lookalikes of the last word are marked
}

// maxHeap is the largest number of accents that one letter has in any written language.
const maxHeap = 8

// scan calls found for each marked character, until found returns false.
func scan(text string, reading Reading, yield func(hit) bool) {
	s := scanner{text: text, reading: reading, prev: -1, base: -1}
	s.words = !isASCII(text) || reading == JSON && strings.Contains(text, `\u`)
	for s.i < len(text) {
		r, size, length := s.read(s.i)
		if s.words && s.i >= s.wordEnd && isWord(r) {
			s.readWord()
		}
		h := hit{r: r, at: s.at, length: length}
		if s.judge(&h, size) && !yield(h) {
			return
		}
		s.i += size
		s.at += length
		if s.prev = r; !isModifier(r) {
			s.base = r
		}
	}
}

// judge reports whether the character of the hit h is marked, and sets the kind and the class of h.
func (s *scanner) judge(h *hit, size int) bool {
	if n := classify(h.r); n >= 0 {
		h.kind, h.class = table[n].kind, table[n].class
		return !s.isHarmless(h.kind, h.r, size)
	}
	if unicode.In(h.r, unicode.Mn, unicode.Me) {
		s.accents++
		h.kind, h.class = Stack, ClassA
		return s.accents > maxHeap
	}
	s.accents = 0
	if s.lookalikesMarked && s.i < s.wordEnd {
		h.kind, h.class, h.lookalike = Lookalike, ClassA, lookalikes()[h.r]
	}
	return h.lookalike != 0
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// read returns the character at byte i, its size in bytes, and its length in characters of the
// text. The character is -1 at the end of the text. It is U+FFFD for invalid bytes and for half of
// a surrogate pair.
func (s *scanner) read(i int) (r rune, size, length int) {
	switch {
	case i >= len(s.text):
		return -1, 0, 0
	case s.reading == JSON && s.text[i] == '\\' && i+1 < len(s.text):
		r, size = escape(s.text[i:])
		return r, size, size
	}
	r, size = utf8.DecodeRuneInString(s.text[i:])
	return r, size, 1
}

// escape parses the JSON escape at the beginning of a text. It returns the character and the length
// of the escape in bytes.
func escape(text string) (rune, int) {
	switch text[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		high, ok := escapeUnit(text)
		if !ok {
			break
		}
		if !utf16.IsSurrogate(high) {
			return high, 6
		}
		if low, ok := escapeUnit(text[6:]); ok {
			if r := utf16.DecodeRune(high, low); r != unicode.ReplacementChar {
				return r, 12
			}
		}
		return unicode.ReplacementChar, 6
	case '"', '\\', '/':
		return rune(text[1]), 2
	}
	return '\\', 1
}

// escapeUnit parses a JSON escape such as \u202e.
func escapeUnit(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(n), err == nil
}
