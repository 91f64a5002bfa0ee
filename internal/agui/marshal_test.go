package agui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzAppendString: it means what encoding/json's means.
func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "abc", "\"\\/", "\x00\b\f\n\r\t\x1f\x7f", "é\u2028\u2029\ufffd😀", "\xff\xc0a\xed\xa0\x80", "<&>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got, want string
		if err := json.Unmarshal(AppendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(MustMarshal(s), &want); err != nil || got != want {
			t.Fatalf("%q, want %q (%v)", got, want, err)
		}
		if bytes.ContainsAny([]byte(s), "<>&") && bytes.Contains(AppendString(nil, s), []byte(`\u003`)) {
			t.Fatalf("%q is escaped: %s", s, AppendString(nil, s))
		}
	})
}

// What a rewritten event is made by takes an allocation for what it makes, and none beside it.
func TestEditsTakeOneAllocation(t *testing.T) {
	event := []byte(`{"type":"RUN_FINISHED","threadId":"t","outcome":{"type":"interrupt","b":[1,{"y":1,"x":2}]}}`)
	for name, f := range map[string]func(){
		"set":                func() { SetString(event, "threadId", "another thread") },
		"add":                func() { SetString(event, "runId", "another run") },
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
