package ids_test

import (
	"testing"

	"holdpoint/proxy/internal/ids"
)

// TestKeys checks that the keys of records are still the same. They must never change, because
// existing stores contain them.
func TestKeys(t *testing.T) {
	for want, got := range map[string]string{
		"96c2c9ce17c586ac7cf68f63ac51da03f2e04f22734a89a88b095a0e6d2816e8": string(ids.ThreadKey("", "billing", "/agent", "t")),
		"f4a70905f0942fb679a8c1d7fd1defdc1d66f79843b5ab52c092473e5c152ac8": ids.Digest("holdpoint index 1", "question", "", "", "/agent", "id1"),
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": ids.Digest(),
		"00ff": ids.Hex([]byte{0, 255}),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestDigestKeepsPartsApart: if two lists of parts differ, their digests must differ, even if the
// parts form the same text when they are joined.
func TestDigestKeepsPartsApart(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"abc"}, {"a", "bc"}, {"ab", "c"}, {"a", "b", "c"}, {"", "abc"}, {"abc", ""}, {"\x01a", "bc"}, {}} {
		digest := ids.Digest(parts...)
		if before, is := seen[digest]; is {
			t.Errorf("%q and %q have one digest", before, parts)
		}
		seen[digest] = parts
	}
}

// TestRandom checks the length of random ids, and that no two are equal.
func TestRandom(t *testing.T) {
	for want, random := range map[int]func() string{12: ids.Random72, 32: ids.Random128} {
		a, b := random(), random()
		if len(a) != want || len(b) != want || a == b {
			t.Errorf("got %q and %q, want two of %d characters", a, b, want)
		}
	}
}
