package marks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"holdpoint/internal/test/hostile"
)

// tags returns an ASCII text, encoded as Unicode tag characters, which are invisible.
func tags(text string) string {
	var b strings.Builder
	for _, c := range text {
		b.WriteRune(0xE0000 + c)
	}
	return b.String()
}

// selectors returns bytes, encoded as Unicode variation selectors, which are invisible.
func selectors(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 16 {
			b.WriteRune(0xFE00 + rune(c))
		} else {
			b.WriteRune(0xE0100 + rune(c) - 16)
		}
	}
	return b.String()
}

// shown returns a mark as a short text.
func shown(m Mark) string {
	text := fmt.Sprintf("%s %s %d+%d", m.Class, m.Kind, m.At, m.Length)
	if m.Count != m.Length {
		text += fmt.Sprintf(" ×%d", m.Count)
	}
	if text += " " + m.Name; m.Decoded != "" {
		text += " = " + m.Decoded
	}
	return text
}

// vectors are texts, each with the marks that must be found in it.
var vectors = []struct {
	name, text string
	how        Reading
	want       []string
}{
	{"plain text", "Refund 100 EUR, please.\n\tThanks – “Ann” … 5 € ± ½", Text, nil},
	{"lines of Windows", "a\r\nb\r\n", Text, nil},
	{"a return alone", "pay 1\rpay 2", Text, []string{"A control 5+1 U+000D CR"}},
	{"an override turns the order around", "invoice\u202Efdp.exe", Text, []string{"A bidi 7+1 U+202E RLO"}},
	{"isolates and marks of direction", "a\u2066b\u2069\u200F", Text, []string{"A bidi 1+1 U+2066 LRI", "A bidi 3+2 U+2069 PDI and others"}},
	{"a run is one mark", "x" + strings.Repeat("\u200B", 5000) + "y", Text, []string{"A invisible 1+5000 U+200B ZWSP"}},
	{"zero and one in characters without width", "a\u200B\u2060\u200B\u2060b", Text, []string{"A invisible 1+4 U+200B ZWSP and others"}},
	{"hidden text in tags", "ok" + tags("pay 1900 EUR") + ".", Text, []string{"A tag 2+12 U+E0070 TAG and others = pay 1900 EUR"}},
	{"hidden text behind a flag", "🏴" + tags("pay") + "\U000E007F", Text, []string{"A tag 1+4 U+E0070 TAG and others = pay"}},
	{"hidden text in selectors", "😀" + selectors("ignore the limit"), Text, []string{"A variation 1+16 U+E0159 VS106 and others = ignore the limit"}},
	{"a control, a line of its own, nothing", "a\x00\u0085\u2028\u2029", Text, []string{"A control 1+2 U+0000 NUL and others", "A line 3+2 U+2028 LINE SEPARATOR and others"}},
	{"an escape of a terminal", "\x1b[2J", Text, []string{"A control 0+1 U+001B ESC"}},
	{"a hyphen that is not seen", "pay\u00ADpal", Text, []string{"A invisible 3+1 U+00AD SHY"}},
	{"fillers and blanks", "\u3164\u2800\U0001D159", Text, []string{"A invisible 0+1 U+3164 HANGUL FILLER", "A blank 1+2 U+2800 BRAILLE BLANK and others"}},
	{"a mark of byte order", "\uFEFFa", Text, []string{"A invisible 0+1 U+FEFF BOM"}},
	{"private use, no character, not assigned", "\uE000\uFFFE\u0378", Text, []string{"A private 0+1 U+E000", "A broken 1+1 U+FFFE", "A unassigned 2+1 U+0378"}},
	{"what was no text", "a\xff\xfe", Text, []string{"A broken 1+2 U+FFFD NOT A CHARACTER"}},
	{"accents that are heaped", "Z" + strings.Repeat("\u0300", 20), Text, []string{"A stack 9+12 U+0300"}},
	{"spaces of other widths", "1\u00A0000\u2009€\u3000x", Text, []string{"B space 1+1 U+00A0 NBSP", "B space 5+1 U+2009", "B space 7+1 U+3000 IDEOGRAPHIC SPACE"}},

	{"a Latin word with a letter of another script", "p\u0430ypal, and \u0430pple", Text, []string{"A lookalike 1+1 U+0430 Cyrillic = a", "A lookalike 12+1 U+0430 Cyrillic = a"}},
	{"the same in Greek, large", "\u0391MOUNT", Text, []string{"A lookalike 0+1 U+0391 Greek = A"}},
	{"letters beside each other are one", "\u0440\u0430ypal", Text, []string{"A lookalike 0+2 U+0440 Cyrillic and others = pa"}},
	{"in the middle of a word, beside one that looks like none", "pa\u0443\u043Cent", Text, []string{"A lookalike 2+1 U+0443 Cyrillic = y"}},
	{"letters of mathematics", "\U0001D429ay", Text, []string{"A lookalike 0+1 U+1D429 Common = p"}},
	{"a word of lookalikes in a name", "\u0440\u0430\u0443\u0440\u0430.com", Identifier, []string{"A lookalike 0+5 U+0440 Cyrillic and others = paypa"}},
	{"and in a text", "\u0440\u0430\u0443\u0440\u0430.com", Text, nil},
	{"and a word in a name that shows its script", "сумма_total", Identifier, nil},

	{"Russian", "Возврат средств за заказ, сор и ухо", Text, nil},
	{"Russian with Latin words", "iPhone и SMSкой по email-у", Text, nil},
	{"Greek", "Καλημέρα κόσμε", Text, nil},
	{"Hebrew", "שלום עולם", Text, nil},
	{"Arabic", "مرحبا بالعالم ١٢٣", Text, nil},
	{"a number's sign in Arabic", "\u0600١٢", Text, nil},
	{"Chinese", "退款一百元，谢谢。", Text, nil},
	{"Japanese, with its space", "返金　お願いします。Tシャツ", Text, nil},
	{"Korean", "환불 부탁드립니다", Text, nil},
	{"a name with a form of an ideograph", "葛\U000E0100城", Text, nil},
	{"Turkish, Vietnamese, German", "Iğdır ılık Việt Nam Straße", Text, nil},
	{"Vietnamese with accents of their own", "Vie\u0323\u0302t", Text, nil},
	{"Thai", "สวัสดีครับ", Text, nil},

	{"pictures", "😀 ❤️ ☎︎ 👍🏽 1️⃣ #️⃣ ©️ 🇩🇪", Text, nil},
	{"pictures of several", "👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 ❤️‍🔥 🙂‍↔️", Text, nil},
	{"a picture of a version to come", "\U0001FAE9 \U0001FADF", Text, nil},
	{"flags", "🏴" + tags("gbeng") + "\U000E007F🏴" + tags("gbsct") + "\U000E007F🏴" + tags("gbwls") + "\U000E007F", Text, nil},
	{"a joiner behind a picture, and nothing", "😀\u200D", Text, []string{"A joiner 1+1 U+200D ZWJ"}},
	{"a selector behind a letter", "a\uFE0F", Text, []string{"A variation 1+1 U+FE0F VS16"}},
	{"a selector behind a digit", "1\uFE0F0", Text, []string{"A variation 1+1 U+FE0F VS16"}},
	{"two selectors behind a picture", "❤\uFE0F\uFE0F", Text, []string{"A variation 2+1 U+FE0F VS16"}},
	{"Persian", "می\u200Cخواهم", Text, nil},
	{"Hindi", "क्\u200Dष क्\u200C", Text, nil},
	{"Mongolian", "ᠮᠣᠩᠭᠣᠯ ᠤ\u180E", Text, []string{"A invisible 8+1 U+180E"}},
	{"joiners between Latin letters", "pa\u200Cy\u200Dpal", Text, []string{"A joiner 2+1 U+200C ZWNJ", "A joiner 4+1 U+200D ZWJ"}},
	{"two joiners between letters that join", "می\u200C\u200Cخ", Text, []string{"A joiner 2+2 U+200C ZWNJ"}},

	{"escapes of JSON", `{"a":"x\u202ey\ud83d\ude00\n\r\n"}`, JSON, []string{"A bidi 7+6 ×1 U+202E RLO"}},
	{"tags in escapes", `"\udb40\udc70\udb40\udc61"`, JSON, []string{"A tag 1+24 ×2 U+E0070 TAG and others = pa"}},
	{"a letter in an escape", `"p\u0430ypal"`, JSON, []string{"A lookalike 2+6 ×1 U+0430 Cyrillic = a"}},
	{"half of a pair", `"\ud800x"`, JSON, []string{"A broken 1+6 ×1 U+FFFD NOT A CHARACTER"}},
	{"a backslash that is none", `"\\u202e"`, JSON, nil},
	{"a broken escape", `"\u20`, JSON, nil},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			var got []string
			for _, m := range Find(v.text, v.how) {
				got = append(got, shown(m))
			}
			if !slices.Equal(got, v.want) {
				t.Errorf("%q has\n%q, want\n%q", v.text, got, v.want)
			}
		})
	}
}

// TestGraveIsClassA: IsGrave does not list the marks of a text. Its result must be the same as that
// of AnyGrave for the marks that Find returns.
func TestGraveIsClassA(t *testing.T) {
	for _, v := range vectors {
		if got, want := IsGrave(v.text, v.how), AnyGrave(Find(v.text, v.how)); got != want {
			t.Errorf("%s: %v, want %v", v.name, got, want)
		}
	}
}

// TestMarksAreBounded: a text has very many marks. Find must return a hundred of them, and one more
// that counts the rest.
func TestMarksAreBounded(t *testing.T) {
	list := Find(strings.Repeat("a\u00A0", 150)+"\u202E", Text)
	if last := list[len(list)-1]; len(list) != maxMarks+1 || last.Kind != More || last.Count != 51 || last.Class != ClassA || last.At != 201 {
		t.Errorf("%d marks, the last one is %+v", len(list), last)
	}
	if m := Find(tags(strings.Repeat("x", 5000)), Text); len(m[0].Decoded) != maxDecoded {
		t.Errorf("%d bytes are decoded", len(m[0].Decoded))
	}
}

// TestMarksOfABeginning: WithinFirst returns the marks in the first characters of a text. The last
// of the returned marks must count the marks in the rest of the text.
func TestMarksOfABeginning(t *testing.T) {
	list := Find("\u00A0a\u202E\u202Eb\u200B", Text)
	for characters, want := range map[int]string{
		6: "B space 0+1 U+00A0 NBSP|A bidi 2+2 U+202E RLO|A invisible 5+1 U+200B ZWSP",
		5: "B space 0+1 U+00A0 NBSP|A bidi 2+2 U+202E RLO|A more 5+0 ×1 ", 3: "B space 0+1 U+00A0 NBSP|A more 3+0 ×3 ", 0: "A more 0+0 ×4 ",
	} {
		var got []string
		for _, m := range WithinFirst(list, characters) {
			got = append(got, shown(m))
		}
		if got := strings.Join(got, "|"); got != want {
			t.Errorf("of %d: %s", characters, got)
		}
	}
}

// TestPlainBlocks: Find skips whole blocks of characters. Such a block must not contain a character
// of the table.
func TestPlainBlocks(t *testing.T) {
	for _, block := range plain.R32 {
		for r := rune(block.Lo); r <= rune(block.Hi); r++ {
			for n := range table {
				if table[n].has(r) {
					t.Errorf("U+%04X is %s", r, table[n].kind)
				}
			}
		}
	}
}

// TestTableIsWhole: the table must have, in class A, each code point of Unicode that is invisible
// or is not a character.
func TestTableIsWhole(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		is := unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
			unicode.IsControl(r) && r != '\n' && r != '\t'
		if is && unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
			is = false
		}
		if n := classify(r); is && (n < 0 || table[n].class != ClassA) {
			t.Errorf("U+%04X is not there", r)
		}
	}
}

// TestLookalikes: the table must map letters that are not Latin to the letters or digits that they
// look like.
func TestLookalikes(t *testing.T) {
	if len(lookalikes()) < 1000 || utf8.RuneCountInString(pairs) != 2*len(lookalikes()) {
		t.Fatalf("%d letters of %d", len(lookalikes()), utf8.RuneCountInString(pairs)/2)
	}
	for r, like := range lookalikes() {
		if !unicode.IsLetter(r) || unicode.Is(unicode.Latin, r) || !unicode.IsLetter(rune(like)) && !unicode.IsDigit(rune(like)) {
			t.Errorf("%q looks like %q", r, like)
		}
	}
}

// TestHostile: a text of megabytes consists of one character or word, repeated very often. Finding
// its marks must not cost more than in other megabytes.
func TestHostile(t *testing.T) {
	for name, part := range map[string]string{
		"invisible": "\u200B", "one by one": "a\u200B", "letters": "\u0430", "a word of two scripts": "a\u0430", "accents": "\u0300",
		"flags": "🏴\U000E0067", "joiners": "\u200D", "escapes": `\u0430`, "backslashes": `\`, "not assigned": "\u0378", "ideographs": "漢", "digits": "1",
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(part, 1<<18)
			before := hostile.ProcessorTime(t)
			for _, how := range []Reading{Text, Identifier, JSON} {
				Find(text, how)
				IsGrave(text, how)
			}
			if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.text, int(v.how))
	}
	f.Fuzz(func(t *testing.T, text string, how int) {
		h := Reading(uint(how) % 3)
		list := Find(text, h)
		characters, end := utf8.RuneCountInString(text), 0
		for n, m := range list {
			if m.At < end && m.Kind != More || m.At+m.Length > characters || m.Count < 1 || m.Kind != More && (m.Length < m.Count || m.Name == "") {
				t.Fatalf("%q: mark %d is %+v", text, n, m)
			}
			end = m.At + m.Length
		}
		if len(list) > maxMarks+1 || IsGrave(text, h) != AnyGrave(list) {
			t.Fatalf("%q has %d marks", text, len(list))
		}
	})
}
