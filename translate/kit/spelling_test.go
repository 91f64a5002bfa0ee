package kit

import (
	"testing"
)

func TestEscapedLetters(t *testing.T) {
	for text, want := range map[string]bool{
		`"caf\u00e9 \u0027 \u003c \ud83d\ude00 \u4e2d"`: false, `"\u0041"`: true, `"\u007A"`: true, `"x\u00"`: false, ``: false, `"\u003e\u0061"`: true,
	} {
		if got := escapesLetters([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestHasWord(t *testing.T) {
	for text, want := range map[string]bool{
		"approval": true, "an APPROVAL": true, "xapProVals": true, "approvaapproval": true, "vvapproval": true, "APPROvAL": true,
		"": false, "v": false, "approva": false, "pproval": false, "vapprova": false, "approv\u0101l": false, "approval"[1:] + "a": false,
	} {
		if got := hasWord([]byte(text), "approval", 'v'); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if got := hasWord([]byte(text), "approval", 0); got != want {
			t.Errorf("%q, without a rare letter: %v", text, got)
		}
	}
}
