package marks

import (
	"sync"
	"unicode"
)

// isWord reports whether a character can be part of a word.
func isWord(r rune) bool {
	switch {
	case 'a' <= r|0x20 && r|0x20 <= 'z', '0' <= r && r <= '9':
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd)
}

// readWord reads the whole word at the scanner's position, because the letters that follow a letter
// also decide if it is marked.
func (s *scanner) readWord() {
	w := word{}
	i := s.i
	for {
		r, size, _ := s.read(i)
		if !isWord(r) {
			break
		}
		w.add(r)
		i += size
	}
	s.wordEnd, s.lookalikesMarked = i, w.marksLookalikes(s.reading)
}

// A word counts the letters of a word: latin those of the Latin script, others those of other
// scripts, and like those of the others that look like a letter or digit of ASCII.
type word struct {
	latin, others, like int
	latinFollowsOther   bool // a Latin letter follows a letter of another script
	// a letter of another script looks like no letter or digit of ASCII
	hasDistinctLetter bool
}

func (w *word) add(r rune) {
	switch {
	case !unicode.IsLetter(r):
	case unicode.Is(unicode.Latin, r):
		w.latinFollowsOther = w.latinFollowsOther || w.others > 0
		w.latin++
	default:
		w.others++
		if lookalikes()[r] != 0 {
			w.like++
		} else {
			w.hasDistinctLetter = true
		}
	}
}

// marksLookalikes reports whether the word's lookalikes are marked. They are not if a Latin word
// has an ending of another script that shows its script, such as Russian "SMSкой", because this
// does not mislead.
func (w *word) marksLookalikes(reading Reading) bool {
	switch {
	case w.like == 0:
		return false
	case w.latin > 0:
		return w.latinFollowsOther || !w.hasDistinctLetter
	}
	return reading == Identifier && w.like == w.others
}

// lookalikes maps each letter of another script to the letter or digit of ASCII that it looks like.
var lookalikes = sync.OnceValue(func() map[rune]byte {
	m := make(map[rune]byte, len(pairs)/4)
	from := rune(-1)
	for _, r := range pairs {
		if from < 0 {
			from = r
		} else {
			m[from], from = byte(r), -1
		}
	}
	return m
})
