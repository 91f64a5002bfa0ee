package page

import (
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forms returns the texts of a key by plural category. If the key has one text without plural
// forms, its category is "other".
func forms(t *testing.T, c Catalogue, key string) map[string]string {
	t.Helper()
	var text string
	if json.Unmarshal(c[key], &text) == nil {
		return map[string]string{"other": text}
	}
	list := map[string]string{}
	if err := json.Unmarshal(c[key], &list); err != nil {
		t.Errorf("%s is neither a text nor an object of texts: %s", key, c[key])
	}
	return list
}

// category matches a plural category of CLDR, or "=" and a number that has a text of its own.
var category = regexp.MustCompile(`^(zero|one|two|few|many|other|=[0-9]+)$`)

// placeholdersOf returns the names in the braces of a text, each once.
func placeholdersOf(text string) []string {
	var list []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestEveryLanguageHasEveryText: each language must have exactly the keys of English. Each text
// must have the same placeholders as the English text. A plural form may leave out the placeholder
// of the number.
func TestEveryLanguageHasEveryText(t *testing.T) {
	all := Languages()
	english := all[English]
	if len(all) < 2 || len(english) < 100 {
		t.Fatalf("%d languages, %d texts", len(all), len(english))
	}
	for language, c := range all {
		for key := range english {
			if _, has := c[key]; !has {
				t.Errorf("%s.json lacks %q", language, key)
			}
		}
		for key := range c {
			if _, has := english[key]; !has {
				t.Errorf("%s.json has %q, which en.json does not have", language, key)
				continue
			}
			want := placeholdersOf(forms(t, english, key)["other"])
			list := forms(t, c, key)
			if list["other"] == "" {
				t.Errorf("%s.json: %q has no text for the category other", language, key)
			}
			for form, text := range list {
				if !category.MatchString(form) || strings.TrimSpace(text) == "" {
					t.Errorf("%s.json: %q has the form %q with the text %q", language, key, form, text)
				}
				got := placeholdersOf(text)
				counted := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return name == "n" && !slices.Contains(got, "n") })
				if form == "other" && len(list) == 1 {
					counted = want
				}
				if !slices.Equal(got, counted) {
					t.Errorf("%s.json: %q (%s) has the placeholders %q, want %q", language, key, form, got, want)
				}
				if strings.ContainsAny(text, "<>") || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x202A && r <= 0x202E }) {
					t.Errorf("%s.json: %q has markup, or a control character: %q", language, key, text)
				}
			}
		}
		if dir := c.text("language.dir"); dir != "ltr" && dir != "rtl" {
			t.Errorf("%s.json: the direction is %q", language, dir)
		}
	}
}

// TestEveryTextIsUsed: the scripts of the page must use each text, and each text that they use must
// exist.
func TestEveryTextIsUsed(t *testing.T) {
	keys := Languages()[English]
	used := map[string]bool{"language.name": true, "language.locale": true, "language.dir": true}
	var prefixes []string
	scripts, err := fs.Glob(embedded, "files/*.js")
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`"((?:[a-z][A-Za-z]*\.)+[A-Za-z_]+(?:\.text)?|yes|no|you|quote)"`)
	begin := regexp.MustCompile("`((?:[a-z][A-Za-z]*\\.)+)\\$\\{")
	call := regexp.MustCompile(`[^.\w](?:say|parts|has)\("([^"]+)"`)
	for _, name := range scripts {
		text, err := fs.ReadFile(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
			used[m[1]] = true
		}
		for _, m := range begin.FindAllStringSubmatch(string(text), -1) {
			prefixes = append(prefixes, m[1])
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			if _, has := keys[m[1]]; !has {
				t.Errorf("%s asks for %q, which en.json does not have", name, m[1])
			}
		}
	}
	index, err := fs.ReadFile(embedded, "files/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range placeholdersOf(string(index)) {
		used[name] = true
		if _, has := keys[name]; !has && name != "language" && name != "languages" {
			t.Errorf("index.html asks for %q, which en.json does not have", name)
		}
	}
	for key := range keys {
		if !used[key] && !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("nothing in the page asks for %q", key)
		}
	}
	for _, p := range prefixes {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(key string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("the page asks for texts that begin with %q, and there are none", p)
		}
	}
}

// TestDocumentHasNoWords: index.html has no text of its own, not even in an attribute.
func TestDocumentHasNoWords(t *testing.T) {
	text, err := fs.ReadFile(embedded, "files/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`>([^<>]*[A-Za-z][^<>]*)<|(?:aria-label|title|placeholder|alt)="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		if words := strings.TrimSpace(placeholder.ReplaceAllString(m[1]+m[2], "")); words != "" && words != "?" && words != "Holdpoint" {
			t.Errorf("index.html says %q itself", words)
		}
	}
}

// TestLanguageOfARequest: ?lang precedes Accept-Language, whose best available language counts. The
// default is English.
func TestLanguageOfARequest(t *testing.T) {
	for _, tt := range []struct{ at, accept, want string }{
		{"/", "", "en"},
		{"/", "de", "de"},
		{"/", "de-AT,de;q=0.9,en;q=0.8", "de"},
		{"/", "en-GB,en;q=0.9,de;q=0.8", "en"},
		{"/", "fr-FR,fr;q=0.9", "en"},
		{"/", "fr,de;q=0.3,en;q=0.2", "de"},
		{"/", "DE-de", "de"},
		{"/", "de;q=0", "en"},
		{"/", "de;q=x,en", "en"},
		{"/", "*", "en"},
		{"/", "deu", "en"},
		{"/", "-,;,de-,", "de"},
		{"/", strings.Repeat("xx,", 60) + "de", "en"},
		{"/?lang=de", "en", "de"},
		{"/?lang=de-CH", "en", "de"},
		{"/?lang=en", "de", "en"},
		{"/?lang=xx", "de", "de"},
		{"/?lang=../en", "de", "de"},
		{"/?lang=", "de", "de"},
		{"/?lang=%22%3E", "", "en"},
	} {
		t.Run(tt.at+" "+tt.accept, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, tt.at, nil)
			req.Header.Set("Accept-Language", tt.accept)
			w := httptest.NewRecorder()
			Handler(http.NotFoundHandler()).ServeHTTP(w, req)
			h := w.Header()
			if got := h.Get("Content-Language"); got != tt.want || h.Get("Vary") != "Accept-Language" || h.Get("Content-Security-Policy") != Policy {
				t.Errorf("%q, want %q; %v", got, tt.want, h)
			}
			if !strings.Contains(w.Body.String(), `<html lang="`+tt.want+`" dir="ltr">`) {
				t.Errorf("the document is not in %s", tt.want)
			}
		})
	}
}

// TestDocumentInEachLanguage: the document has its texts, and a link to each language. Markup in a
// text is escaped.
func TestDocumentInEachLanguage(t *testing.T) {
	const hostile = `"><script>alert(1)</script>{frame.help}`
	all := Languages()
	evil := Catalogue{}
	for key := range all[English] {
		evil[key], _ = json.Marshal(hostile)
	}
	evil["language.name"] = all[English]["language.name"] // it is in every document
	all["zz"] = evil
	page := HandlerIn(all, http.NotFoundHandler())
	for language, c := range all {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?lang="+language, nil))
		text := w.Body.String()
		if n := strings.Count(text, "<script"); n != 1 {
			t.Errorf("%s: %d scripts", language, n)
		}
		if language != "zz" && (placeholder.MatchString(text) || !strings.Contains(text, "<title>"+c.text("frame.title")+"</title>")) {
			t.Errorf("%s: a text is missing in\n%s", language, text)
		}
		for other := range all {
			if !strings.Contains(text, `hreflang="`+other+`" href="?lang=`+other+`"`) {
				t.Errorf("%s: no link to %s", language, other)
			}
		}
		w = httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/page/"+language+".json", nil))
		var got Catalogue
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got) != len(c) || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s.json: %v, %d texts, %v", language, err, len(got), w.Header())
		}
	}
}

// sentence matches a string in a script that looks like text for a person: it begins with a capital
// and has a second word, or it ends like a sentence.
var sentence = regexp.MustCompile("[\"`](?:[A-Z][a-z]+ [^\"`]+|[^\"`]*[a-z] [a-z]+[.?!…])[\"`]")

// TestScriptsHaveNoSentences: all texts of the page are in the language files.
func TestScriptsHaveNoSentences(t *testing.T) {
	scripts, err := fs.Glob(embedded, "files/*.js")
	if err != nil || len(scripts) < 10 {
		t.Fatal(len(scripts), err)
	}
	if !sentence.MatchString(`tell("Nothing was sent")`) || !sentence.MatchString("say(`it has ended.`)") {
		t.Fatal("a sentence is not found")
	}
	for _, name := range scripts {
		text, err := fs.ReadFile(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "// ")
			if found := sentence.FindString(code); found != "" {
				t.Errorf("%s:%d says %s itself, want a key of en.json", name, n+1, found)
			}
		}
	}
}
