package desk

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// TestParseTokens: what a file of tokens may have, and what is said of the rest. No error has a
// part of a token.
func TestParseTokens(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))
	for text, want := range map[string]string{
		secret:                            "operator",
		"\n# mine\n\t" + secret + " \r\n": "operator",
		"ann sha256:" + sum:               "ann",
		"ann  sha256:" + strings.ToUpper(sum) + "\n" + strings.Repeat("-._~+/=a", 4): "ann,operator",
		"":                           "!there is no token in it",
		"#":                          "!there is no token in it",
		secret[1:]:                   "!line 1: the token has 31 characters, want at least 32",
		"\n" + secret[1:] + "é":      "!line 2: the token has other signs",
		"sha256:" + sum:              "!line 1: the token has other signs",
		"ann " + secret:              "!line 1: the second word is no hash",
		"ann sha256:" + sum[1:]:      "!line 1: the second word is no hash",
		"ann sha256:" + sum + " all": "!line 1: there are more than two words",
		"a\x1bnn sha256:" + sum:      "!line 1: the name has control characters",
		strings.Repeat("a", 101) + " sha256:" + sum: "!line 1: the name has control characters, or more than 100 bytes",
		secret + "\nann sha256:" + sum:              "!line 2: the token stands there twice",
	} {
		list, err := ParseTokens(text)
		var names []string
		for _, one := range list {
			names = append(names, one.Name)
		}
		got := strings.Join(names, ",")
		if err != nil {
			got = "!" + err.Error()
		}
		if wrong, ok := strings.CutPrefix(want, "!"); got != want && (!ok || !strings.Contains(got, wrong)) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if err != nil && (strings.Contains(got, secret[1:]) || strings.Contains(got, sum)) {
			t.Errorf("%q: the error has the token: %s", text, got)
		}
	}
}

// TestCaller: who shows which token.
func TestCaller(t *testing.T) {
	sum := sha256.Sum256([]byte("the other's token, " + secret))
	list, err := ParseTokens(fmt.Sprintf("%s\nann sha256:%x", secret, sum))
	if err != nil {
		t.Fatal(err)
	}
	var tokens Tokens
	if c, shown := tokens.caller([]string{"Bearer " + secret}); c != nil || !shown {
		t.Error("no tokens take somebody")
	}
	tokens.Set(list)
	for _, tt := range []struct {
		name   string
		values []string
		who    string
		shown  bool
	}{
		{"the operator's", []string{"Bearer " + secret}, "operator", true},
		{"in another case, with spaces", []string{"bEARER   " + secret}, "operator", true},
		{"a named one", []string{"Bearer the other's token, " + secret}, "ann", true},
		{"none", nil, "", false},
		{"two", []string{"Bearer " + secret, "Bearer " + secret}, "", true},
		{"without its scheme", []string{secret}, "", true},
		{"by another scheme", []string{"Basic " + secret}, "", true},
		{"an empty one", []string{"Bearer "}, "", true},
		{"a part of it", []string{"Bearer " + secret[:31]}, "", true},
		{"more than it", []string{"Bearer " + secret + "0"}, "", true},
		{"the hash", []string{fmt.Sprintf("Bearer %x", sum)}, "", true},
	} {
		c, shown := tokens.caller(tt.values)
		who := ""
		if c != nil {
			who = c.Name
		}
		if who != tt.who || shown != tt.shown {
			t.Errorf("%s: %q, shown %t", tt.name, who, shown)
		}
	}
	tokens.Set(list[1:])
	if c, _ := tokens.caller([]string{"Bearer " + secret}); c != nil {
		t.Error("a token counts that was taken back")
	}
}
