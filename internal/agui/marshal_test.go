package agui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzAppendString: the JSON string must decode to the same text as that of encoding/json.
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

// FuzzAppendCompact: the result must be the same as that of json.Compact.
func FuzzAppendCompact(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, " {\n\t\"a b\" : [ 1 , \"\\\" \" ] }\r\n", `"x y"`, `[ ]`, " true "} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		var want bytes.Buffer
		want.WriteByte('x')
		if json.Compact(&want, value) != nil {
			return
		}
		if got := AppendCompact([]byte("x"), value); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q, want %q", got, want.Bytes())
		}
	})
}

// TestEditsTakeOneAllocation: the functions that rewrite an event must allocate only their result.
func TestEditsTakeOneAllocation(t *testing.T) {
	event := []byte(`{"type":"RUN_FINISHED","threadId":"t","outcome":{"type":"interrupt","b":[1,{"y":1,"x":2}]}}`)
	for name, f := range map[string]func(){
		"set":                func() { SetString(event, "threadId", "another thread") },
		"add":                func() { SetString(event, "runId", "another run") },
		"delete":             func() { DeleteKey(event, "outcome") },
		"nothing to delete":  func() { DeleteKey(event, "expiresAt") },
		"nothing to be seen": func() { NewSeenMessage(Message{ID: "m", Role: "assistant"}) },
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
