package marks

import (
	"strings"
	"unicode"
)

// flags has the tags that may follow a black flag: each makes one of the flags that Unicode
// recommends.
var flags = []string{"gbeng", "gbsct", "gbwls"}

const (
	zwj, zwnj  = 0x200D, 0x200C
	vs15, vs16 = 0xFE0E, 0xFE0F
	keycap     = 0x20E3
	blackFlag  = 0x1F3F4
	cancelTag  = 0xE007F
)

// isModifier reports whether a character changes the emoji before it: it is a variation selector or
// a skin tone.
func isModifier(r rune) bool {
	return r == vs15 || r == vs16 || r >= 0x1F3FB && r <= 0x1F3FF
}

// isHarmless reports whether a character of the table is harmless because of the characters around
// it.
func (s *scanner) isHarmless(kind Kind, r rune, size int) bool {
	next, _, _ := s.read(s.i + size)
	switch kind {
	case Control:
		return r == '\r' && next == '\n'
	case Joiner:
		if r == zwj && unicode.Is(pictures, s.base) && (s.prev == s.base || isModifier(s.prev)) && unicode.Is(pictures, next) {
			return true
		}
		return joinerMatters(s.prev, next)
	case Variation:
		switch {
		case r == vs15 || r == vs16:
			return unicode.Is(pictures, s.prev) || next == keycap && strings.ContainsRune("0123456789#*", s.prev)
		// selectors of ideographs in names; selectors beyond these are not in use
		case r >= 0xE0100 && r <= 0xE010F:
			return unicode.Is(unicode.Han, s.prev)
		}
		return r < 0xFE00 && unicode.Is(unicode.Mongolian, s.prev) && unicode.IsLetter(s.prev)
	case Tag:
		return s.inFlag()
	case Invisible:
		return r == 0x180E && unicode.Is(unicode.Mongolian, s.prev) && unicode.Is(unicode.Mongolian, next)
	case Space:
		return r == 0x3000 && (isCJK(s.prev) || isCJK(next))
	}
	return false
}

// joinerMatters reports whether a joiner between the characters prev and next changes how they are
// written.
func joinerMatters(prev, next rune) bool {
	if !isLetterOrMark(prev) {
		return false
	}
	for _, script := range joining {
		if !unicode.Is(script, prev) {
			continue
		}
		// After a mark that suppresses a vowel, a joiner has an effect even at the end of a word.
		return isLetterOrMark(next) && unicode.Is(script, next) || unicode.IsMark(prev) && !unicode.Is(unicode.Join_Control, next)
	}
	return false
}

func isLetterOrMark(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// isCJK reports whether a character belongs to a script whose texts have spaces as wide as
// ideographs.
func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) ||
		r > 0x3000 && r <= 0x303F || r >= 0xFF01 && r <= 0xFFEE
}

// inFlag reports whether the tag at the scanner's position is part of a flag.
func (s *scanner) inFlag() bool {
	if s.prev == blackFlag {
		s.flagEnd = 0
		for _, flag := range flags {
			s.flagEnd = max(s.flagEnd, s.flagTagsEnd(flag))
		}
	}
	return s.i < s.flagEnd
}

// flagTagsEnd returns the end of the tags of the given flag if they begin at the scanner's
// position, and 0 otherwise.
func (s *scanner) flagTagsEnd(flag string) int {
	i := s.i
	for _, c := range []byte(flag) {
		r, size, _ := s.read(i)
		if r != 0xE0000+rune(c) {
			return 0
		}
		i += size
	}
	r, size, _ := s.read(i)
	if r != cancelTag {
		return 0
	}
	return i + size
}
