package netjson

import "testing"

func TestSpelling(t *testing.T) {
	v := New("a", "\"'<>&+`\\/\b\f\n\r\t\x01\x7fä😀", "n", nil, "list", []int{1})
	if got, want := string(Escaped(v)), `{"a":"\u0022\u0027\u003C\u003E\u0026\u002B\u0060\\/\b\f\n\r\t\u0001\u007F\u00E4\uD83D\uDE00","n":null,"list":[1]}`; got != want {
		t.Errorf("escaped\n%s\nwant\n%s", got, want)
	}
	if got, want := string(Relaxed(New("a", "\"'<>&+`\\ä😀"))), "{\"a\":\"\\\"'<>&+`\\\\ä😀\"}"; got != want {
		t.Errorf("relaxed\n%s\nwant\n%s", got, want)
	}
}
