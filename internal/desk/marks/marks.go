// Package marks finds characters in a text that a person cannot see, or that look like something
// else: characters without a shape, controls that change the direction of text, and letters of one
// script in a word of another script. When the desk's page shows a text to a person who decides, it
// shows the marks of the text too.
//
// The package changes no text. It does not mark a text because of its language: a word in a single
// script is not marked. It follows UTR #36 and UTS #39 (Unicode security) and CVE-2021-42574. The
// file table.go has the marked characters. The cost is linear in the size of the text.
package marks

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Class is the severity of a mark.
type Class string

// ClassA means that a person cannot see what the text is. ClassB means that the text is not what it
// seems, but this is mostly harmless.
const (
	ClassA Class = "A"
	ClassB Class = "B"
)

// A Mark is a sequence of marked characters in a text.
type Mark struct {
	Class Class  `json:"class"`
	Kind  Kind   `json:"kind"`
	Name  string `json:"name,omitempty"` // name of the first character, such as U+202E RLO; "" for More
	// At and Length are counted in characters (code points) of the text.
	At     int `json:"at"`
	Length int `json:"length"`
	Count  int `json:"count"` // number of characters; an escape of JSON counts as one
	// Decoded is the text that hidden characters encode, or the text for which a person takes
	// lookalikes.
	Decoded string `json:"decoded,omitempty"`
}

// A Reading says how a text is read.
type Reading int

// Text reads any text. Identifier reads a name: in a name, a lookalike is marked even if the whole
// word consists of lookalikes. JSON reads JSON text: an escape counts as the character that it
// encodes.
const (
	Text Reading = iota
	Identifier
	JSON
)

// Limits of the marks of one text. If there are more marks, a last mark of the kind More counts the
// characters of the rest.
const (
	maxMarks   = 100
	maxDecoded = 1000 // in bytes
)

// Find returns the marks of a text, in the order of the text.
func Find(text string, reading Reading) []Mark {
	c := collector{}
	scan(text, reading, func(h hit) bool { c.add(h); return true })
	c.finish()
	return c.marks
}

// IsGrave reports whether a text has a mark of class A.
func IsGrave(text string, reading Reading) (grave bool) {
	scan(text, reading, func(h hit) bool { grave = h.class == ClassA; return !grave })
	return grave
}

// WithinFirst returns those marks of list that are in the first characters of the text. A mark of
// the kind More replaces the marks after them.
func WithinFirst(list []Mark, characters int) []Mark {
	for n, m := range list {
		if m.At+m.Length <= characters && m.At < characters {
			continue
		}
		rest := Mark{Class: ClassB, Kind: More, At: characters}
		if AnyGrave(list[n:]) {
			rest.Class = ClassA
		}
		for _, m := range list[n:] {
			rest.Count += m.Count
		}
		return append(list[:n:n], rest)
	}
	return list
}

// AnyGrave reports whether a mark of the list has class A.
func AnyGrave(list []Mark) bool {
	return slices.ContainsFunc(list, func(m Mark) bool { return m.Class == ClassA })
}

// A hit is one character that is marked.
type hit struct {
	class     Class
	kind      Kind
	r         rune
	at        int
	length    int
	lookalike byte // if it is a lookalike: the ASCII character that it looks like
}

// A collector joins hits to marks.
type collector struct {
	marks      []Mark
	first      rune
	hasSeveral bool // the current mark has more than one character
	hidden     []byte
}

func (c *collector) add(h hit) {
	if n := len(c.marks) - 1; n >= 0 {
		m := &c.marks[n]
		switch {
		case m.Kind == More:
			m.Count++
			if h.class == ClassA {
				m.Class = ClassA
			}
			return
		case m.Kind == h.kind && m.At+m.Length == h.at:
			m.Length += h.length
			m.Count++
			c.hasSeveral = c.hasSeveral || h.r != c.first
			c.decode(h)
			return
		}
	}
	c.finish()
	if len(c.marks) == maxMarks {
		c.marks = append(c.marks, Mark{Class: h.class, Kind: More, At: h.at, Count: 1})
		return
	}
	c.marks = append(c.marks, Mark{Class: h.class, Kind: h.kind, At: h.at, Length: h.length, Count: 1})
	c.first, c.hasSeveral, c.hidden = h.r, false, c.hidden[:0]
	c.decode(h)
}

func (c *collector) decode(h hit) {
	b := h.lookalike
	switch {
	case len(c.hidden) >= maxDecoded:
		return
	case h.kind == Tag && h.r >= 0xE0020 && h.r < 0xE007F:
		b = byte(h.r - 0xE0000)
	case h.kind == Variation: // a variation selector can hide one byte
		b = variationNumber(h.r)
	case h.kind != Lookalike:
		return
	}
	c.hidden = append(c.hidden, b)
}

// finish completes the last mark.
func (c *collector) finish() {
	n := len(c.marks) - 1
	if n < 0 || c.marks[n].Kind == More {
		return
	}
	m := &c.marks[n]
	m.Name = nameOf(c.first, m.Kind)
	if c.hasSeveral {
		m.Name = fmt.Sprintf(textAndOthers, m.Name)
	}
	if m.Kind != Variation || isReadable(c.hidden) {
		m.Decoded = string(c.hidden)
	}
}

// isReadable reports whether b is a text of at least three characters. Other hidden bytes are not
// shown as text.
func isReadable(b []byte) bool {
	if !utf8.Valid(b) || utf8.RuneCount(b) < 3 {
		return false
	}
	for _, r := range string(b) {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

// variationNumber returns the number of a variation selector, counted from 0.
func variationNumber(r rune) byte {
	if r >= 0xE0100 {
		return byte(r - 0xE0100 + 16)
	}
	return byte(r - 0xFE00)
}

// nameOf returns the code point of a character and its name, if it has one, such as U+202E RLO.
func nameOf(r rune, kind Kind) string {
	name := names[r]
	switch {
	case name != "":
	case kind == Lookalike:
		name = scriptOf(r)
	case kind == Tag:
		name = "TAG"
	case kind == Variation && r >= 0xFE00:
		name = fmt.Sprintf("VS%d", int(variationNumber(r))+1)
	}
	return strings.TrimSuffix(fmt.Sprintf("U+%04X %s", r, name), " ")
}

// scriptOf returns the name of a letter's script.
func scriptOf(r rune) string {
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return strings.ReplaceAll(name, "_", " ")
		}
	}
	return ""
}
