package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// English is the language that is used if the page does not have the language of the request.
const English = "en"

// A Catalogue has the texts of one language, by key. A text is a string, or an object with a string
// for each plural category; the page's language.js reads both. To add a language, add one file
// files/<code>.json with every key of files/en.json.
type Catalogue map[string]json.RawMessage

// text returns the text with this key. It returns "" if there is no such text or if it has plural
// forms.
func (c Catalogue) text(key string) string {
	var text string
	// an error means plural forms, which the document does not use
	_ = json.Unmarshal(c[key], &text)
	return text
}

// embeddedLanguages returns the built-in catalogues by language code.
func embeddedLanguages() map[string]Catalogue {
	all := map[string]Catalogue{}
	names, err := fs.Glob(embedded, "files/*.json")
	for _, name := range names {
		text, readErr := fs.ReadFile(embedded, name)
		c := Catalogue{}
		if err = cmp.Or(err, readErr, json.Unmarshal(text, &c)); err != nil {
			break
		}
		all[strings.TrimSuffix(path.Base(name), ".json")] = c
	}
	if err != nil { // does not happen: a test reads the embedded files
		panic(fmt.Sprintf("page: the texts cannot be read: %v", err))
	}
	return all
}

// placeholder matches a key in braces in index.html, which a text replaces.
var placeholder = regexp.MustCompile(`\{([a-zA-Z.]+)\}`)

// document returns index.html in one language. links has the HTML links to the page in each
// language.
func document(c Catalogue, language, links string) []byte {
	text, err := fs.ReadFile(embedded, "files/index.html")
	if err != nil {
		panic(fmt.Sprintf("page: %v", err))
	}
	return placeholder.ReplaceAllFunc(text, func(found []byte) []byte {
		switch key := string(found[1 : len(found)-1]); key {
		case "language":
			return []byte(html.EscapeString(language))
		case "languages":
			return []byte(links)
		default:
			return []byte(html.EscapeString(c.text(key)))
		}
	})
}

// links returns the HTML links to the page in each language. language.js reads from these links
// which languages there are.
func links(all map[string]Catalogue) string {
	var list []string
	for _, language := range slices.Sorted(maps.Keys(all)) {
		list = append(list, fmt.Sprintf(`<link rel="alternate" hreflang="%s" href="?lang=%[1]s" title="%s">`,
			html.EscapeString(language), html.EscapeString(all[language].text("language.name"))))
	}
	return strings.Join(list, "\n")
}

// maxAccepted is the largest number of languages in Accept-Language that are read.
const maxAccepted = 50

// languageFor returns the language for a request: the language in ?lang, or else the best one in
// Accept-Language, or else English.
func (p *page) languageFor(req *http.Request) string {
	if asked := p.bestLanguage(req.URL.Query().Get("lang")); asked != "" {
		return asked
	}
	best, weight := English, 0.0
	for n, one := range strings.Split(strings.Join(req.Header.Values("Accept-Language"), ","), ",") {
		if n == maxAccepted {
			break
		}
		tag, params, _ := strings.Cut(one, ";")
		q := 1.0
		if text, has := strings.CutPrefix(strings.TrimSpace(params), "q="); has {
			var err error
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		if language := p.bestLanguage(strings.TrimSpace(tag)); language != "" && q > weight {
			best, weight = language, q
		}
	}
	return best
}

// bestLanguage returns the language of the page for a tag such as de-AT: the language with this
// tag, or else the one with the tag without its region, or else "".
func (p *page) bestLanguage(tag string) string {
	for ; tag != ""; tag = tag[:max(strings.LastIndex(tag, "-"), 0)] {
		for language := range p.languages {
			if strings.EqualFold(language, tag) {
				return language
			}
		}
	}
	return ""
}
