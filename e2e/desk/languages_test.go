//go:build e2e

package desk

import (
	"encoding/json"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"holdpoint/internal/desk/page"
)

// pseudoLanguage is the code of a language that only these tests have. Its texts are made from the
// English ones: they are longer, they use letters that no other text of the page has, and they are
// written from right to left. So the tests notice any text that the page does not translate.
const pseudoLanguage = "qps"

// newPseudoStage returns a stage whose page also has the pseudo-language. The test itself serves
// the page, and forwards requests of the API to the built binary.
func newPseudoStage(t *testing.T, binary string, more ...string) stage {
	t.Helper()
	s := newStage(t, binary, more...)
	desk, err := url.Parse(s.Desk)
	if err != nil {
		t.Fatal(err)
	}
	languages := page.Languages()
	languages[pseudoLanguage] = pseudo(t, languages[page.English])
	server := httptest.NewServer(page.HandlerIn(languages, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(desk)
		r.Out.Host = r.In.Host // the API checks the origin of a request against the host
	}}))
	t.Cleanup(server.Close)
	s.Desk = server.URL
	return s
}

// pseudo returns the pseudo-language's texts, made from the English ones.
func pseudo(t *testing.T, english page.Catalogue) page.Catalogue {
	t.Helper()
	c := page.Catalogue{}
	for key, text := range english {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		switch v := value.(type) {
		case string:
			value = pseudoText(v)
		case map[string]any:
			for form, text := range v {
				v[form] = pseudoText(text.(string))
			}
		}
		c[key] = mustMarshal(t, value)
	}
	// The pseudo-language has a locale whose digits are not 0 to 9. So if the page shows a number
	// in the usual digits, it did not format the number for the language.
	c["language.dir"], c["language.locale"] = mustMarshal(t, "rtl"), mustMarshal(t, "fa-IR-u-ca-gregory")
	return c
}

func mustMarshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// pseudoText replaces the letters of a text, and puts the text into brackets. Placeholders in
// braces stay as they are.
func pseudoText(text string) string {
	const from, to = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "àƀçđéƒğĥîĵķļɱñöþɋŕšţûṽŵẋýžÀƁÇÐÉƑĜĤÎĴĶĻṀÑÖÞɊŔŠŢÛṼŴẊÝŽ"
	letters := []rune(to)
	var b strings.Builder
	inside := false
	for _, r := range text {
		switch at := strings.IndexRune(from, r); {
		case r == '{', r == '}':
			inside = r == '{'
			b.WriteRune(r)
		case inside || at < 0:
			b.WriteRune(r)
		default:
			b.WriteRune(letters[at])
		}
	}
	return "⟦" + b.String() + strings.Repeat("·", len(text)/6) + "⟧"
}
