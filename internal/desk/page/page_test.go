package page

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

const apiSays = "the API says"

func get(t *testing.T, method, at string) *http.Response {
	t.Helper()
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(apiSays)) })
	w := httptest.NewRecorder()
	Handler(api).ServeHTTP(w, httptest.NewRequest(method, at, nil))
	return w.Result()
}

func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		method, at string
		status     int
		kind       string // Content-Type; "" if the API handles the path
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/?a=b", 200, "text/html; charset=utf-8"},
		{"GET", "/page/main.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/page/desk.css", 200, "text/css; charset=utf-8"},
		{"GET", "/page/icon.svg", 200, "image/svg+xml"},
		{"GET", "/page/en.json", 200, "application/json"},
		{"GET", "/page/xx.json", 200, ""},
		{"GET", "/page/files/text.js", 200, ""},
		{"GET", "/page/%2e%2e/page.go", 200, ""},
		{"GET", "/page//text.js", 200, ""},
		{"POST", "/", 405, ""},
		{"OPTIONS", "/", 405, ""},
		{"PUT", "/page/desk.css", 405, ""},
		{"DELETE", "/page/main.js", 405, ""},
		{"GET", "/page/index.html", 200, ""},
		{"GET", "/page/", 200, ""},
		{"GET", "/page/../page.go", 200, ""},
		{"GET", "/page/nothing.js", 200, ""},
		{"GET", "/page/main.js/", 200, ""},
		{"GET", "/PAGE/main.js", 200, ""},
		{"GET", "/v1/approvals", 200, ""},
		{"POST", "/v1/approvals/x", 200, ""},
	} {
		t.Run(tt.method+" "+tt.at, func(t *testing.T) {
			res := get(t, tt.method, tt.at)
			if kind := res.Header.Get("Content-Type"); res.StatusCode != tt.status || tt.kind != "" && kind != tt.kind {
				t.Errorf("status %d, %q", res.StatusCode, kind)
			}
			ours := tt.kind != "" || tt.status == http.StatusMethodNotAllowed
			if got := res.Header.Get("Content-Security-Policy") == Policy; got != ours {
				t.Errorf("the page answers: %v, want %v", got, ours)
			}
		})
	}
}

// TestHeaders checks the HTTP headers that a browser gets with each file.
func TestHeaders(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
	}
	for _, at := range []string{"/", "/page/main.js", "/page/desk.css", "/page/icon.svg", "/page/de.json"} {
		res := get(t, "GET", at)
		for name, value := range want {
			if got := res.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", at, name, got, value)
			}
		}
	}
}

// sinks matches the ways to turn a string into markup, code, a style or a navigation. The page must
// use none of them, because the string could contain text of an agent.
var sinks = regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|createContextualFragment|DOMParser|\beval\b|new Function|srcdoc|javascript:|trustedTypes|importScripts|new Worker|postMessage|\.cookie\b|sessionStorage|indexedDB|style=|on(click|load|error|focus)=`)

// TestNoSink: no file of the page may turn text into markup, use another host, or store a token.
func TestNoSink(t *testing.T) {
	others := regexp.MustCompile(`(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}`)
	seen := 0
	err := fs.WalkDir(embedded, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		seen++
		text, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		for n, line := range strings.Split(string(text), "\n") {
			if found := sinks.FindString(line); found != "" {
				t.Errorf("%s:%d has %s", name, n+1, found)
			}
			if found := others.FindString(line); found != "" && !strings.Contains(line, "http://www.w3.org/2000/svg") {
				t.Errorf("%s:%d names another host: %s", name, n+1, found)
			}
			if strings.Contains(line, "localStorage") && name != "files/state.js" {
				t.Errorf("%s:%d keeps something in the browser; only settings are kept", name, n+1)
			}
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// TestFilesAreShort: no script of the page may have more than 400 lines.
func TestFilesAreShort(t *testing.T) {
	scripts, err := fs.Glob(embedded, "files/*.js")
	if err != nil || len(scripts) < 10 {
		t.Fatal(len(scripts), err)
	}
	for _, name := range scripts {
		text, err := fs.ReadFile(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > 400 {
			t.Errorf("%s has %d lines, want at most 400", name, n)
		}
		if !strings.HasPrefix(string(text), "// ") {
			t.Errorf("%s does not begin with what it is for", name)
		}
	}
}

// TestNamedFilesAreThere: each script, style and icon that a file of the page names must exist.
// Each file except index.html must be named in another file.
func TestNamedFilesAreThere(t *testing.T) {
	names := regexp.MustCompile(`(?:from |import )"\./([a-z]+\.js)"|(?:src|href)="page/([a-z]+\.[a-z]+)"`)
	files, err := fs.ReadDir(embedded, "files")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"index.html": true}
	for language := range Languages() { // language.js loads the file of the document's language
		named[language+".json"] = true
	}
	for _, f := range files {
		text, err := fs.ReadFile(embedded, "files/"+f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			name := m[1] + m[2]
			named[name] = true
			if _, err := fs.Stat(embedded, "files/"+name); err != nil {
				t.Errorf("%s names %s: %v", f.Name(), name, err)
			}
		}
	}
	for _, f := range files {
		if !named[f.Name()] {
			t.Errorf("nothing names %s", f.Name())
		}
	}
}

// TestNothingInline: the document must have one script, which is in a file, and no inline style,
// because its Content-Security-Policy refuses inline scripts and styles.
func TestNothingInline(t *testing.T) {
	text, err := fs.ReadFile(embedded, "files/index.html")
	if err != nil {
		t.Fatal(err)
	}
	scripts := regexp.MustCompile(`(?s)<script[^>]*>.*?</script>`).FindAllString(string(text), -1)
	if want := `<script type="module" src="page/main.js"></script>`; len(scripts) != 1 || scripts[0] != want {
		t.Errorf("scripts %q, want %q", scripts, want)
	}
	if strings.Contains(string(text), "<style") {
		t.Error("there is a style in it")
	}
}

// TestEachFileIsServed: each embedded file must be served with its media type. If the table of
// media types lacks a file, the test fails.
func TestEachFileIsServed(t *testing.T) {
	files, err := fs.ReadDir(embedded, "files")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "index.html" {
			continue // it is served at /
		}
		res := get(t, "GET", "/page/"+f.Name())
		if res.Header.Get("Content-Security-Policy") != Policy || res.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d, and the page does not answer", f.Name(), res.StatusCode)
		}
	}
}
