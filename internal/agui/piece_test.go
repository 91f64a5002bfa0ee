package agui

import (
	"encoding/json"
	"testing"
	"unicode/utf16"
)

func TestAppendPiece(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"a pair in two pieces":         {[]string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
		"an empty piece between":       {[]string{`"a\ud83d"`, `""`, `"\ude00"`}, "a😀"},
		"capital letters":              {[]string{`"\uD83D"`, `"\uDE00"`}, "😀"},
		"two pairs":                    {[]string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ude01"`}, "😀😁"},
		"another escape behind":        {[]string{`"\ud83d"`, `"\ude00\u0041"`}, "😀A"},
		"a pair in one piece":          {[]string{`"\ud83d\ude00"`, `"\ude00"`}, "😀\ufffd"},
		"a first half alone":           {[]string{`"\ud83d"`, `"b"`, `"\ude00"`}, "\ufffdb\ufffd"},
		"two first halves":             {[]string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, "\ufffd😀"},
		"an escaped backslash":         {[]string{`"\\ud83d"`, `"\ude00"`}, "\\ud83d\ufffd"},
		"two escaped backslashes":      {[]string{`"\\\\ud83d"`, `"\ude00"`}, "\\\\ud83d\ufffd"},
		"a half behind a backslash":    {[]string{`"\\\ud83d"`, `"\ude00"`}, "\\😀"},
		"no text":                      {[]string{`"a"`, `null`, `7`, ``, `"`}, "a"},
		"no JSON":                      {[]string{`"a\"`, `"\u12"`, `"\ud83d\u12"`}, "a\\\ufffd"},
		"the replacement character":    {[]string{"\"\ufffd\"", `"\ude00"`}, "\ufffd\ufffd"},
		"a half, and no room for more": {[]string{`"\ud83d"`, `"\ude0"`}, "\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			var text []byte
			var half rune
			for _, one := range c.pieces {
				text = AppendPiece(text, one, &half)
			}
			if string(text) != c.want {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// FuzzAppendPiece cuts a text at two places, as JavaScript's slice does.
func FuzzAppendPiece(f *testing.F) {
	f.Add("a😀b", 2, 3)
	f.Add("😀😁", 1, 3)
	f.Add("\\\"\u2028😀", 3, 4)
	f.Fuzz(func(t *testing.T, text string, one, other int) {
		units := utf16.Encode([]rune(text))
		var got []byte
		var half rune
		cuts := []int{0, min(max(one, 0), len(units)), 0, len(units)}
		cuts[2] = min(max(other, cuts[1]), len(units))
		for n := range 3 {
			raw := []byte{'"'}
			for _, u := range units[cuts[n]:cuts[n+1]] {
				raw = append(raw, `\u`...)
				for shift := 12; shift >= 0; shift -= 4 {
					raw = append(raw, "0123456789abcdef"[u>>shift&15])
				}
			}
			if raw = append(raw, '"'); !json.Valid(raw) {
				t.Fatalf("%s", raw)
			}
			got = AppendPiece(got, string(raw), &half)
		}
		if want := string(utf16.Decode(units)); string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
