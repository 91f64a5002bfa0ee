package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestAPageForABrowser: a browser opens "/". If the backend has no page there, the browser must get
// Holdpoint's page. All other responses of the backend must be forwarded unchanged.
func TestAPageForABrowser(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	answer := struct {
		status      int
		media, body string
	}{}
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		if answer.media != "" {
			w.Header().Set("Content-Type", answer.media)
		}
		w.Header().Set("Etag", `"1"`)
		w.Header().Set("Allow", "POST")
		w.Header().Set("X-Own", "kept")
		w.WriteHeader(answer.status)
		io.WriteString(w, answer.body)
	})
	const notFound = `{"detail":"Not Found"}`
	for _, tt := range []struct {
		what, method, target, accept string
		status                       int
		media, body                  string
		page                         bool
	}{
		{"JSON", "GET", "/", browser, 404, "application/json", notFound, true},
		{"nothing", "GET", "/", browser, 404, "", "", true},
		{"only POST", "GET", "/", browser, 405, "application/json", `{"detail":"Method Not Allowed"}`, true},
		{"with a query", "GET", "/?x=1", browser, 404, "text/plain", "404 page not found", true},
		{"text/html alone", "GET", "/", "text/html", 404, "application/json", notFound, true},
		{"curl", "GET", "/", "*/*", 404, "application/json", notFound, false},
		{"no Accept", "GET", "/", "", 404, "application/json", notFound, false},
		{"fetch", "GET", "/", "application/json, text/plain, */*", 404, "application/json", notFound, false},
		{"HTML is refused", "GET", "/", "text/html;q=0, */*", 404, "application/json", notFound, false},
		{"a page of the backend's", "GET", "/", browser, 404, "text/html; charset=utf-8", "<p>nothing here</p>", false},
		{"another path", "GET", "/x", browser, 404, "application/json", notFound, false},
		{"a page that is there", "GET", "/", browser, 200, "application/json", `{"ok":true}`, false},
		{"a login", "GET", "/", browser, 401, "application/json", `{}`, false},
		{"a failure", "GET", "/", browser, 500, "application/json", `{}`, false},
		{"a deletion", "DELETE", "/", browser, 404, "application/json", notFound, false},
		{"a form", "POST", "/", browser, 404, "application/json", notFound, false},
	} {
		answer.status, answer.media, answer.body = tt.status, tt.media, tt.body
		req, err := http.NewRequest(tt.method, g.front.URL+tt.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.accept != "" {
			req.Header.Set("Accept", tt.accept)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		h := res.Header
		if res.StatusCode != tt.status || h.Get("X-Own") != "kept" || h.Get("Allow") != "POST" {
			t.Errorf("%s: %d %v", tt.what, res.StatusCode, h)
		}
		if !tt.page {
			if string(body) != tt.body || h.Get("Etag") == "" || tt.media != "" && h.Get("Content-Type") != tt.media {
				t.Errorf("%s: the answer was changed: %v\n%s", tt.what, h, body)
			}
			continue
		}
		if !strings.Contains(string(body), "<h1>Holdpoint</h1>") || !strings.Contains(string(body), "answered "+res.Status[:3]) ||
			h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Etag") != "" || h.Get("Vary") != "Accept" || strings.Contains(string(body), "127.0.0.1") {
			t.Errorf("%s: %v\n%s", tt.what, h, body)
		}
	}
}
