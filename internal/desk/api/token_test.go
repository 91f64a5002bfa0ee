package api

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// TestParseTokens checks which lines a file of tokens may have, and the error for each other line.
// An error must not contain a part of a token.
func TestParseTokens(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(secret)))
	for text, want := range map[string]string{
		secret:                            "operator",
		"\n# mine\n\t" + secret + " \r\n": "operator",
		"ann sha256:" + sum:               "ann",
		"ann  sha256:" + strings.ToUpper(sum) + "\n" + strings.Repeat("-._~+/=a", 4): "ann,operator",
		"":                                "!it has no token",
		"#":                               "!it has no token",
		secret[1:]:                        "!line 1: the token has 31 characters, want at least 32",
		"\n" + secret[1:] + "é":           "!line 2: the token has characters other than",
		"sha256:" + sum:                   "!line 1: the token has characters other than",
		"ann " + secret:                   "!line 1: the last word is not a hash",
		"ann sha256:" + sum[1:]:           "!line 1: the last word is not a hash",
		"ann sha256:" + sum + " all":      "!line 1: the last word is not a hash",
		"ann finance,board sha256:" + sum: "ann[finance board]",
		"ann a ,b, c sha256:" + sum:       "ann[a b c]",
		"ann " + strings.Repeat("a", 101) + " sha256:" + sum: "!line 1: the group has control characters, or more than 100 bytes",
		"a\x1bnn sha256:" + sum:                              "!line 1: the name has control characters",
		strings.Repeat("a", 101) + " sha256:" + sum:          "!line 1: the name has control characters, or more than 100 bytes",
		secret + "\nann sha256:" + sum:                       "!line 2: the same token is in an earlier line",
	} {
		list, err := ParseTokens(text)
		var names []string
		for _, one := range list {
			name := one.Name
			if one.Groups != nil {
				name += fmt.Sprint(one.Groups)
			}
			names = append(names, name)
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

// TestCaller checks which caller is found for a token.
func TestCaller(t *testing.T) {
	sum := sha256.Sum256([]byte("the other's token, " + secret))
	list, err := ParseTokens(fmt.Sprintf("%s\nann sha256:%x", secret, sum))
	if err != nil {
		t.Fatal(err)
	}
	var tokens Tokens
	if tokens.bearer([]string{"Bearer " + secret}) != nil {
		t.Error("no tokens take somebody")
	}
	tokens.Set(list)
	for _, tt := range []struct {
		name   string
		values []string
		who    string
	}{
		{"the operator's", []string{"Bearer " + secret}, "operator"},
		{"in another case, with spaces", []string{"bEARER   " + secret}, "operator"},
		{"a named one", []string{"Bearer the other's token, " + secret}, "ann"},
		{"two", []string{"Bearer " + secret, "Bearer " + secret}, ""},
		{"without its scheme", []string{secret}, ""},
		{"by another scheme", []string{"Basic " + secret}, ""},
		{"an empty one", []string{"Bearer "}, ""},
		{"a part of it", []string{"Bearer " + secret[:31]}, ""},
		{"more than it", []string{"Bearer " + secret + "0"}, ""},
		{"the hash", []string{fmt.Sprintf("Bearer %x", sum)}, ""},
	} {
		who := ""
		if c := tokens.bearer(tt.values); c != nil {
			who = c.Name
		}
		if who != tt.who {
			t.Errorf("%s: %q", tt.name, who)
		}
	}
	tokens.Set(list[1:])
	if tokens.bearer([]string{"Bearer " + secret}) != nil {
		t.Error("a token counts that was taken back")
	}
}
