package agui

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

func TestNewMessages(t *testing.T) {
	m := func(s string) Message { return ParseMessage([]byte(s)) }
	old := []Message{m(`{"id":"u1","role":"user","content":"hi"}`), m(`{"id":"a1","role":"assistant","content":"?"}`), m(`{"role":"system","content":"be nice"}`)}
	var seen []SeenMessage
	for _, o := range old {
		seen = append(seen, NewSeenMessage(o))
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
		"\"a\nb\"":          "\"a\nb\"", // not valid JSON, as the line above
	} {
		if got := string(Canonical([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzCanonical checks that Canonical has the same result as encoding/json, which decodes the whole
// text and sorts the keys of maps.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`"text"`, `"a\nb\"c\\"`, "\"é\u2028\"", `"\/"`, "\"\xff\"", `"\ud800"`, `"a" "b"`, "\"\x7f\ufffd\"",
		``, `x`, `1 2`, ` { } `, `[]`, `[ 1 , 2.50e+3 , -0 ]`, `{"b":1,"a":{"d":[true,null],"c":"x"}}`, `{"a":1,"a":2,"\u0061":3}`, `"\ud83d\ude00"`,
		`"\ud800A\u0041"`, "{\"\xff\":1}", `"\u2028<&>\b\f"`, `{"":0}`, `{"a\u0000":1,"a":2}`, strings.Repeat("[", 1001) + strings.Repeat("]", 1001),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want := raw
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			want = MustMarshal(v)
		}
		if one, err := ParseValue(raw, 1<<20); err == nil && one.Depth > sortedDepth || len(raw) > oddBytes {
			return // Canonical leaves such a text almost unchanged
		}
		if got := Canonical(raw); !bytes.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// TestCanonicalOfOddValues checks that Canonical needs time and memory that are linear in the size
// of the value, even if the value is nested deeply or has very many members.
func TestCanonicalOfOddValues(t *testing.T) {
	const size = 4 << 20
	text := `"` + strings.Repeat("x", size) + `"`
	for name, in := range map[string]string{
		"deep, and out of order": strings.Repeat(`{"b":`, 900) + text + strings.Repeat(`,"a":0}`, 900),
		"deep lists":             strings.Repeat(`[`, 900) + text + strings.Repeat(`]`, 900),
		"members":                `{` + strings.Repeat(`"":0,`, size/5) + `"a":1}`,
		"members out of order":   `{` + strings.Repeat(`"b":0,"a":0,`, size/12) + `"":1}`,
		"no JSON behind it":      `[` + strings.Repeat(`{},`, size/3) + `{}] x`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := Canonical([]byte(in))
		runtime.ReadMemStats(&after)
		if most := 8*len(in) + 24<<20; after.TotalAlloc-before.TotalAlloc > uint64(most) {
			t.Errorf("%s: %d MB for %d", name, (after.TotalAlloc-before.TotalAlloc)>>20, len(in)>>20)
		}
		if len(got) > len(in) {
			t.Errorf("%s: %d bytes of %d", name, len(got), len(in))
		}
	}
	deep := func(inside string) string {
		return strings.Repeat(`[`, sortedDepth) + inside + strings.Repeat(`]`, sortedDepth)
	}
	if got := string(Canonical([]byte(deep(`{"b": 1, "a":2}`)))); got != deep(`{"b":1,"a":2}`) {
		t.Error(got)
	}
	if got := string(Canonical([]byte(deep(`{"b": 1, "a":2}`)[1 : 2*sortedDepth+14]))); got != deep(`{"a":2,"b":1}`)[1:2*sortedDepth+12] {
		t.Error(got)
	}
}

// TestCanonicalTakesOneAllocation checks that Canonical allocates only its result, because it is
// called for each question and answer.
func TestCanonicalTakesOneAllocation(t *testing.T) {
	question := []byte(`{"reason":"tool_call","message":"Delete?","toolCallId":"c","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}`)
	if n := testing.AllocsPerRun(100, func() { Canonical(question) }); n != 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestSeeingATextCostsLittle(t *testing.T) {
	m := ParseMessage([]byte(`{"id":"u1","role":"user","content":"say \"hi\" to\nZoë"}`))
	if n := testing.AllocsPerRun(100, func() { NewSeenMessage(m) }); n > 4 {
		t.Errorf("%v allocations", n)
	}
}
