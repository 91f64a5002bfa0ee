package agui

import (
	"bytes"
	"math/bits"
	"strings"
	"unsafe"
)

// MaxDepth is the deepest nesting of JSON that Holdpoint reads. gjson recurses, and a stack
// overflow would end the process. encoding/json fails at more than 10,000 levels, and Python's
// json.loads at about 1,000.
const MaxDepth = 1000

// ValidJSON reports whether b is valid JSON, nested at most MaxDepth deep. Call it before you use
// bytes of a client or a backend.
func ValidJSON(b []byte) bool { return ValidText(unsafe.String(unsafe.SliceData(b), len(b))) }

// PythonNumber returns the length of the number at the start of a text that Python writes and JSON
// does not have, or 0 if there is none.
func PythonNumber(b []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(b, []byte(word)) {
			return len(word)
		}
	}
	return 0
}

// ValidText is like ValidJSON, for a string.
func ValidText(s string) bool {
	end := valueEnd(s, skipSpace(s, 0), 0)
	return end >= 0 && skipSpace(s, end) == len(s)
}

// TooDeep reports whether b is nested deeper than MaxDepth.
func TooDeep(b []byte) bool { return DeeperThan(b, MaxDepth) }

// DeeperThan reports whether the objects and arrays in b are nested deeper than the number levels.
func DeeperThan(b []byte, levels int) bool {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = endOfString(b, i+1)
		case '{', '[':
			if depth++; depth > levels {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// endOfString returns the position of the quote that ends a string, or len(b) if there is no such
// quote. from is the position after the string's first quote.
func endOfString(b []byte, from int) int {
	for i := from; ; i++ {
		next := bytes.IndexByte(b[i:], '"')
		if next < 0 {
			return len(b)
		}
		i += next
		escapes := i
		for escapes > from && b[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i
		}
	}
}

// Each function below that returns an end returns the position after the value that begins at i, or
// -1 if there is no valid JSON at i (RFC 8259). Like gjson.Valid and encoding/json, the functions
// accept invalid UTF-8.

// valueEnd returns the end of a value of any type. depth is the number of objects and arrays around
// the value.
func valueEnd(s string, i, depth int) int {
	if i >= len(s) {
		return -1
	}
	switch c := s[i]; {
	case c == '"':
		end, _ := stringEnd(s, i+1)
		return end
	case c == '{' || c == '[':
		if depth == MaxDepth {
			return -1
		}
		return nestEnd(s, skipSpace(s, i+1), depth+1, c)
	case c == '-' || isDigit(c):
		return numberEnd(s, i)
	case c == 't':
		return wordEnd(s, i, "true")
	case c == 'f':
		return wordEnd(s, i, "false")
	case c == 'n':
		return wordEnd(s, i, "null")
	}
	return -1
}

// nestEnd returns the end of an object or an array. i is the position after its opening bracket and
// the white space behind that.
func nestEnd(s string, i, depth int, opening byte) int {
	closing := opening + '}' - '{' // turns { into }, and [ into ]
	if i < len(s) && s[i] == closing {
		return i + 1
	}
	for {
		if opening == '{' {
			_, _, _, i = member(s, i, depth, false)
		} else {
			i = valueEnd(s, i, depth)
		}
		if i < 0 {
			return -1
		}
		i = skipSpace(s, i)
		switch {
		case i >= len(s):
			return -1
		case s[i] == closing:
			return i + 1
		case s[i] != ',':
			return -1
		}
		i = skipSpace(s, i+1)
	}
}

// member reads the member of an object whose key begins at i. It returns the end of the key,
// whether the key has escapes, and the beginning and the end of the value. If checked is true, the
// text is known to be valid, so the value is skipped without a check.
func member(s string, i, depth int, checked bool) (behind int, escaped bool, value, end int) {
	if i >= len(s) || s[i] != '"' {
		return -1, false, -1, -1
	}
	if behind, escaped = stringEnd(s, i+1); behind < 0 {
		return -1, false, -1, -1
	}
	colon := skipSpace(s, behind)
	if colon >= len(s) || s[colon] != ':' {
		return -1, false, -1, -1
	}
	value = skipSpace(s, colon+1)
	if checked {
		return behind, escaped, value, skipValue(s, value)
	}
	if value < len(s) && s[value] == '"' {
		end, _ = stringEnd(s, value+1)
		return behind, escaped, value, end
	}
	return behind, escaped, value, valueEnd(s, value, depth)
}

// stringEnd returns the end of a string, and whether the string has escapes. i is the position
// after the string's first quote. It checks eight bytes at once, and in a long string 32 bytes.
func stringEnd(s string, i int) (end int, escaped bool) {
	for i < len(s) {
		if len(s)-i >= 8 {
			marks := stringMarks(s[i:])
			if marks == 0 {
				i += 8
				for len(s)-i >= 32 && stringMarks(s[i:])|stringMarks(s[i+8:])|stringMarks(s[i+16:])|stringMarks(s[i+24:]) == 0 {
					i += 32
				}
				continue
			}
			i += bits.TrailingZeros64(marks) / 8
		}
		switch c := s[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i++; i < len(s) && s[i] == '"' {
				i++ // \" is the most frequent escape
			} else if i = escapeEnd(s, i); i < 0 {
				return -1, true
			}
		case c < ' ':
			return -1, escaped
		default:
			i++
		}
	}
	return -1, escaped
}

// stringMarks returns a word with one bit for each of the first eight bytes of s: the high bit of
// the byte is set if the byte is a quote, a backslash or a control character. Above the lowest bit
// that is set, another bit may be set by mistake, so callers use only the lowest bit.
func stringMarks(s string) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
		// turns a quote into a space, so one comparison finds quotes and control characters
		turn = ('"' ^ ' ') * ones
	)
	_ = s[7]
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	return (((x ^ turn) - '!'*ones) | ((x ^ '\\'*ones) - ones)) &^ x & high
}

// skipValue returns the end of the value that begins at i in valid JSON. For other text it returns
// a position without meaning, or -1.
func skipValue(s string, i int) int {
	for depth := 0; i < len(s); {
		switch s[i] {
		case '"':
			if i = skipString(s, i+1); i < 0 || depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + max(depth+1, 0) // the bracket of an object around a number is not a part of it
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}

// skipString returns the end of a string in valid JSON. i is the position after the string's first
// quote.
func skipString(s string, i int) int {
	if len(s)-i >= 8 {
		if marks := stringMarks(s[i:]); marks != 0 {
			if end := i + bits.TrailingZeros64(marks)/8; s[end] == '"' {
				return end + 1 // as most keys and ids
			}
		}
	}
	for from := i; ; {
		n := strings.IndexByte(s[from:], '"')
		if n < 0 {
			return -1
		}
		from += n + 1
		escapes := from - 1
		for escapes > i && s[escapes-1] == '\\' {
			escapes--
		}
		if (from-1-escapes)%2 == 0 {
			return from
		}
	}
}

// escapeEnd returns the end of an escape sequence. i is the position after its backslash.
func escapeEnd(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch s[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if len(s)-i > 4 && isHex(s[i+1]) && isHex(s[i+2]) && isHex(s[i+3]) && isHex(s[i+4]) {
			return i + 5
		}
	}
	return -1
}

func numberEnd(s string, i int) int {
	if s[i] == '-' {
		i++
	}
	switch whole := skipDigits(s, i); {
	case whole == i:
		return -1
	case s[i] == '0':
		i++ // a further digit after a leading 0 is invalid
	default:
		i = whole
	}
	if i < len(s) && s[i] == '.' {
		end := skipDigits(s, i+1)
		if end == i+1 {
			return -1
		}
		i = end
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		end := skipDigits(s, i)
		if end == i {
			return -1
		}
		i = end
	}
	return i
}

func wordEnd(s string, i int, word string) int {
	if !strings.HasPrefix(s[i:], word) {
		return -1
	}
	return i + len(word)
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

func skipDigits(s string, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
