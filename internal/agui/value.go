package agui

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unsafe"
)

// Bounds of the numbers with which Holdpoint calculates: the number of decimal digits, and the
// power of ten. Both exceed the bounds of a float64. Numbers need bounds because JSON Schema
// requires exact arithmetic, which would write out all zeros of 1e999999.
const (
	MaxDigits   = 400
	MaxExponent = 400
)

// A Value is a JSON text as a Go value, together with its measures.
type Value struct {
	Any    any // as encoding/json decodes it with UseNumber; texts share the memory of the JSON
	Count  int // number of values and keys
	Depth  int // 1 for a value that contains no other value
	Digits int // number of digits of the longest number, if it is written without an exponent
}

// ParseValue parses JSON into Go values. It returns an error if raw is not valid JSON or exceeds a
// bound: it has more than most values and keys, is nested deeper than MaxDepth, or has a number
// beyond MaxDigits or MaxExponent.
func ParseValue(raw []byte, most int) (Value, error) {
	p := valueParser{s: unsafe.String(unsafe.SliceData(raw), len(raw)), most: most}
	p.Any = p.value(1)
	if p.err == nil && skipSpace(p.s, p.i) != len(p.s) {
		p.err = ErrNoJSON
	}
	return p.Value, p.err
}

// A valueParser parses the text s from position i on. It stops at the first error.
type valueParser struct {
	Value
	s    string
	i    int
	most int
	err  error
}

func (p *valueParser) fail(err error) any {
	if p.err == nil {
		p.err = err
	}
	p.i = len(p.s)
	return nil
}

// peek returns the next byte that is not white space, or 0 at the end.
func (p *valueParser) peek() byte {
	if p.i = skipSpace(p.s, p.i); p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *valueParser) value(depth int) any {
	first := p.peek()
	p.Depth = max(p.Depth, depth)
	if p.Count++; p.Count > p.most {
		return p.fail(fmt.Errorf(textTooManyValues, p.most))
	}
	switch {
	case depth > MaxDepth && (first == '{' || first == '['):
		return p.fail(ErrNoJSON)
	case first == '{':
		return p.object(depth)
	case first == '[':
		return p.array(depth)
	case first == '-' || isDigit(first):
		return p.number()
	}
	raw := p.token(valueEnd(p.s, p.i, 0))
	switch raw {
	case "true":
		return true
	case "false":
		return false
	case "null", "":
		return nil
	}
	return Text(raw)
}

// token returns the text from the current position up to end, and moves to end. It fails if end is
// -1.
func (p *valueParser) token(end int) string {
	if end < 0 {
		p.fail(ErrNoJSON)
		return ""
	}
	raw := p.s[p.i:end]
	p.i = end
	return raw
}

// object parses an object. If a key is repeated, its last value counts.
func (p *valueParser) object(depth int) any {
	object := map[string]any{}
	for more := p.open('}'); more; more = p.more('}') {
		if p.peek() != '"' {
			return p.fail(ErrNoJSON)
		}
		end, _ := stringEnd(p.s, p.i+1)
		key := Text(p.token(end))
		p.Count++
		if p.peek() != ':' {
			return p.fail(ErrNoJSON)
		}
		p.i++
		object[key] = p.value(depth + 1)
	}
	return object
}

func (p *valueParser) array(depth int) any {
	list := []any{}
	for more := p.open(']'); more; more = p.more(']') {
		list = append(list, p.value(depth+1))
	}
	return list
}

// open reads the opening bracket, and reports whether the object or array has at least one element.
func (p *valueParser) open(closing byte) bool {
	p.i++
	if p.peek() == closing {
		p.i++
		return false
	}
	return true
}

// more reports whether another member or element follows.
func (p *valueParser) more(closing byte) bool {
	switch c := p.peek(); {
	case c == ',':
		p.i++
		return true
	case c == closing && c != 0:
		p.i++
	default:
		p.fail(ErrNoJSON)
	}
	return false
}

func (p *valueParser) number() any {
	raw := p.token(numberEnd(p.s, p.i))
	digits, exponent := numberSize(raw)
	if digits > MaxDigits || exponent > MaxExponent || exponent < -MaxExponent {
		return p.fail(fmt.Errorf(textNumberTooLong, MaxDigits, MaxExponent))
	}
	p.Digits = max(p.Digits, digits+max(exponent, -exponent))
	return json.Number(raw)
}

// numberSize returns how many digits a number has before its exponent, and the exponent. It returns
// MaxExponent+1 for an exponent that is out of bounds.
func numberSize(raw string) (digits, exponent int) {
	for i := range len(raw) {
		switch c := raw[i]; {
		case isDigit(c):
			digits++
		case c|0x20 == 'e':
			e, err := strconv.Atoi(raw[i+1:])
			if err != nil || e > MaxExponent || e < -MaxExponent {
				e = MaxExponent + 1
			}
			return digits, e
		}
	}
	return digits, 0
}
