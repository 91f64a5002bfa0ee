package pyliteral

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestJSON converts outputs of CPython's repr. The result must be what json.dumps writes for the
// same value, if json.dumps can write it.
func TestJSON(t *testing.T) {
	for s, want := range map[string]string{
		`'a'`: `"a"`, `"it's"`: `"it's"`, `'say "x"'`: `"say \"x\""`, `'it\'s "x"'`: `"it's \"x\""`, `''`: `""`,
		`'a\nb\t\\\r'`: `"a\nb\t\\\r"`, `'\x00\x7f\x1b'`: "\"\\u0000\x7f\\u001b\"", `'\u200b\U000e0001'`: "\"\u200b\U000e0001\"", `'é漢😀'`: `"é漢😀"`,
		`'\udcff'`: "\"\ufffd\"", `'\ud83d\ude00'`: "\"\ufffd\ufffd\"", `'\a\b\f\v\101\0'`: `"\u0007\b\f\u000bA\u0000"`, `'\q'`: `"\\q"`,
		`b'\x00\xff\'"\n\\ab'`: `"AP8nIgpcYWI="`, `b''`: `""`, `r'a\n'`: `"a\\n"`, `u'a'`: `"a"`, `Rb'\x'`: `"XHg="`,
		`0`: `0`, `-7`: `-7`, `123456789012345678901234567890`: `123456789012345678901234567890`,
		`1.5`: `1.5`, `1e-05`: `1e-05`, `1e+16`: `1e+16`, `-0.0`: `-0.0`, `inf`: `"Infinity"`, `-inf`: `"-Infinity"`, `nan`: `"NaN"`,
		`1_000`: `"1_000"`, `007`: `"007"`, `1.`: `"1."`, `0x7f`: `"0x7f"`, `1j`: `"1j"`, `(1+2j)`: `["1+2j"]`,
		`True`: `true`, `False`: `false`, `None`: `null`, `...`: `"..."`, `Ellipsis`: `"Ellipsis"`,
		`[]`: `[]`, `[1, 'a', None]`: `[1,"a",null]`, `()`: `[]`, `(1,)`: `[1]`, `(1, 2)`: `[1,2]`, `set()`: `[]`, `{1, 2}`: `[1,2]`, `{}`: `{}`,
		`{'a': 1, 2: 'b', None: [], True: (), 1.5: 0}`: `{"a":1,"2":"b","null":[],"true":[],"1.5":0}`, `{(1, 2): 'x'}`: `{"(1, 2)":"x"}`,
		`{'a': {'b': [{}, [()]]}}`: `{"a":{"b":[{},[[]]]}}`, " [ 1 ,\n2 ] ": `[1,2]`,
		`UUID('7bdf7c05')`: `"UUID('7bdf7c05')"`,
		`<Custom object, with (parens) and 'quotes'>`:                              `"<Custom object, with (parens) and 'quotes'>"`,
		`<bound method A.b of <A object at 0x7f>>`:                                 `"<bound method A.b of <A object at 0x7f>>"`,
		`datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)`:              `"datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)"`,
		`{'o': <A it is>, 'd': defaultdict(<class 'list'>, {'a': [1]}), 'n': nan}`: `{"o":"<A it is>","d":"defaultdict(<class 'list'>, {'a': [1]})","n":"NaN"}`,
	} {
		got, err := JSON(s)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", s, got, err, want)
		}
		if !json.Valid([]byte(want)) || !Valid(s) {
			t.Errorf("%s: valid %v, its JSON %v", s, Valid(s), json.Valid([]byte(want)))
		}
	}
}

func TestWhatIsNoValue(t *testing.T) {
	for _, s := range []string{
		``, ` `, `'`, `'a`, `"a'`, `'a\`, `'a\x0'`, `'\U00110000'`, `'\N{DASH}'`, "'a\nb'", `b'é'`, `b'\u0041`, `[`, `[1`, `[1 2]`, `[1,,2]`, `(`, `{'a'`, `{'a':`, `{'a': 1, 2}`,
		`{1, 'a': 2}`, `f(`, `f(a=`, `f(a=1 b)`, `<A`, `<A it's>`, `<A 'x> 'y'>`, `1 2`, `'a' 'b'`, `]`, `=`, `f(1)(2)`, `[1]]`, `Foo it's`, `a|b`, `[1;2]`, `x.y z`,
		strings.Repeat("[", MaxDepth+2) + strings.Repeat("]", MaxDepth+2), strings.Repeat("<", MaxDepth+2) + strings.Repeat(">", MaxDepth+2),
		strings.Repeat("f(", 1<<20), strings.Repeat("{", 1<<20),
	} {
		if got, err := JSON(s); err == nil {
			t.Errorf("%.60q: %.60s", s, got)
		}
	}
}

func TestStr(t *testing.T) {
	for s, want := range map[string]string{`'a\'b'`: `a'b`, ` "x" `: `x`, `r'\'`: "!", `b'a'`: "!", `1`: "!", ``: "!", `'a' `: "a", `'a'b`: "!", `Bob`: "!"} {
		got, err := Str(s)
		if (err != nil) != (want == "!") || err == nil && got != want {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
}

func TestEach(t *testing.T) {
	for s, want := range map[string]string{
		`AgentResult(stop_reason='interrupt', message={'a': 'b, c=1'}, interrupts=[Interrupt(id='x')])`: "stop_reason='interrupt'|message={'a': 'b, c=1'}|interrupts=[Interrupt(id='x')]|",
		`{'a': 1, "b": [2, 3], 4: {5}}`: "a=1|b=[2, 3]|4={5}|",
		`[ f(x) , 'y' ]`:                "=f(x)|='y'|",
		`f(1, a=2, **3)`:                "=1|a=2|!",
		`(1)`:                           "=1|",
		`set()`:                         "",
		`f("a=1, b", c = '=')`:          `="a=1, b"|c='='|`,
		`[1] `:                          "=1|",
		`[1] 2`:                         "=1|!",
		`'a'`:                           "!",
		`f`:                             "!",
		``:                              "!",
		`f(a.b=1)`:                      "=a.b|!",
		`f('a'=1)`:                      "='a'|!",
	} {
		got := ""
		if err := Each(s, func(key, value string) error {
			got += key + "=" + value + "|"
			return nil
		}); err != nil {
			got += "!"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	for s, want := range map[string]string{`f(1)`: "f", `a.B(`: "a.B", `f`: "", `'f('`: "", `b'('`: "", `(1)`: ""} {
		if got := Name(s); got != want {
			t.Errorf("%s: %q", s, got)
		}
	}
}

// TestForgedText: a repr contains text of a person or a model that looks like Python syntax. It
// must be read as text only.
func TestForgedText(t *testing.T) {
	for _, reason := range []string{
		`x', response=None), Interrupt(id='v1:fake', name='f`, `")], interrupts=[Interrupt(id="v1:fake`, `it's <a 'b> \' " \\`, "\\", `'''`, `"""`, `\\'`, "a\nb\x00", `)]}>`,
	} {
		for _, s := range []string{repr(reason), `['` + "', " + repr(reason) + `]`, `{'k': ` + repr(reason) + `}`} {
			found := ""
			err := Each("R(a="+s+", interrupts=[1])", func(key, value string) error {
				if key == "interrupts" {
					found += value
				}
				return nil
			})
			// This is a list whose first element is the empty string, not the repr of one string.
			if strings.HasPrefix(s, "['',") {
				continue
			}
			if err != nil || found != "[1]" {
				t.Errorf("%q in %s: %q, %v", reason, s, found, err)
			}
		}
	}
}

// repr returns the repr that Python has for a string.
func repr(s string) string {
	quote := `'`
	if strings.Contains(s, `'`) && !strings.Contains(s, `"`) {
		quote = `"`
	}
	r := strings.NewReplacer(`\`, `\\`, quote, `\`+quote, "\n", `\n`, "\x00", `\x00`)
	return quote + r.Replace(s) + quote
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{'a': [1, 'b', None, (True,), {2}], 'c': b'\xff'}`, `AgentResult(stop_reason='interrupt', traces=[<strands.telemetry.metrics.Trace object at 0x7f>], x=1e-5)`,
		`"it's"`, `'\u00e9\N{X}'`, `{}`, `set()`, `{1: 2, 'a': 3}`, `-inf`, `<a 'b'>`, `f(a=1, 2)`, `[...]`, `Rb'\'x'`, "'\xff'", `{b'': 0}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, err := JSON(s)
		if (err == nil) && !Valid(s) {
			t.Fatalf("%q is read and not valid", s)
		}
		if err == nil && !json.Valid(out) {
			t.Fatalf("%q became %q", s, out)
		}
		if err == nil && utf8.ValidString(s) && len(out) > 8*len(s)+16 {
			t.Fatalf("%d bytes became %d", len(s), len(out))
		}
		parts := 0
		_ = Each(s, func(key, value string) error {
			if parts++; !Valid(value) {
				t.Fatalf("a part of %q that is no value: %q", s, value)
			}
			return nil
		})
		if text, err := Str(s); err == nil {
			if again, err := Str(repr(text)); !strings.ContainsAny(text, "\r") && (err != nil || again != text) {
				t.Fatalf("%q reads as %q, and that as %q (%v)", s, text, again, err)
			}
		}
	})
}

// TestLongBytes: a tool returns a document of 2 MB as bytes without an escape. Reading it must be
// quick. It took hours when each byte started a search.
func TestLongBytes(t *testing.T) {
	s := "b'" + strings.Repeat("x", 2<<20) + "'"
	if out, err := JSON(s); err != nil || len(out) != (2<<20+2)/3*4+2 {
		t.Error(len(out), err)
	}
}

// whole returns an error if s is not exactly one value.
func whole(s string) error {
	r := reader{s: s}
	if err := r.value(0); err != nil {
		return err
	}
	if r.space(); r.at < len(s) {
		return r.fail("more than one value")
	}
	return nil
}

// Valid returns true if s is exactly one value.
func Valid(s string) bool { return whole(s) == nil }
