package agui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzCanonical: as encoding/json would have it, which decodes all and sorts the keys of maps.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		``, `x`, `1 2`, ` { } `, `[]`, `[ 1 , 2.50e+3 , -0 ]`, `{"b":1,"a":{"d":[true,null],"c":"x"}}`, `{"a":1,"a":2,"\u0061":3}`, `"\ud800"`, `"\ud83d\ude00"`,
		`"\ud800A\u0041"`, "\"\xff\"", "{\"\xff\":1}", `"\u2028<&>\/"`, `{"":0}`, "\"\u007f\"", strings.Repeat("[", 1001) + strings.Repeat("]", 1001), `{"a\u0000":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want := raw
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			want = MustMarshal(v)
		}
		if got := Canonical(raw); !bytes.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// FuzzAppendString: as encoding/json writes it.
func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "abc", "\"\\/", "\x00\b\f\n\r\t\x1f\x7f", "é\u2028\u2029\ufffd😀", "\xff\xc0a\xed\xa0\x80", "<&>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := AppendString([]byte("x"), s), append([]byte("x"), MustMarshal(s)...); !bytes.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// What a rewritten event is made by takes an allocation for what it makes, and none beside it.
func TestEditsTakeOneAllocation(t *testing.T) {
	event := []byte(`{"type":"RUN_FINISHED","threadId":"t","outcome":{"type":"interrupt","b":[1,{"y":1,"x":2}]}}`)
	message := ParseMessage([]byte(`{"id":"u1","role":"user","content":"a question"}`))
	for name, f := range map[string]func(){
		"set":                func() { SetString(event, "threadId", "another thread") },
		"add":                func() { SetString(event, "runId", "another run") },
		"delete":             func() { DeleteKey(event, "outcome") },
		"canonical":          func() { Canonical(event) },
		"see":                func() { See(message) },
		"parse":              func() { ParseMessage(message.JSON) },
		"nothing to delete":  func() { DeleteKey(event, "expiresAt") },
		"nothing to be seen": func() { See(Message{ID: "m", Role: "assistant"}) },
	} {
		want := 1.0
		if strings.HasPrefix(name, "nothing") {
			want = 0
		}
		if n := testing.AllocsPerRun(100, f); n != want {
			t.Errorf("%s: %v allocations, want %v", name, n, want)
		}
	}
}
