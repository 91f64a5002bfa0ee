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

// English is used if the page does not have the requested language.
const English = "en"

// A Catalogue is the texts of one language, by key. A text is a string, or an object with a string
// for each plural category, as the page's language.js reads it. A new language is one file
// files/<code>.json with every key of files/en.json.
type Catalogue map[string]json.RawMessage

// text returns the text of a key, or "" if it is missing or has plural forms.
func (c Catalogue) text(key string) string {
	var text string
	_ = json.Unmarshal(c[key], &text) // the document uses no texts with plural forms
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
	if err != nil { // not reached: a test reads the embedded files
		panic(fmt.Sprintf("page: the texts cannot be read: %v", err))
	}
	return all
}

// placeholder matches the place of a text in index.html.
var placeholder = regexp.MustCompile(`\{([a-zA-Z.]+)\}`)

// document returns index.html in one language. links lists the languages that a reader can choose.
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

// links returns a link to the page in each language. language.js reads the languages from them.
func links(all map[string]Catalogue) string {
	var list []string
	for _, language := range slices.Sorted(maps.Keys(all)) {
		list = append(list, fmt.Sprintf(`<link rel="alternate" hreflang="%s" href="?lang=%[1]s" title="%s">`,
			html.EscapeString(language), html.EscapeString(all[language].text("language.name"))))
	}
	return strings.Join(list, "\n")
}

// maxAccepted limits the languages of a request that are looked at.
const maxAccepted = 50

// languageFor returns the language for a request: that of ?lang, else the best one of
// Accept-Language, else English.
func (p *page) languageFor(req *http.Request) string {
	if asked := p.known(req.URL.Query().Get("lang")); asked != "" {
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
		if language := p.known(strings.TrimSpace(tag)); language != "" && q > weight {
			best, weight = language, q
		}
	}
	return best
}

// known returns the page's language for a tag such as de-AT: the same one, else the one without its
// region, else "".
func (p *page) known(tag string) string {
	for ; tag != ""; tag = tag[:max(strings.LastIndex(tag, "-"), 0)] {
		for language := range p.languages {
			if strings.EqualFold(language, tag) {
				return language
			}
		}
	}
	return ""
}
