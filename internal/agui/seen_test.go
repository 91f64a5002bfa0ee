package agui

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestNewMessages(t *testing.T) {
	m := func(s string) Message { return ParseMessage([]byte(s)) }
	old := []Message{m(`{"id":"u1","role":"user","content":"hi"}`), m(`{"id":"a1","role":"assistant","content":"?"}`), m(`{"role":"system","content":"be nice"}`)}
	var seen []SeenMessage
	for _, o := range old {
		seen = append(seen, See(o))
	}
	for in, want := range map[string]bool{
		`{"id":"u1","role":"user","content":"hi"}`:              false,
		`{"id":"u1","role":"user","content":"hi there"}`:        true,
		`{"id":"u2","role":"user","content":"hi"}`:              true,
		`{"id":"a1","role":"assistant","content":"longer now"}`: false,
		`{"role":"system","content":"be nice"}`:                 false,
		`{"role":"system","content":"be nasty"}`:                true,
	} {
		if got := len(NewMessages([]Message{m(in)}, seen)) == 1; got != want {
			t.Errorf("%s: new %v", in, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` {"b": 1.0, "a":[12345678901234567890, "<"]} `: `{"a":[12345678901234567890,"<"],"b":1.0}`,
		`no JSON`:           `no JSON`,
		``:                  ``,
		`"`:                 `"`,
		`"a\"`:              `"a\"`,
		`"text"`:            `"text"`,
		` "text" `:          `"text"`,
		`"two" "texts"`:     `"two"`,
		`"a\/b \u00e9\b"`:   "\"a/b é\\b\"",
		"\"a\u2028b\"":      `"a\u2028b"`,
		"\"no \xff UTF-8\"": "\"no \ufffd UTF-8\"",
		"\"a\nb\"":          "\"a\nb\"", // no JSON either
	} {
		if got := string(Canonical([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// What is taken as it stands is what encoding/json would have made of it.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`"text"`, `"a\nb\"c\\"`, "\"é\u2028\"", `"\/"`, "\"\xff\"", `"\ud800"`, `"a" "b"`, "\"\x7f\ufffd\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !isCanonicalString(raw) {
			return
		}
		var v string
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		if made := MustMarshal(v); !bytes.Equal(made, raw) {
			t.Fatalf("%q would be %q", raw, made)
		}
	})
}

func TestSeeingATextCostsLittle(t *testing.T) {
	m := ParseMessage([]byte(`{"id":"u1","role":"user","content":"say \"hi\" to\nZoë"}`))
	if n := testing.AllocsPerRun(100, func() { See(m) }); n > 4 {
		t.Errorf("%v allocations", n)
	}
}
