package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseValue(t *testing.T) {
	for _, tt := range []struct {
		text         string
		count, depth int
		digits       int
		fails        string
	}{
		{text: `null`, count: 1, depth: 1},
		{text: ` {"a":[1,-20.5,"x"],"b":{}} `, count: 8, depth: 3, digits: 3},
		{text: `1e400`, count: 1, depth: 1, digits: 401},
		{text: `-5E-324`, count: 1, depth: 1, digits: 325},
		{text: strings.Repeat("9", MaxDigits), count: 1, depth: 1, digits: MaxDigits},
		{text: strings.Repeat("9", MaxDigits+1), fails: "more than 400 digits"},
		{text: `[1e401]`, fails: "an exponent beyond 400"},
		{text: `[1e-401]`, fails: "an exponent beyond 400"},
		{text: `1e99999999999999999999`, fails: "an exponent beyond 400"},
		{text: `[0,0,0,0,0,0,0,0,0,0]`, fails: "more than 10 values and keys"},
		{text: `{"a":0,"b":0,"c":0,"d":0,"e":0}`, fails: "more than 10 values and keys"},
		{text: strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), fails: "more than 10 values"},
		{text: ``, fails: ErrNoJSON.Error()}, {text: `{`, fails: ErrNoJSON.Error()}, {text: `{"a"}`, fails: ErrNoJSON.Error()},
		{text: `[1,]`, fails: ErrNoJSON.Error()}, {text: `[1]]`, fails: ErrNoJSON.Error()}, {text: `{1:2}`, fails: ErrNoJSON.Error()},
		{text: `{"a":1,}`, fails: ErrNoJSON.Error()}, {text: `nul`, fails: ErrNoJSON.Error()}, {text: `01`, fails: ErrNoJSON.Error()},
	} {
		v, err := ParseValue([]byte(tt.text), 10)
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%.40s: %v", tt.text, err)
			}
		case err != nil || v.Count != tt.count || v.Depth != tt.depth || v.Digits != tt.digits:
			t.Errorf("%.40s: %d values, %d deep, %d digits, %v", tt.text, v.Count, v.Depth, v.Digits, err)
		}
	}
	deep := func(n int) error {
		_, err := ParseValue([]byte(strings.Repeat("[", n)+strings.Repeat("]", n)), 2*n)
		return err
	}
	if err := deep(MaxDepth); err != nil {
		t.Error(err)
	}
	if err := deep(MaxDepth + 1); !errors.Is(err, ErrNoJSON) {
		t.Error(err)
	}
}

// FuzzParseValue: ParseValue must accept the same texts as ValidJSON, and return the same values as
// encoding/json.
func FuzzParseValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,true,false,null,"\u00e9\n"],"a":{}}`, `[[[]]]`, ` "x" `, `{"a":1,"b":2,"a":3}`, `[1e401]`, `{"`, `[1 2]`, `{"a" 1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseValue([]byte(text), 1000)
		if !ValidText(text) {
			if err == nil {
				t.Fatalf("%q is no JSON", text)
			}
			return
		}
		if errors.Is(err, ErrNoJSON) {
			t.Fatalf("%q is JSON", text)
		}
		// encoding/json decodes half of a surrogate pair in another way
		if err != nil || !utf8.ValidString(text) || strings.Contains(text, `\u`) {
			return
		}
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Any, want) {
			t.Fatalf("%q: %#v, want %#v", text, got.Any, want)
		}
	})
}
