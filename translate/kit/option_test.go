package kit

import (
	"slices"
	"testing"
)

func TestDeniesOnly(t *testing.T) {
	for text, want := range map[string]bool{
		`false`: true, `0`: true, `"no"`: true, `{"cancelled":true}`: true, `{"approved":false}`: true, `{"type":"reject","x":[false]}`: true,
		`true`: false, `1`: false, `"Yes"`: false, `" ok "`: false, `{"approved":true}`: false, `{"a":{"accept":{}}}`: false, `[false,"go","proceed"]`: false,
		`null`: false, `""`: false, `{}`: false, `[]`: false, `{`: false, ``: false,
	} {
		if err := JSON(text).DeniesOnly(); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCutValues(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " ; ;": nil, "a": {"a"}, "a; b ;c": {"a", "b", "c"}, `a={"x":";"};b="y;\";z";c=[1;2]`: {`a={"x":";"}`, `b="y;\";z"`, `c=[1;2]`},
		`a="x;y`: {`a="x;y`}, "a}};b": {"a}}", "b"}, `a"\`: {`a"\`},
	} {
		if got := CutValues(text, ";"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := CutValues("a  {b c}\td", " \t"); !slices.Equal(got, []string{"a", "{b c}", "d"}) {
		t.Errorf("%q", got)
	}
}
