package agui

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tidwall/sjson"
)

// FuzzEdits: SetKey and DeleteKey must return the same bytes as sjson. Several edits at once must
// have the same result as the same edits one after the other.
func FuzzEdits(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"id":1}`, `{"id":1,"a":2}`, `{"a":2,"id":"x"}`, " {\n \"a\" : [1, {\"id\":2}] ,\n \"id\" : {\"x\":null} ,\t\"b\":3 }\n", `{"i\u0064":1,"id":2}`,
		`{"a":"}","b":"\"id\":1"}`, `{"id":1,"id":2}`, `{"a\"b":1,"id":2,"c":",}"}`, `{"id" : 1 }`, `{ "id":1, "b":2}`, `{"a":1 , "id":"\\" }`,
	} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, object, value string) {
		if !ValidJSON([]byte(object)) || !View([]byte(object)).IsObject() {
			return
		}
		raw := AppendString(nil, value)
		for _, name := range []string{"id", "a", "thread_id"} {
			want, err := sjson.SetRawBytes([]byte(object), name, raw)
			if got := SetString([]byte(object), name, value); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("set %s: %q, want %q", name, got, want)
			}
			want, err = sjson.DeleteBytes([]byte(object), name)
			if got := DeleteKey([]byte(object), name); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("delete %s: %q, want %q", name, got, want)
			}
			if !json.Valid(want) {
				t.Fatalf("sjson made %q", want)
			}
		}
		want, _ := sjson.SetRawBytes([]byte(object), "id", raw)
		want, _ = sjson.SetRawBytes(want, "a", []byte("1"))
		want, err := sjson.SetRawBytes(want, "b", []byte("{}"))
		got := SetKeys([]byte(object), Edit{Key: "id", Text: value}, Edit{Key: "a", JSON: []byte("1")}, Edit{Key: "b", JSON: []byte("{}")})
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("set all: %q, want %q", got, want)
		}
	})
}

func TestLastOf(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"o":2,"b":3}`:                     `{"a":1,"o":2,"b":3}`,
		`{ "a" : 1 }`:                             `{ "a" : 1 }`,
		`{"o":1,"a":[{"o":2}],"o":{"o":3},"b":4}`: `{"a":[{"o":2}],"o":{"o":3},"b":4}`,
		`{"o":1,"\u006f":2}`:                      `{"\u006f":2}`,
		`{"o":1,"o":2,"o":3}`:                     `{"o":3}`,
	} {
		if got := string(LastOf([]byte(in), "o")); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
