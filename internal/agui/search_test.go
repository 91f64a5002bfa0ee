package agui

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func FuzzIndex(f *testing.F) {
	f.Add([]byte("nnnununulnull"), "null", 0)
	f.Add([]byte(`{"a":"response_schem","b":{"response_schema":{}}}`), `"response_schema"`, 9)
	for n := range 100 {
		f.Add([]byte("_"+strings.Repeat("x", n*10)+"_a__a_b"+strings.Repeat("x", n%40)), "_a_b", 2)
	}
	f.Fuzz(func(t *testing.T, b []byte, text string, rare int) {
		if rare < 0 || rare > len(text)-2 {
			return
		}
		if got, want := Index(b, text, rare), bytes.Index(b, []byte(text)); got != want {
			t.Errorf("%q in %q by %d: %d, want %d", text, b, rare, got, want)
		}
	})
}

// gaps are pieces of which the tests make texts. They contain few different letters. Some have
// lengths near wideGap and blockSize, because the searches choose their way by these lengths.
var gaps = []string{
	":", " ", "\n", "null", "nul", "nunu", "n", `"a"`, "x", ":null", ": null,", strings.Repeat(" ", wideGap),
	strings.Repeat("x", wideGap-1), strings.Repeat("-", wideGap), strings.Repeat("y", blockSize-wideGap), strings.Repeat(" ", blockSize),
}

func someGaps() []byte {
	var text []byte
	for range rand.IntN(16) {
		text = append(text, gaps[rand.IntN(len(gaps))]...)
	}
	return text
}

// TestIndex checks that Index returns the same position as bytes.Index.
func TestIndex(t *testing.T) {
	for range 4_000 {
		b := someGaps()
		for _, text := range []string{"nu", "nul", ":null,", " x"} {
			for rare := range len(text) - 1 {
				if got, want := Index(b, text, rare), bytes.Index(b, []byte(text)); got != want {
					t.Fatalf("%q in %q by %d: %d, want %d", text, b, rare, got, want)
				}
			}
		}
	}
}

// TestEachNull checks that eachNull finds the same colons as a search at every position.
func TestEachNull(t *testing.T) {
	for range 4_000 {
		b := someGaps()
		var want, got []int
		for null := range b {
			if at := spaceBegin(b, null); at > 0 && b[at-1] == ':' && nullAt(b, null) {
				want = append(want, at-1)
			}
		}
		eachNull(b, func(colon int) bool {
			got = append(got, colon)
			return true
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", b, got, want)
		}
	}
}

// BenchmarkIndex measures Index with a key that the event does not have.
func BenchmarkIndex(b *testing.B) {
	for name, event := range map[string]string{
		"words": strings.Repeat("the agent reads what it was told and answers in small pieces, ", 300),
		"keys":  strings.Repeat(`{"type":"ai","content":"Done.","tool_calls":[],"usage_metadata":{"input_tokens":17},"run_step":12},`, 200),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				if Index([]byte(event), `"response_schema"`, len(`"response`)) >= 0 {
					b.Fatal("found")
				}
			}
		})
	}
}
