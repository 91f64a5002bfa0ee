package agui

import (
	"strings"
	"testing"
)

func TestWithLastKeys(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"o":2,"b":3}`:                     `{"a":1,"o":2,"b":3}`,
		`{ "a" : 1 }`:                             `{ "a" : 1 }`,
		`{"o":1,"a":[{"o":2}],"o":{"o":3},"b":4}`: `{"a":[{"o":2}],"o":{"o":3},"b":4}`,
		`{"o":1,"\u006f":2}`:                      `{"\u006f":2}`,
		`{"o":1,"o":2,"o":3}`:                     `{"o":3}`,
		`{"o":{"a":1,"a":2,"b":3}}`:               `{"o":{"a":2,"b":3}}`,
		`[ { "a" : 1 , "a" : 2 } , 3 ]`:           `[ { "a" : 2 } , 3 ]`,
		// both members around and inside are replaced
		`{"o":{"a":1,"a":2},"o":{"b":[{"c":1,"c":{}}]}}`: `{"o":{"b":[{"c":{}}]}}`,
		// keys that may differ, and keys that only some readers think equal
		`{"\ud800":1,"\ud801":2,"a":1,"A":2}`: `{"\ud800":1,"\ud801":2,"a":1,"A":2}`,
		`"text"`:                              `"text"`,
	} {
		if got := string(WithLastKeys([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestWithLastKeysIsLinear: repeated keys in each of many nested objects must not make it slow.
func TestWithLastKeysIsLinear(t *testing.T) {
	deep := strings.Repeat(`{"a":`+strings.Repeat(" ", 10_000)+`1,"a":`, MaxDepth-1) + "2" + strings.Repeat("}", MaxDepth-1)
	if got, want := string(WithLastKeys([]byte(deep))), strings.Repeat(`{"a":`, MaxDepth-1)+"2"+strings.Repeat("}", MaxDepth-1); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}
