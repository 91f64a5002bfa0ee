package engine

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

func TestParseRing(t *testing.T) {
	k1, k2 := testKey(1), testKey(2)
	for name, c := range map[string]struct{ text, wrong string }{
		"none":              {"", ""},
		"one":               {"k1:" + k1, ""},
		"two and plain":     {"k2:" + k2 + ",k1:" + k1 + ",plain", ""},
		"a line each":       {"k2:" + k2 + "\nk1:" + k1 + "\r\n", ""},
		"for URLs":          {"k1:" + strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, 32))), ""},
		"no id":             {k1, "want id:key"},
		"an odd id":         {"k{1}:" + k1, "want id:key"},
		"a short key":       {"k1:" + k1[:20], `the key "k1" is not 32 bytes in base64`},
		"no base64":         {"k1:" + strings.Repeat("!", 44), `the key "k1" is not 32 bytes in base64`},
		"one id, two keys":  {"k1:" + k1 + ",k1:" + k2, `two keys have the id "k1"`},
		"plain and nothing": {"plain", "plain needs a key"},
	} {
		_, err := ParseRing(c.text)
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		case err != nil && (strings.Contains(err.Error(), k1) || strings.Contains(err.Error(), k1[:20])):
			t.Errorf("%s: a key is in the error: %v", name, err)
		}
	}
}

func ringOf(t testing.TB, text string) Ring {
	t.Helper()
	r, err := ParseRing(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRingOpens: an encrypted part can be read only if it is complete, if the ring has its
// encryption key, and if it is read as the same part of the same record. Otherwise the error must
// say what to do.
func TestRingOpens(t *testing.T) {
	k1, k2 := "k1:"+testKey(1), "k2:"+testKey(2)
	plain, place := []byte(`{"version":1}`), sealContext("a", "head")
	sealed := func(ring string) []byte {
		b, err := ringOf(t, ring).seal(place, plain)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	changed := sealed(k1)
	changed[len(changed)-1] ^= 1
	for name, c := range map[string]struct {
		ring   string
		place  []byte
		part   []byte
		wrong  string
		secret bool
	}{
		"its key":                 {k1, place, sealed(k1), "", false},
		"a newer key in front":    {k2 + "," + k1, place, sealed(k1), "", false},
		"nothing is sealed":       {"", place, plain, "", false},
		"a plain one of before":   {k1 + ",plain", place, plain, "", false},
		"a plain one":             {k1, place, plain, "not sealed", false},
		"no key":                  {"", place, sealed(k1), `sealed with the key "k1"`, false},
		"another key":             {k2, place, sealed(k1), `sealed with the key "k1"`, false},
		"another of the same id":  {"k1:" + testKey(3), place, sealed(k1), `cannot be opened with the key "k1"`, false},
		"changed":                 {k1, place, changed, `cannot be opened with the key "k1"`, false},
		"another record's":        {k1, sealContext("b", "head"), sealed(k1), `cannot be opened`, false},
		"another part's":          {k1, sealContext("a", "body", "1"), sealed(k1), `cannot be opened`, false},
		"cut":                     {k1, place, sealed(k1)[:3], "a part of it is missing", false},
		"cut behind its id":       {k1, place, sealed(k1)[:4], "cannot be opened", false},
		"gone":                    {k1, place, nil, "a part of it is missing", false},
		"gone, nothing is sealed": {"", place, nil, "a part of it is missing", false},
	} {
		got, err := ringOf(t, c.ring).open(c.place, c.part)
		switch {
		case c.wrong == "" && (err != nil || !bytes.Equal(got, plain)):
			t.Errorf("%s: %q, %v", name, got, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
	if bytes.Contains(sealed(k1), []byte("version")) {
		t.Error("a sealed part can be read")
	}
}

// FuzzRingOpens checks that any bytes in a store are either read as a record or cause an error.
func FuzzRingOpens(f *testing.F) {
	ring := ringOf(f, "k1:"+testKey(1))
	good, err := ring.seal(sealContext("a", "head"), []byte(`{}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{sealedMark, 255})
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, part []byte) {
		if got, err := ring.open(sealContext("a", "head"), part); err == nil && string(got) != `{}` {
			t.Errorf("%q was read as %q", part, got)
		}
	})
}
