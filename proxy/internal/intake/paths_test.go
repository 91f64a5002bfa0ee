package intake

import (
	"net/http"
	"net/url"
	"testing"
)

// TestRecordPath checks which spellings of a path lead to the same record.
func TestRecordPath(t *testing.T) {
	for path, want := range map[string]string{
		"":                  "/",
		"/":                 "/",
		"/chat":             "/chat",
		"/Chat/":            "/chat",
		"//chat//a":         "/chat/a",
		"/chat;x=1":         "/chat",
		"/chat;x=1/a;y":     "/chat/a",
		"/chat/../chat":     "/chat",
		"chat":              "/chat",
		"/a.b":              "/a.b",
		"/\u00c4pfel":       "/\u00e4pfel",
		"/chat/agent-1_two": "/chat/agent-1_two",
	} {
		if got := RecordPath(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// TestMisleading checks which paths Holdpoint recognizes as misleading. A path is misleading if
// some backends read it as another path.
func TestMisleading(t *testing.T) {
	for path, want := range map[string]bool{
		"/chat":         false,
		"/chat/a-b_c/1": false,
		"/chat.json":    false,
		"/..a/b..":      false,
		"/a%20b":        false,
		"/a%2Fb":        false,
		"/100%":         false,
		"/./chat":       true,
		"/chat/..":      true,
		"/a/%2e%2E/b":   true,
		"/a/%2e./b":     true,
		"/a%2F..%2Fb":   true,
		"/a%5c..%5cb":   true,
		`/a\..\b`:       true,
		"/chat%0a":      true,
		"/chat%00":      true,
		"/chat%7f":      true,
		"/chat%C2%85":   true, // U+0085, a control character
		"/a/%zz/..":     true,
		"/a/..;x=1/b":   false,
	} {
		if got := IsMisleading(path); got != want {
			t.Errorf("%q: %t, want %t", path, got, want)
		}
	}
}

// TestPath checks which requests Holdpoint refuses because of their path or method, before it reads
// anything else of them.
func TestPath(t *testing.T) {
	for what, c := range map[string]struct {
		method, path string
		want         int // 0: it is not refused
	}{
		"a path":               {"POST", "/chat", 0},
		"an escape":            {"POST", "/a%20b", 0},
		"dots":                 {"POST", "/a/%2e%2e/b", http.StatusBadRequest},
		"a control character":  {"GET", "/agent%0a", http.StatusBadRequest},
		"CONNECT":              {"CONNECT", "/x", http.StatusNotImplemented},
		"CONNECT without path": {"CONNECT", "", http.StatusNotImplemented},
	} {
		t.Run(what, func(t *testing.T) {
			at, err := url.Parse(c.path)
			if err != nil {
				t.Fatal(err)
			}
			got, refused := 0, Path(&http.Request{Method: c.method, URL: at})
			if refused != nil {
				got = refused.Status
				if refused.Line.Message != "" {
					t.Errorf("it is logged: %+v", refused.Line)
				}
			}
			if got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
