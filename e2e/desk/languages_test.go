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

// pseudoLanguage is the code of a language that only these tests have. Its texts are the English
// ones in letters that no other text of the page has, longer, and from right to left.
const pseudoLanguage = "qps"

// newPseudoStage returns a stage whose page also has the pseudo-language. The test serves the page,
// and the API is that of the built binary.
func newPseudoStage(t *testing.T, binary string, more ...string) stage {
	t.Helper()
	s := newStage(t, binary, more...)
	desk, err := url.Parse(s.Desk)
	if err != nil {
		t.Fatal(err)
	}
	languages := page.Languages()
	languages[pseudoLanguage] = pseudo(t, languages[page.English])
	server := httptest.NewServer(page.OverIn(languages, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(desk)
		r.Out.Host = r.In.Host // the API checks which page sent the request
	}}))
	t.Cleanup(server.Close)
	s.Desk = server.URL
	return s
}

// pseudo makes the pseudo-language from English.
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
	// The pseudo-language uses a locale with digits other than 0 to 9. So a number in ordinary
	// digits is one that the page wrote without asking the language.
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

// pseudoText returns a text in other letters, in brackets. Placeholders stay.
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
