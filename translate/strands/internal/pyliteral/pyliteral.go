// Package pyliteral reads the output of Python's repr. It parses literals (str, bytes, int, float,
// True, False, None, list, tuple, dict, set), names, and calls with arguments, such as
// AgentResult(stop_reason='interrupt', ...). It skips objects in angle brackets as a whole.
//
// Each function checks the whole text in one pass, and returns parts of it as substrings. The
// content of a string is never read as syntax. So a text may safely contain parts from an attacker,
// such as a tool's input or a reason. A text that is not well-formed is an error. The package never
// searches such a text for a pattern.
//
// It deliberately does not read operators, comprehensions, f-strings, triple quotes and adjacent
// strings, because repr does not write them.
package pyliteral

import (
	"errors"
	"fmt"
	"strings"
)

// MaxDepth is the maximum depth to which values may be nested.
const MaxDepth = 200

var errDepth = errors.New("pyliteral: nested too deep")

// A reader reads the text s. at is the offset of the current byte. Each method moves at behind the
// part that it read.
type reader struct {
	s  string
	at int
}

func (r *reader) fail(what string) error {
	return fmt.Errorf("pyliteral: %s at byte %d", what, r.at)
}

// next returns the current byte without moving, or 0 at the end of the text.
func (r *reader) next() byte {
	if r.at < len(r.s) {
		return r.s[r.at]
	}
	return 0
}

func (r *reader) space() {
	for r.at < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.at]) >= 0 {
		r.at++
	}
}

// value skips one value, and checks that it is well-formed.
func (r *reader) value(depth int) error {
	if depth > MaxDepth {
		return errDepth
	}
	r.space()
	switch c := r.next(); {
	case r.bracket() != 0:
		return r.members(depth, nil)
	case c == '<':
		return r.angle(depth)
	case r.quoteAt() > 0:
		return r.text(nil)
	case c >= '0' && c <= '9', c == '-', c == '+', c == '.' && !strings.HasPrefix(r.s[r.at:], "..."):
		r.number()
		return nil
	case c == '.': // for a value that contains itself, repr writes ...
		r.at += 3
		return nil
	case isLetter(c):
		r.name()
		if r.next() == '(' {
			return r.members(depth, nil)
		}
		return nil
	}
	return r.fail("no value")
}

// bracket returns the closing bracket that belongs to the current opening bracket. It returns 0 if
// the current byte is not an opening bracket.
func (r *reader) bracket() byte {
	switch r.next() {
	case '[':
		return ']'
	case '(':
		return ')'
	case '{':
		return '}'
	}
	return 0
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

// name reads a name, which may contain dots.
func (r *reader) name() string {
	from := r.at
	for r.at < len(r.s) && (isLetter(r.s[r.at]) || r.s[r.at] >= '0' && r.s[r.at] <= '9' || r.s[r.at] == '.') {
		r.at++
	}
	return r.s[from:r.at]
}

// number skips a number. It also accepts complex and hexadecimal numbers.
func (r *reader) number() {
	r.at++
	for r.at < len(r.s) && (isLetter(r.s[r.at]) && r.s[r.at] < 0x80 || strings.IndexByte("0123456789.+-", r.s[r.at]) >= 0) {
		r.at++
	}
}

// A part is a member of a list, a dict or a call. key is the source text of a dict's key, or the
// name of a call's argument. It is "" for a member without either. value is the source text of the
// value.
type part struct{ key, value string }

// members reads from an opening bracket to its closing bracket. It calls the function each for
// every member, unless each is nil.
func (r *reader) members(depth int, each func(part) error) error {
	closing := r.bracket()
	r.at++
	for {
		if r.space(); r.next() == closing {
			r.at++
			return nil
		}
		p, err := r.member(closing, depth)
		if err != nil {
			return err
		}
		if each != nil {
			if err := each(p); err != nil {
				return err
			}
		}
		if err := r.comma(closing); err != nil {
			return err
		}
	}
}

// comma reads the comma after a member. If the closing bracket follows instead, it reads nothing.
func (r *reader) comma(closing byte) error {
	switch r.space(); r.next() {
	case ',':
		r.at++
		return nil
	case closing:
		return nil
	}
	return r.fail("neither a comma nor the end")
}

// member reads one member: a value, a key and a value of a dict (key: value), or an argument of a
// call (name=value).
func (r *reader) member(closing byte, depth int) (part, error) {
	from := r.at
	if err := r.value(depth + 1); err != nil {
		return part{}, err
	}
	one := r.s[from:r.at]
	r.space()
	if c := r.next(); c == ':' && closing == '}' || c == '=' && closing == ')' && isName(one) {
		r.at++
		r.space()
		from = r.at
		if err := r.value(depth + 1); err != nil {
			return part{}, err
		}
		return part{one, r.s[from:r.at]}, nil
	}
	return part{value: one}, nil
}

func isName(s string) bool {
	return s != "" && isLetter(s[0]) && !strings.ContainsAny(s, `'"([{<.`)
}

// angle skips an object in angle brackets, such as <Status.INTERRUPTED: 'interrupted'> or
// <agent.Agent object at 0x7f>. A __repr__ may write any text. So angle returns an error if a
// string in the object does not end before the next angle bracket. Neither a lone apostrophe nor a
// bracket in a string can then hide the text that follows.
func (r *reader) angle(depth int) error {
	open := 0
	for ; r.at < len(r.s); r.at++ {
		switch c := r.s[r.at]; c {
		case '<':
			if open++; depth+open > MaxDepth {
				return errDepth
			}
		case '>':
			if open--; open == 0 {
				r.at++
				return nil
			}
		case '\'', '"':
			end := strings.IndexAny(r.s[r.at+1:], string(c)+"<>")
			if end < 0 || r.s[r.at+1+end] != c {
				return r.fail("a string in angle brackets does not end")
			}
			r.at += 1 + end
		}
	}
	return r.fail("angle brackets do not end")
}

// Name returns the name of the function or class if s is a call, or "" if it is not.
func Name(s string) string {
	r := reader{s: s}
	r.space()
	if !isLetter(r.next()) || r.quoteAt() > 0 {
		return ""
	}
	if name := r.name(); r.next() == '(' {
		return name
	}
	return ""
}

// Each calls the function each for the members of s in order. s is a list, a tuple, a dict or a
// call. key is the key of a dict: the text of a str, or the source text of any other key. For a
// call, it is the name of the argument. Otherwise it is "". value is a part of s, which other
// functions of this package can read. Each checks all of s, unless the function each returns an
// error.
func Each(s string, each func(key, value string) error) error {
	r := reader{s: s}
	r.space()
	if isLetter(r.next()) && r.quoteAt() == 0 {
		r.name()
	}
	if r.bracket() == 0 {
		return r.fail("nothing with members")
	}
	err := r.members(0, func(p part) error {
		if key, err := Str(p.key); err == nil {
			p.key = key
		}
		return each(p.key, p.value)
	})
	if err != nil {
		return err
	}
	if r.space(); r.at < len(s) {
		return r.fail("more than one value")
	}
	return nil
}
