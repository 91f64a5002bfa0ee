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
