package marks

import (
	"sync"
	"unicode"
)

// isWord reports whether a character is part of a word.
func isWord(r rune) bool {
	switch {
	case 'a' <= r|0x20 && r|0x20 <= 'z', '0' <= r && r <= '9':
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd)
}

// readWord reads the word at the scanner's position to its end, because a letter is also judged by
// those after it.
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
	s.wordEnd, s.fools = i, w.fools(s.how)
}

// A word counts the letters of a word by script.
type word struct {
	latin, others, like int
	back                bool // whether Latin letters follow others
	plain               bool // whether the last letters that are not Latin include one that looks like no Latin letter
}

func (w *word) add(r rune) {
	switch {
	case !unicode.IsLetter(r):
	case unicode.Is(unicode.Latin, r):
		w.back = w.back || w.others > 0
		w.latin++
	default:
		w.others++
		if lookalikes()[r] != 0 {
			w.like++
		} else {
			w.plain = true
		}
	}
}

// fools reports whether the word's lookalikes are marked. A Latin word with an ending of another
// script, such as Russian "SMSкой", is not misleading if the ending shows its script.
func (w *word) fools(how How) bool {
	switch {
	case w.like == 0:
		return false
	case w.latin > 0:
		return w.back || !w.plain
	}
	return how == Identifier && w.like == w.others
}

// lookalikes maps letters that are not Latin to the letter or digit of ASCII that they look like.
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
