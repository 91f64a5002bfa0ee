package store_test

import (
	"maps"
	"testing"

	"holdpoint/store"
)

// TestAnswers: the digest of several answers is made from the digest of each answer. From it, the
// digest of each answer can be read by the id of its question, whatever characters the ids contain.
func TestAnswers(t *testing.T) {
	ids := []string{"a", "a b", "a\nb", "a\nb c", "", "\n", " ", `a","b`, `["a","b"]`, "a\r\nb d1", "\x00", "é\u2028"}
	var list []store.AnswerDigest
	want := map[string]string{}
	for n, id := range ids {
		want[id] = string(rune('a' + n))
		list = append(list, store.AnswerDigest{Question: id, Digest: want[id]})
	}
	digest := store.MarshalAnswers(list)
	if got := store.UnmarshalAnswers(digest); !maps.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	list[0], list[5] = list[5], list[0]
	if got := store.MarshalAnswers(list); got != digest {
		t.Errorf("in another order: %s\nwant %s", got, digest)
	}
	twice := store.MarshalAnswers([]store.AnswerDigest{{Question: "a", Digest: "2"}, {Question: "a", Digest: "1"}})
	if got := store.UnmarshalAnswers(twice); got["a"] != "1" || len(got) != 1 {
		t.Errorf("%s is read as %q", twice, got)
	}
}

// TestSameAnswers checks how digests of answers are compared, including digests in older records.
func TestSameAnswers(t *testing.T) {
	of := func(pairs ...string) string {
		var list []store.AnswerDigest
		for n := 0; n < len(pairs); n += 2 {
			list = append(list, store.AnswerDigest{Question: pairs[n], Digest: pairs[n+1]})
		}
		return store.MarshalAnswers(list)
	}
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"equal":                          {of("a", "1", "b", "2"), of("b", "2", "a", "1"), true},
		"one is missing":                 {of("a", "1", "b", "2"), of("a", "1"), false},
		"another answer":                 {of("a", "1"), of("a", "2"), false},
		"lines":                          {"a 1\nb 2", of("b", "2", "a", "1"), true},
		"lines of an id with a space":    {"a b 1", of("a b", "1"), true},
		"other lines":                    {"a 1\nb 3", of("b", "2", "a", "1"), false},
		"lines that are one id":          {of("a 1\nb", "2"), of("b", "2", "a", "1"), false},
		"without an answer":              {"", "", true},
		"an answer and an empty set":     {"", of(), false},
		"an answer and none":             {"", of("a", "1"), false},
		"what is no digest of this form": {"d1", "d2", false},
	} {
		t.Run(name, func(t *testing.T) {
			if store.SameAnswers(c.a, c.b) != c.same || store.SameAnswers(c.b, c.a) != c.same {
				t.Errorf("%q and %q: want %t", c.a, c.b, c.same)
			}
		})
	}
}
