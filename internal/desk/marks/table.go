package marks

import "unicode"

// A Kind says why a character is marked.
type Kind string

// The kinds of marks. Stack means many accents on one letter. A mark of the kind More counts the
// characters of the marks that are not listed.
const (
	Bidi       Kind = "bidi"
	Tag        Kind = "tag"
	Joiner     Kind = "joiner"
	Variation  Kind = "variation"
	Invisible  Kind = "invisible"
	Control    Kind = "control"
	Line       Kind = "line"
	Private    Kind = "private"
	Unassigned Kind = "unassigned"
	Broken     Kind = "broken"
	Blank      Kind = "blank"
	Stack      Kind = "stack"
	Lookalike  Kind = "lookalike"
	Space      Kind = "space"
	More       Kind = "more"
)

// table lists the marked characters. If several rows have a character, the first row counts. The
// code in context.go decides if a character is harmless because of its neighbors, and that in
// words.go judges whole words.
var table = []struct {
	kind  Kind
	class Class
	has   func(rune) bool
}{
	{Bidi, ClassA, inTable(ranges(0x061C, 0x061C, 0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x2069))},
	{Tag, ClassA, inTable(ranges(0xE0000, 0xE007F))},
	{Joiner, ClassA, inTable(unicode.Join_Control)},
	{Variation, ClassA, inTable(unicode.Variation_Selector)},
	// Default_Ignorable_Code_Point without the characters above, and Cf. Some Arabic signs in these
	// classes are visible, so they are left out: they precede a number.
	{Invisible, ClassA, func(r rune) bool {
		return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}},
	{Control, ClassA, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }},
	{Line, ClassA, inTable(ranges(0x2028, 0x2029))},
	{Private, ClassA, inTable(unicode.Co)},
	// Code points that are not characters, and what replaces broken text: half of a surrogate pair,
	// invalid bytes.
	{Broken, ClassA, inTable(ranges(0xD800, 0xDFFF, 0xFDD0, 0xFDEF, 0xFFFD, 0xFFFF))},
	// Characters without a shape, although Unicode classifies them as symbols or marks: braille
	// without dots, a note without a head, Khitan's filler.
	{Blank, ClassA, inTable(ranges(0x2800, 0x2800, 0x16FE4, 0x16FE4, 0x1D159, 0x1D159))},
	{Space, ClassB, func(r rune) bool { return unicode.Is(unicode.Zs, r) && r != ' ' }},
	{Unassigned, ClassA, isUnassigned},
}

// plain has blocks of characters that are not in table. Most texts consist of these characters, so
// they are checked first.
var plain = ranges(
	0x20, 0x7E, 0xA1, 0xAC, 0xAE, 0x02FF, 0x0400, 0x052F, 0x05D0, 0x05EA, 0x0620, 0x065F, 0x3041, 0x3096,
	0x30A0, 0x30FF, 0x4E00, 0x9FFF, 0xAC00, 0xD7A3,
)

func inTable(t *unicode.RangeTable) func(rune) bool {
	return func(r rune) bool { return unicode.Is(t, r) }
}

// isUnassigned reports whether the version of Unicode that Go has does not know a character. It
// returns false for ideographs and emoji: each version of Unicode adds new ones, and they are
// visible, as themselves or as a box.
func isUnassigned(r rune) bool {
	switch {
	case r&0xFFFE == 0xFFFE:
		return true
	case r >= 0x20000 && r <= 0x3FFFD, unicode.Is(pictures, r):
		return false
	}
	return unicode.Is(unicode.Cn, r)
}

// pictures has the characters that are shown as emoji, or can be (Extended_Pictographic of UTS #51,
// which reserves whole blocks for future emoji).
var pictures = ranges(
	0xA9, 0xA9, 0xAE, 0xAE, 0x203C, 0x203C, 0x2049, 0x2049, 0x2122, 0x2122, 0x2139, 0x2139, 0x2194, 0x21AA,
	0x231A, 0x23FF, 0x24C2, 0x24C2, 0x25AA, 0x27BF, 0x2934, 0x2935, 0x2B05, 0x2B55, 0x3030, 0x3030,
	0x303D, 0x303D, 0x3297, 0x3297, 0x3299, 0x3299, 0x1F000, 0x1FAFF,
)

// joining has the scripts whose letters join or form clusters. In these scripts a joiner changes
// what a person reads.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Mandaic, unicode.Manichaean, unicode.Psalter_Pahlavi,
	unicode.Phags_Pa, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Sogdian, unicode.Chorasmian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Thai, unicode.Lao, unicode.Tibetan, unicode.Myanmar, unicode.Khmer,
	unicode.Balinese, unicode.Javanese, unicode.Sundanese, unicode.Meetei_Mayek, unicode.Chakma, unicode.Grantha, unicode.Newa,
}

// names has the common names of some characters.
var names = map[rune]string{
	0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0B: "VT", 0x0C: "FF", 0x0D: "CR", 0x1B: "ESC", 0x7F: "DEL", 0x85: "NEL",
	0xA0: "NBSP", 0xAD: "SHY", 0x034F: "CGJ", 0x061C: "ALM", 0x115F: "HANGUL FILLER", 0x1160: "HANGUL FILLER",
	0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM", 0x2028: "LINE SEPARATOR",
	0x2029: "PARAGRAPH SEPARATOR", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x202F: "NNBSP",
	0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0x2800: "BRAILLE BLANK",
	0x3000: "IDEOGRAPHIC SPACE", 0x3164: "HANGUL FILLER", 0xFEFF: "BOM", 0xFFA0: "HANGUL FILLER", 0xFFFD: "NOT A CHARACTER",
}

// ranges makes a table of characters. pairs has the first and the last character of each range in
// turn, in ascending order.
func ranges(pairs ...rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for n := 0; n < len(pairs); n += 2 {
		t.R32 = append(t.R32, unicode.Range32{Lo: uint32(pairs[n]), Hi: uint32(pairs[n+1]), Stride: 1})
	}
	return t
}

// classify returns the index of the row in table that has the character, or -1 if there is none.
func classify(r rune) int {
	if unicode.Is(plain, r) {
		return -1
	}
	for n := range table {
		if table[n].has(r) {
			return n
		}
	}
	return -1
}
