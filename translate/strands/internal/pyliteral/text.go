package pyliteral

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var errNoStr = errors.New("pyliteral: no str")

// quoteAt returns the position of the current string's opening quote, counted from 1. It is more
// than 1 if the string has prefix letters. quoteAt returns 0 if no string begins at the current
// byte.
func (r *reader) quoteAt() int {
	for n := range 3 {
		if r.at+n >= len(r.s) {
			return 0
		}
		switch r.s[r.at+n] {
		case '\'', '"':
			return n + 1
		case 'b', 'B', 'r', 'R', 'u', 'U':
		default:
			return 0
		}
	}
	return 0
}

// A prefix records the letters before a string that change how the string is read: b and r.
type prefix struct{ bytes, raw bool }

// text reads a string, and appends its content to out unless out is nil.
func (r *reader) text(out *[]byte) error {
	var p prefix
	for n := r.quoteAt() - 1; n > 0; n-- {
		switch r.s[r.at] {
		case 'b', 'B':
			p.bytes = true
		case 'r', 'R':
			p.raw = true
		}
		r.at++
	}
	quote := r.next()
	r.at++
	for r.at < len(r.s) {
		switch c := r.s[r.at]; {
		case c == quote:
			r.at++
			return nil
		case c == '\n' || p.bytes && c >= utf8.RuneSelf:
			return r.fail("a byte that cannot stand in a string")
		case c == '\\' && !p.raw:
			if err := r.escape(p, out); err != nil {
				return err
			}
		case c == '\\' && r.at+1 < len(r.s):
			// In a raw string both characters stay, and the second does not end the string.
			put(out, r.s[r.at:r.at+2])
			r.at += 2
		default:
			end := r.at + 1 // reads each byte once, and does not search to the end of the text
			for end < len(r.s) && r.s[end] != quote && r.s[end] != '\\' && r.s[end] != '\n' && !(p.bytes && r.s[end] >= utf8.RuneSelf) {
				end++
			}
			put(out, r.s[r.at:end])
			r.at = end
		}
	}
	return r.fail("a string does not end")
}

func put(out *[]byte, s string) {
	if out != nil {
		*out = append(*out, s...)
	}
}

// simple has the letters of the one-letter escapes, and meaning their characters in the same order.
const simple, meaning = `\'"abfnrtv`, "\\'\"\a\b\f\n\r\t\v"

// escape reads an escape, which begins with a backslash. As in Python, an unknown escape stands for
// its two characters.
func (r *reader) escape(p prefix, out *[]byte) error {
	if r.at+1 >= len(r.s) {
		return r.fail("a string does not end")
	}
	c := r.s[r.at+1]
	if n := strings.IndexByte(simple, c); n >= 0 {
		put(out, meaning[n:n+1])
		r.at += 2
		return nil
	}
	switch {
	case c == '\n':
		r.at += 2
		return nil
	case c >= '0' && c <= '7':
		r.at++
		code, n := 0, 0
		for ; n < 3 && r.next() >= '0' && r.next() <= '7'; n++ {
			code = code*8 + int(r.next()-'0')
			r.at++
		}
		putCode(p, out, code&0x1ff)
		return nil
	case c == 'x':
		return r.hex(p, out, 2)
	case c == 'u' && !p.bytes:
		return r.hex(p, out, 4)
	case c == 'U' && !p.bytes:
		return r.hex(p, out, 8)
	case c == 'N' && !p.bytes:
		return r.fail("an escape by name") // repr writes none
	}
	put(out, `\`)
	r.at++
	return nil
}

func (r *reader) hex(p prefix, out *[]byte, digits int) error {
	r.at += 2
	code := 0
	for range digits {
		n := strings.IndexByte("0123456789abcdef", r.next()|0x20)
		if n < 0 {
			return r.fail("an escape without its digits")
		}
		code = code<<4 | n
		r.at++
	}
	if code > utf8.MaxRune {
		return r.fail("an escape for no character")
	}
	putCode(p, out, code)
	return nil
}

// putCode appends the character with the given code to out, or in bytes the byte. Half of a
// surrogate pair, which a Python str may contain, becomes U+FFFD.
func putCode(p prefix, out *[]byte, code int) {
	switch {
	case out == nil:
	case p.bytes:
		*out = append(*out, byte(code))
	default:
		*out = utf8.AppendRune(*out, rune(code))
	}
}

// Str returns the text of s if it is a str literal. Otherwise it returns an error.
func Str(s string) (string, error) {
	r := reader{s: s}
	r.space()
	n := r.quoteAt()
	if n == 0 || strings.ContainsAny(s[r.at:r.at+n-1], "bB") {
		return "", errNoStr
	}
	var text []byte
	if err := r.text(&text); err != nil {
		return "", err
	}
	if r.space(); r.at < len(s) {
		return "", r.fail("more than a string")
	}
	return string(text), nil
}
