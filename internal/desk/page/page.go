// Package page is the desk's page: the files that a browser shows, and the rules that it holds them
// to. It deliberately knows no approval, no token and no store. The files hold no secret, so
// whoever reaches the listener may read them; what they show comes from the API, which asks who
// reads it.
//
// The rules are Content Security Policy Level 3 and Trusted Types: no script, style or request but
// the page's own, no frame around it, and no way from a string to markup.
package page

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed files
var embedded embed.FS

// Policy is the Content-Security-Policy of every file.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// types are what the files are, by their ends. The names are the page's own, so no table of the
// system is asked.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Over answers requests for the page, and has others answered by the API. The page is / and what is
// below /page/.
func Over(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if text, kind, ok := file(req.URL.Path); ok {
			serve(w, req, text, kind)
			return
		}
		api.ServeHTTP(w, req)
	})
}

// file returns what the page has at a path.
func file(at string) (text []byte, kind string, ok bool) {
	name, below := strings.CutPrefix(at, "/page/")
	switch {
	case at == "/":
		name = "index.html"
	case !below || name == "index.html":
		return nil, "", false
	}
	kind = types[path.Ext(name)]
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
		_, _ = w.Write(text) // whoever asked is gone
	}
}
