// Package page serves the files of the desk's page, with the security policy for them. It does not
// know approvals, tokens or the store. The files contain no secret, so everybody who reaches the
// listener may read them. The data that the page shows comes from the API, which checks the caller.
//
// The policy is Content Security Policy Level 3 with Trusted Types. The page may use only its own
// scripts, styles and requests. It cannot be shown in a frame, and cannot turn a string into
// markup.
package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed files
var embedded embed.FS

// Policy is the value of Content-Security-Policy for every file.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types maps the suffix of a file's name to its media type. The system's table of media types is
// not used, because the page has only a few kinds of files.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json",
}

// A page serves its files, and forwards other requests to the API.
type page struct {
	languages map[string][]byte // JSON texts of each language, by its code
	documents map[string][]byte // index.html in each language, by its code
	api       http.Handler
}

// Handler returns a handler that serves the page (/ and the paths below /page/), and forwards all
// other requests to the API.
func Handler(api http.Handler) http.Handler { return HandlerIn(embeddedLanguages(), api) }

// Languages returns the texts of each built-in language, by its code.
func Languages() map[string]Catalogue { return embeddedLanguages() }

// HandlerIn is like Handler, but with the given languages instead of the built-in ones. languages
// must contain English.
func HandlerIn(languages map[string]Catalogue, api http.Handler) http.Handler {
	p := &page{languages: map[string][]byte{}, documents: map[string][]byte{}, api: api}
	all := links(languages)
	for language, c := range languages {
		text, err := json.Marshal(c)
		if err != nil { // does not happen: the values were read as JSON, so they can be written
			panic(fmt.Sprintf("page: the texts of %s: %v", language, err))
		}
		p.languages[language], p.documents[language] = text, document(c, language, all)
	}
	return p
}

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/" {
		language := p.languageFor(req)
		w.Header().Set("Content-Language", language)
		w.Header().Set("Vary", "Accept-Language")
		serve(w, req, p.documents[language], types[".html"])
		return
	}
	if text, kind, ok := p.file(req.URL.Path); ok {
		serve(w, req, text, kind)
		return
	}
	p.api.ServeHTTP(w, req)
}

// file returns the file of the page at a path below /page/, and its media type.
func (p *page) file(at string) (text []byte, kind string, ok bool) {
	name, below := strings.CutPrefix(at, "/page/")
	if !below || name == "index.html" {
		return nil, "", false
	}
	kind = types[path.Ext(name)]
	if language, is := strings.CutSuffix(name, ".json"); is {
		text, ok = p.languages[language]
		return text, kind, ok
	}
	text, err := fs.ReadFile(embedded, "files/"+name)
	return text, kind, err == nil && kind != ""
}

func serve(w http.ResponseWriter, req *http.Request, text []byte, kind string) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if req.Method == http.MethodGet {
		_, _ = w.Write(text) // fails only if the client has left
	}
}
