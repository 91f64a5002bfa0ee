package fields

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/marks"
	"holdpoint/internal/test/hostile"
)

// shown returns a layout as text, with one line for each field.
func shown(l Layout) string {
	var b strings.Builder
	for _, f := range l.Fields {
		fmt.Fprintf(&b, "%d %s [%s] %s %q", f.Depth, f.Path, f.Key, f.Kind, f.Text)
		for what, is := range map[string]bool{" twice": f.IsRepeated} {
			if is {
				b.WriteString(what)
			}
		}
		if f.IsSalient {
			b.WriteString(" salient " + f.Currency)
		}
		if f.IsTruncated {
			fmt.Fprintf(&b, " of %d", f.Size)
		}
		b.WriteByte('\n')
	}
	if l.HasMore {
		b.WriteString("rest\n")
	}
	return b.String()
}

func TestLayout(t *testing.T) {
	for _, test := range []struct{ name, args, want string }{
		{"numbers keep their digits", `{"a":1.10,"b":1e400,"c":-0,"d":12345678901234567890}`, `
0 a [a] number "1.10"
0 b [b] number "1e400"
0 c [c] number "-0"
0 d [d] number "12345678901234567890"
`},
		{"a key twice, once with an escape", `{"to":"a","t\u006f":"b","x":{"to":1}}`, `
0 to [to] string "a" twice
0 to [to] string "b" twice
0 x [x] object ""
1 x.to [to] number "1"
`},
		{"every kind of nothing", `{"a":"","b":{},"c":[ ],"d":null,"e":false}`, `
0 a [a] empty "\"\""
0 b [b] empty "{}"
0 c [c] empty "[]"
0 d [d] null "null"
0 e [e] boolean "false"
`},
		{"nested, and JSON from the fourth level", `{"items":[{"price":"1.10","tags":["x",[1,{"y":[]}]]}]}`, `
0 items [items] array ""
1 items[0] [] object ""
2 items[0].price [price] string "1.10" salient 
2 items[0].tags [tags] array ""
3 items[0].tags[0] [] string "x"
3 items[0].tags[1] [] code "[1,{\"y\":[]}]"
`},
		{"a key that looks like a path", `{"a.b":1,"":2,"x]":{"1":3}}`, `
0 ["a.b"] [a.b] number "1"
0 [""] [] number "2"
0 ["x]"] [x]] object ""
1 ["x]"]["1"] [1] number "3"
`},
		{"amounts, and the currency beside them", `{"totalAmount":1200,"currency":"EUR","row_limit":"5'000","limited":3,"amount":"all","inner":{"price":1}}`, `
0 totalAmount [totalAmount] number "1200" salient EUR
0 currency [currency] string "EUR"
0 row_limit [row_limit] string "5'000" salient EUR
0 limited [limited] number "3"
0 amount [amount] string "all"
0 inner [inner] object ""
1 inner.price [price] number "1" salient 
`},
		{"half of a pair of surrogates takes nothing with it", `{"a":"x\ud800\u0041y","b":"\ud83d\ude00"}`, `
0 a [a] string "x�Ay"
0 b [b] string "😀"
`},
		{"no object", ` ["a",1] `, `
0  [] array ""
1 [0] [] string "a"
1 [1] [] number "1"
`},
		{"no JSON", `{"a":1`, `
0  [] code "{\"a\":1"
`},
		{"nothing", ``, "\n"},
		{"bytes that are no text", "{\"a\":\"x\xff\"}", `
0 a [a] string "x�"
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := "\n" + shown(Of(test.args, QuestionBounds)); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	const line = "The customer has asked for the money back, since the package never arrived at the address."
	for _, test := range []struct {
		key, text string
		want      Kind
	}{
		{"note", "short", String},
		{"note", "DROP TABLE users", String}, // a text of one short line is not code
		{"note", line, Prose},
		{"note", "two\nlines", Prose},
		{"note", "Select a seat from the plan that the theatre has sent you yesterday, and tell me which it is.", Prose},
		{"token", strings.Repeat("abcd", 40), String},
		{"sql", line, Code},
		{"note", "SELECT id, name FROM users WHERE created_at < now() AND name LIKE 'a%' ORDER BY id LIMIT 10", Code},
		{"note", "-- all of them\ndelete from users;\n", Code},
		{"body", "#!/bin/sh\nrm -rf build", Code},
		{"body", "def f(x):\n    return x\n\nprint(f(1))\n", Code},
		{"body", `{"a": 1,` + "\n" + `"b": 2}`, Code},
		{"body", "<html>\n<body>hello</body>\n</html>", Code},
		{"patch", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n", Diff},
		{"patch", "diff --git a/x b/x\nsomething", Diff},
		{"note", "--- above all ---\nthere is nothing", Prose},
	} {
		if got := kindOf(test.key, test.text); got != test.want {
			t.Errorf("%s %q is %s, want %s", test.key, test.text, got, test.want)
		}
	}
}

// TestMarksOfFields: Of must find the marks in the texts and the keys of fields. It must check
// keys, and texts that look like names, as identifiers.
func TestMarksOfFields(t *testing.T) {
	l := Of("{\"\u0430mount\":1,\"to\":\"\u0440\u0430\u0443\u0440\u0430.com\",\"note\":\"pay \\u202e1\",\"x\":{\"y\":{\"z\":{\"deep\":\"\\u202e\"}}},\"word\":\"\u0441\u043e\u0440\"}", QuestionBounds)
	var got []string
	for _, f := range l.Fields {
		for _, m := range f.KeyMarks {
			got = append(got, fmt.Sprint(f.Path, " key ", m.Kind, m.At, m.Length))
		}
		for _, m := range f.Marks {
			got = append(got, fmt.Sprint(f.Path, " ", m.Kind, m.At, m.Length))
		}
	}
	want := []string{"[\"\u0430mount\"] key lookalike0 1", "to lookalike0 5", "note bidi4 1", "x.y.z.deep bidi0 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	l = Of(`{"a":"`+strings.Repeat("x", 100)+"\u202E\"}", Bounds{Fields: 1, Text: 10, TotalText: 10})
	if m := l.Fields[0].Marks; len(m) != 1 || m[0].Kind != marks.More || m[0].Class != marks.ClassA {
		t.Errorf("behind what is shown: %+v", m)
	}
}

// TestBounds: a text over the limit must be cut, and fields over the limit must be left out.
// IsTruncated and HasMore must report this.
func TestBounds(t *testing.T) {
	l := Of(`{"a":"`+strings.Repeat("ä", 60<<10)+`","b":"`+strings.Repeat("x", 100)+`","c":1}`, QuestionBounds)
	if f := l.Fields[0]; !f.IsTruncated || f.Size != 120<<10 || len(f.Text) != 100<<10 || !utf8.ValidString(f.Text) {
		t.Errorf("%d bytes of %d, %v", len(f.Text), f.Size, f.IsTruncated)
	}
	if f := l.Fields[1]; !f.IsTruncated || f.Text != "" || f.Size != 100 {
		t.Errorf("no room is left for %q of %d", f.Text, f.Size)
	}
	if !l.HasMore || len(l.Fields) != 3 {
		t.Errorf("rest %v, %d fields", l.HasMore, len(l.Fields))
	}
	l = Of("["+strings.Repeat("1,", 1000)+"1]", Bounds{Fields: 5, Text: 10, TotalText: 100})
	if len(l.Fields) != 5 || !l.HasMore {
		t.Errorf("%d fields, rest %v", len(l.Fields), l.HasMore)
	}
	l = Of(`{"`+strings.Repeat("k", 5000)+`":{"`+strings.Repeat("l", 5000)+`":1}}`, QuestionBounds)
	if f := l.Fields[1]; len(f.Path) > 2*maxKey+20 {
		t.Errorf("a path of %d bytes", len(f.Path))
	}
}

// TestDeepIsIndented: a value that is nested too deep must be shown as indented JSON, with its
// numbers unchanged.
func TestDeepIsIndented(t *testing.T) {
	deep := `{"numbers":[1.10,1e400],"text":"` + strings.Repeat("x", 80) + `"}`
	l := Of(`{"a":{"b":{"c":{"d":`+deep+`}}}}`, QuestionBounds)
	if f := l.Fields[len(l.Fields)-1]; f.Kind != Code || !f.IsJSON || !strings.Contains(f.Text, "\n    1.10,\n    1e400\n") {
		t.Errorf("%+v", f)
	}
}

// TestHostile: a text of megabytes consists of one part, repeated very often. Reading it must not
// cost more than reading other megabytes.
func TestHostile(t *testing.T) {
	for name, part := range map[string]string{
		"objects": `{"a":`, "arrays": `[`, "keys": `{"k":1,`, "quotes": `"`, "escapes": `{"a":"\u0041`, "minus": `{"a":"--- x\n`,
		"braces in a text": `{"a":"{{{{`,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 1 << 18
			open := strings.Repeat(part, n)
			whole := `{"a":` + string(agui.MustMarshal(open)) + `,"b":[` + strings.Repeat("1,", n) + `1]` + strings.Repeat(`,"k":{}`, n) + `}`
			before := hostile.ProcessorTime(t)
			Of(open, QuestionBounds)
			Of(whole, QuestionBounds)
			Of(strings.Repeat(part, 500)+`"`, QuestionBounds)
			if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{"a":{"b":{"c":{"d":[1,2]}}}}`, `[]`, `{"a":"\ud800"}`, `{"aB_c":"\n--- x"}`, "{\"\xff\":1}", `{"currency":"EUR","amount":1}`, `null`, ` "x" `} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		for _, b := range []Bounds{QuestionBounds, LineBounds, {Fields: 3, Text: 5, TotalText: 9}, {}} {
			l := Of(args, b)
			text := 0
			for _, one := range l.Fields {
				text += len(one.Text)
				if !utf8.ValidString(one.Text) || !utf8.ValidString(one.Key) || len(one.Text) > b.Text || one.IsTruncated != (len(one.Text) < one.Size && one.Kind != Object && one.Kind != Array) {
					t.Fatalf("%+v", one)
				}
				if one.IsJSON && !one.IsTruncated && !json.Valid([]byte(one.Text)) {
					t.Fatalf("no JSON: %+v", one)
				}
			}
			if len(l.Fields) > b.Fields || text > b.TotalText || text != l.Text {
				t.Fatalf("%d fields, %d bytes", len(l.Fields), text)
			}
		}
	})
}
