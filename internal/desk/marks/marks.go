// Package marks finds characters in a text that cannot be seen, or that look like something else:
// characters without a shape, controls that change the direction of text, and letters of one script
// in a word of another. A page that shows a text to a person who decides shows its marks as well.
//
// The package changes no text. It marks no text because of its language: a word in a single script
// is not marked. It follows UTR #36 and UTS #39 (Unicode security) and CVE-2021-42574; table.go has
// the marked characters. Its cost is linear in the text.
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

// A: a person cannot see what the text is. B: the text is not what it seems, which is mostly
// harmless.
const (
	A Class = "A"
	B Class = "B"
)

// A Mark is a sequence of such characters.
type Mark struct {
	Class Class  `json:"class"`
	Kind  Kind   `json:"kind"`
	Name  string `json:"name,omitempty"` // name of the first character, such as U+202E RLO; "" for More
	// At and Length count characters (code points) of the text.
	At     int `json:"at"`
	Length int `json:"length"`
	Count  int `json:"count"` // number of characters; an escape of JSON counts as one
	// Decoded is the text that hidden characters encode, or what lookalikes look like.
	Decoded string `json:"decoded,omitempty"`
}

// A How is how a text is read.
type How int

// Text reads any text. Identifier reads a name: lookalikes in it are marked even if the whole word
// consists of them. JSON reads JSON text: an escape counts as the character that it encodes.
const (
	Text How = iota
	Identifier
	JSON
)

// Limits of the marks of one text. After the last one, a mark of kind More counts the rest.
const (
	maxMarks   = 100
	maxDecoded = 1000 // bytes
)

// Find returns the marks of a text in order.
func Find(text string, how How) []Mark {
	c := collector{}
	scan(text, how, func(h hit) bool { c.add(h); return true })
	c.finish()
	return c.marks
}

// Grave reports whether a text has a mark of class A.
func Grave(text string, how How) (grave bool) {
	scan(text, how, func(h hit) bool { grave = h.class == A; return !grave })
	return grave
}

// Before returns the marks of a text's first characters. A mark of kind More stands for the marks
// after them.
func Before(list []Mark, characters int) []Mark {
	for n, m := range list {
		if m.At+m.Length <= characters && m.At < characters {
			continue
		}
		rest := Mark{Class: B, Kind: More, At: characters}
		if AnyGrave(list[n:]) {
			rest.Class = A
		}
		for _, m := range list[n:] {
			rest.Count += m.Count
		}
		return append(list[:n:n], rest)
	}
	return list
}

// AnyGrave reports whether one of the marks is of class A.
func AnyGrave(list []Mark) bool {
	return slices.ContainsFunc(list, func(m Mark) bool { return m.Class == A })
}

// A hit is one marked character.
type hit struct {
	class  Class
	kind   Kind
	r      rune
	at     int
	length int
	like   byte // the ASCII character that a lookalike looks like
}

// A collector makes marks from hits.
type collector struct {
	marks   []Mark
	first   rune
	several bool // the current mark has more than one character
	hidden  []byte
}

func (c *collector) add(h hit) {
	if n := len(c.marks) - 1; n >= 0 {
		m := &c.marks[n]
		switch {
		case m.Kind == More:
			m.Count++
			if h.class == A {
				m.Class = A
			}
			return
		case m.Kind == h.kind && m.At+m.Length == h.at:
			m.Length += h.length
			m.Count++
			c.several = c.several || h.r != c.first
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
	c.first, c.several, c.hidden = h.r, false, c.hidden[:0]
	c.decode(h)
}

func (c *collector) decode(h hit) {
	b := h.like
	switch {
	case len(c.hidden) >= maxDecoded:
		return
	case h.kind == Tag && h.r >= 0xE0020 && h.r < 0xE007F:
		b = byte(h.r - 0xE0000)
	case h.kind == Variation: // each variation selector can hide one byte
		b = variationNumber(h.r)
	case h.kind != Lookalike:
		return
	}
	c.hidden = append(c.hidden, b)
}

// finish ends the last mark.
func (c *collector) finish() {
	n := len(c.marks) - 1
	if n < 0 || c.marks[n].Kind == More {
		return
	}
	m := &c.marks[n]
	m.Name = nameOf(c.first, m.Kind)
	if c.several {
		m.Name = fmt.Sprintf(textAndOthers, m.Name)
	}
	if m.Kind != Variation || readable(c.hidden) {
		m.Decoded = string(c.hidden)
	}
}

// readable reports whether bytes are a text of at least three characters. Other hidden bytes are
// not shown as text.
func readable(b []byte) bool {
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

// variationNumber returns the number of a variation selector.
func variationNumber(r rune) byte {
	if r >= 0xE0100 {
		return byte(r - 0xE0100 + 16)
	}
	return byte(r - 0xFE00)
}

// nameOf returns the name of a character.
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
